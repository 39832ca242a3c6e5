package nfvo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/granting"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// grantVersion is the version of the grant interface that the client speaks.
const grantVersion = "1.4.0"

// Grantor asks an NFVO for the grants of operations. It implements lcm.Grantor.
type Grantor struct {
	Client *Client
	// Vims is where connections are looked up that a grant refers to by vimId alone.
	Vims lcm.VimRegistry
	// PublicURL is where the NFVO reaches this VNFM.
	PublicURL string
	// Poll is the longest time between two looks at a pending grant whose NFVO does not say when to look again.
	Poll time.Duration
	// RetryBase and RetryMax are the first and the longest time between tries of an NFVO that does not answer.
	RetryBase, RetryMax time.Duration
}

var _ lcm.Grantor = (*Grantor)(nil)

// exchange is the checkpoint of the step that asks for a grant. It is stored before the request is sent, so a node that
// takes over sends the same one; the NFVO recognises it by vnfLcmOpOccId.
type exchange struct {
	// Request is the body as a text: the database would write JSON in another order.
	Request string    `json:"request"`
	Since   time.Time `json:"since"`
	// Location is where a pending grant will be; "" before the NFVO has said so.
	Location string `json:"location,omitempty"`
	// Tries counts requests without an answer, in a row, Failing is the time of the first one.
	Tries   int       `json:"tries,omitempty"`
	Failing time.Time `json:"failing,omitzero"`
	// Lost counts how often the NFVO did not know a pending grant any more.
	Lost int `json:"lost,omitempty"`
}

// Grant implements lcm.Grantor: one request to the NFVO, or none if the operation has its grant.
func (g *Grantor) Grant(ctx context.Context, w *lcm.Execution) (*lcm.Grant, error) {
	err := w.Step(ctx, "request grant", "", func(ctx context.Context, s *lcm.Step) error {
		if w.Op.Grant == nil {
			return g.ask(ctx, w, s)
		}
		return nil // the node died between the grant and the end of the step
	})
	if err == nil && w.Op.Grant == nil {
		err = lcm.Errorf(lcm.CodeInternal, "the step that asked for the grant has ended without one")
	}
	return w.Op.Grant, err
}

// ask sends the request, or looks at the pending grant.
func (g *Grantor) ask(ctx context.Context, w *lcm.Execution, s *lcm.Step) error {
	var x exchange
	if _, err := s.Load(&x); err != nil {
		return fmt.Errorf("read the step's checkpoint: %w", err)
	}
	if x.Request == "" {
		r, err := granting.Request(w, g.PublicURL)
		if err != nil {
			return err
		}
		raw, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("encode the grant request: %w", err)
		}
		x.Request, x.Since = string(raw), w.Clock.Now()
		if err := s.Save(ctx, x); err != nil {
			return err
		}
		s.Logf(ctx, fmt.Sprintf("ask the NFVO %s for the grant: add %d, remove %d, update %d resources", g.Client,
			len(r.AddResources), len(r.RemoveResources), len(r.UpdateResources)))
	}
	method, at, body := http.MethodPost, g.Client.base.JoinPath("grant/v1/grants"), []byte(x.Request)
	if x.Location != "" {
		pending, err := url.Parse(x.Location)
		if err != nil {
			return fmt.Errorf("read the step's checkpoint: %w", err)
		}
		method, at, body = http.MethodGet, pending, nil
	}
	res, err := g.Client.do(ctx, method, at, grantVersion, body)
	if errors.Is(err, errBusy) {
		return lcm.Wait(g.RetryBase, "waits until other requests to the NFVO "+g.Client.String()+" are answered")
	}
	if refused, ok := errors.AsType[*loginError](err); ok && refused.status < http.StatusInternalServerError {
		return &lcm.Error{
			Code: lcm.CodeUnauthorized, Title: "No access to the NFVO",
			Detail: fmt.Sprintf("the login to the NFVO %s was refused: %s", g.Client, refused),
			Hint:   "correct the settings nfvo.oauth2, and send the request again",
		}
	}
	if err != nil {
		if ctx.Err() != nil {
			return err // the tick's time is used up
		}
		return g.unreachable(ctx, w, s, x, err.Error(), 0)
	}
	return g.conclude(ctx, w, s, x, at, res)
}

// conclude decides on an answer.
func (g *Grantor) conclude(
	ctx context.Context, w *lcm.Execution, s *lcm.Step, x exchange, at *url.URL, res *answer,
) error {
	looking, location := x.Location != "", res.header.Get("Location")
	switch {
	case res.status == http.StatusCreated || res.status == http.StatusOK && looking:
		return g.accept(ctx, w, s, x, at, res)
	case res.status == http.StatusAccepted && looking:
		return g.pend(ctx, w, s, x, res)
	case res.status == http.StatusAccepted && location == "":
		return g.Client.broken("202 and no Location, so the grant cannot be read")
	case !looking && location != "" && slices.Contains(located, res.status):
		u, err := g.Client.resolve(at, location)
		if err != nil {
			return g.Client.broken("the Location %s", err)
		}
		x.Location = u.String()
		return g.pend(ctx, w, s, x, res)
	case looking && (res.status == http.StatusNotFound || res.status == http.StatusGone) && x.Lost < maxLost:
		x.Lost++
		x.Location = ""
		return g.unreachable(ctx, w, s, x, "it does not know the pending grant any more; the request is sent again", 0)
	case res.status >= http.StatusInternalServerError, slices.Contains(busy, res.status):
		return g.unreachable(ctx, w, s, x, fmt.Sprintf("HTTP %d", res.status), retryAfter(res.header, w.Clock.Now()))
	}
	return g.Client.refusal(res)
}

// maxLost is how often a request is sent again because the NFVO does not know the pending grant.
const maxLost = 3

var (
	// located are the statuses of a request whose Location is the grant: a new one, or one that was asked for already.
	located = []int{http.StatusAccepted, http.StatusSeeOther, http.StatusConflict}
	// busy are the statuses below 500 of an NFVO that cannot answer now.
	busy = []int{http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusTooEarly}
)

// accept applies the grant. It is stored before the step ends.
func (g *Grantor) accept(
	ctx context.Context, w *lcm.Execution, s *lcm.Step, x exchange, at *url.URL, res *answer,
) error {
	var r sol.GrantRequest
	if err := json.Unmarshal([]byte(x.Request), &r); err != nil {
		return fmt.Errorf("read the step's checkpoint: %w", err)
	}
	var grant sol.Grant
	if err := json.Unmarshal(res.body, &grant); err != nil {
		return g.Client.broken("a grant that is not valid JSON of its type: %v", err)
	}
	href := grant.Links.Self.Href
	if u, err := url.Parse(href); err != nil || u.Host == "" || u.User != nil {
		href = at.JoinPath(grant.ID).String()
		if x.Location != "" {
			href = x.Location
		}
	}
	var registered map[string]sol.VimConnectionInfo
	if ids := granting.VimIDs(w, &grant); len(ids) > 0 {
		var err error
		if registered, err = g.Vims.RegisteredVims(ctx, w.Op.InstanceID, ids); err != nil {
			return err
		}
	}
	if err := granting.Apply(w, &r, &grant, href, registered); err != nil {
		return err
	}
	s.Detail("grant " + grant.ID)
	return w.Commit(ctx)
}

// pend waits for a pending grant. The Location is stored first.
func (g *Grantor) pend(ctx context.Context, w *lcm.Execution, s *lcm.Step, x exchange, res *answer) error {
	now := w.Clock.Now()
	x.Tries, x.Failing = 0, time.Time{}
	after := retryAfter(res.header, now)
	if after == 0 {
		after = min(max(now.Sub(x.Since)/2, g.RetryBase), g.Poll)
	}
	return s.SaveAndWait(ctx, x, g.untilDeadline(w, after), fmt.Sprintf("waits for the grant from the NFVO %s since %s",
		g.Client, x.Since.UTC().Format(time.RFC3339)))
}

// unreachable waits for an NFVO that does not answer, or answers that it cannot now. That is not a failure: the NFVO is
// another system, and the operation has a deadline.
func (g *Grantor) unreachable(
	ctx context.Context, w *lcm.Execution, s *lcm.Step, x exchange, why string, asked time.Duration,
) error {
	now := w.Clock.Now()
	if x.Tries == 0 {
		x.Failing = now
	}
	after := min(g.RetryBase<<min(x.Tries, 20), g.RetryMax)
	after += time.Duration(rand.Int64N(int64(after)/4 + 1)) //nolint:gosec // jitter, not a secret
	x.Tries++
	return s.SaveAndWait(ctx, x, g.untilDeadline(w, max(after, asked)), fmt.Sprintf(
		"waits for the NFVO %s, which has not granted since %s (try %d): %s", g.Client,
		x.Failing.UTC().Format(time.RFC3339), x.Tries, shorten(why)))
}

// untilDeadline shortens a wait so that it ends shortly after the operation's deadline.
func (g *Grantor) untilDeadline(w *lcm.Execution, after time.Duration) time.Duration {
	if w.Op.Deadline.IsZero() {
		return after
	}
	return min(after, max(w.Op.Deadline.Sub(w.Clock.Now()), 0)+time.Millisecond)
}
