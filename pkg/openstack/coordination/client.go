// Package coordination is a client of the LCM coordination interface (ETSI GS NFV-SOL 002 clause 10): the VNFM asks a
// management system, or the VNF itself, whether a lifecycle operation may go on. The server answers at once, or accepts
// and is asked again.
package coordination

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/outbound"
	"github.com/gybe-nfv/gybe/pkg/redirect"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// apiVersion is the version of the interface that is spoken (SOL002 V3.6.1).
const apiVersion = "1.0.0"

// DefaultDelay is the pause before the next call where the server names none.
const DefaultDelay = 5 * time.Second

const (
	maxDelay  = time.Hour
	maxAnswer = 1 << 20
)

// Request is LcmCoordRequest (SOL002 clause 10.5.2.2).
type Request struct {
	VnfInstanceID          string               `json:"vnfInstanceId"`
	VnfLcmOpOccID          string               `json:"vnfLcmOpOccId"`
	LcmOperationType       sol.LcmOperationType `json:"lcmOperationType"`
	CoordinationActionName string               `json:"coordinationActionName"`
	InputParams            sol.KeyValuePairs    `json:"inputParams,omitempty"`
	Links                  Links                `json:"_links"`
}

// Links are those of a Request.
type Links struct {
	VnfLcmOpOcc sol.Link `json:"vnfLcmOpOcc"`
	VnfInstance sol.Link `json:"vnfInstance"`
}

// Result says what the VNFM has to do (SOL002 clause 10.5.4.3).
type Result string

// The results of a coordination. Retry is not in the standard; it asks for the same coordination again after a while.
const (
	Continue  Result = "CONTINUE"
	Abort     Result = "ABORT"
	Cancelled Result = "CANCELLED"
	Retry     Result = "RETRY"
)

// Answer is what a server says. When Result is empty nothing is decided: the coordination is at Location, or could not
// be begun when that is empty too, and the server wants to be asked again after Delay.
type Answer struct {
	Result   Result
	Location string
	Delay    time.Duration
	// Detail is the server's reason, or why it does not take a coordination now.
	Detail string
}

// Client talks to one server. Its zero value is not usable.
type Client struct {
	// HTTP makes the calls; it has no timeout of its own, the context bounds a call.
	HTTP *http.Client
	// Endpoint is the URL that /lcmcoord/v1 is below.
	Endpoint *url.URL
	Auth     Auth
}

// Begin asks for a coordination. key is the same whenever the same coordination is asked for: a server that knows the
// header Idempotency-Key does not begin it twice after a lost answer.
func (c *Client) Begin(ctx context.Context, r Request, key string) (Answer, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return Answer{}, fmt.Errorf("encode the coordination request: %w", err)
	}
	target := c.Endpoint.JoinPath("lcmcoord/v1/coordinations")
	res, err := c.call(ctx, http.MethodPost, target, body, map[string]string{"Idempotency-Key": key})
	if err != nil {
		return Answer{}, err
	}
	switch res.code {
	case http.StatusCreated, http.StatusOK:
		return decided(target, res.body)
	case http.StatusAccepted:
		at, err := c.locate(target, res.header.Get("Location"))
		return Answer{Location: at, Delay: res.delay()}, err
	case http.StatusServiceUnavailable, http.StatusConflict, http.StatusTooManyRequests:
		return Answer{Delay: res.delay(), Detail: res.problem()}, nil
	}
	return Answer{}, refusal(http.MethodPost, target, res)
}

// Look asks for the result of the coordination at a Location that Begin returned. A CodeNotFound error says that the
// server does not know it (any more).
func (c *Client) Look(ctx context.Context, location string) (Answer, error) {
	target, err := url.Parse(location)
	if err != nil {
		return Answer{}, fmt.Errorf("parse the location of a coordination: %w", err)
	}
	target.User = c.Endpoint.User
	res, err := c.call(ctx, http.MethodGet, target, nil, nil)
	if err != nil {
		return Answer{}, err
	}
	switch res.code {
	case http.StatusOK:
		return decided(target, res.body)
	case http.StatusAccepted, http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return Answer{Location: location, Delay: res.delay(), Detail: res.problem()}, nil
	}
	return Answer{}, refusal(http.MethodGet, target, res)
}

// locate resolves the Location of a coordination. Credentials go to no other host than the one they are for: a Location
// elsewhere, as a proxy may leave it, is taken for the resource of the same name at the endpoint.
func (c *Client) locate(collection *url.URL, location string) (string, error) {
	at, err := collection.Parse(location)
	if err != nil || location == "" || path.Base(at.Path) == "coordinations" {
		return "", failure(fmt.Sprintf("POST %s: the answer 202 has no usable Location", collection.Redacted()))
	}
	if at.Scheme != collection.Scheme || at.Host != collection.Host {
		at = collection.JoinPath(path.Base(at.Path))
	}
	at.User = nil
	return at.String(), nil
}

// call makes one call. Its error is a Transient one where the server did not answer.
func (c *Client) call(
	ctx context.Context, method string, target *url.URL, body []byte, header map[string]string,
) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(body))
	if err != nil {
		return reply{}, fmt.Errorf("%s %s: %w", method, target.Redacted(), err)
	}
	if err := c.Auth.apply(ctx, c.HTTP, req); err != nil {
		return reply{}, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Version", apiVersion)
	req.Header.Set("User-Agent", "gybe")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	return send(c.HTTP, req)
}

// reply is a server's answer, read to its end.
type reply struct {
	code   int
	status string // with its text
	header http.Header
	body   []byte
}

// send makes a call and reads the answer.
func send(client *http.Client, req *http.Request) (reply, error) {
	what := req.Method + " " + req.URL.Redacted()
	res, err := client.Do(req)
	if err != nil {
		return reply{}, unreachable(what, err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return reply{}, unreachable(what, err)
	}
	return reply{code: res.StatusCode, status: res.Status, header: res.Header, body: raw}, nil
}

// decided reads LcmCoord.
func decided(target *url.URL, raw []byte) (Answer, error) {
	var out struct {
		CoordinationResult Result          `json:"coordinationResult"`
		Warnings           string          `json:"warnings"`
		OutputParams       json.RawMessage `json:"outputParams"`
		Error              *struct {
			Title  string `json:"title"`
			Detail string `json:"detail"`
		} `json:"error"`
	}
	if err := json.Unmarshal(raw, &out); err != nil || out.CoordinationResult == "" {
		return Answer{}, failure(
			fmt.Sprintf("%s: the answer (%d bytes) has no coordinationResult", target.Redacted(), len(raw)),
		)
	}
	a := Answer{Result: out.CoordinationResult, Detail: out.Warnings}
	if out.Error != nil {
		a.Detail = strings.Trim(out.Error.Title+": "+out.Error.Detail, ": ")
	} else if a.Detail == "" && len(out.OutputParams) > 0 {
		a.Detail = excerpt(out.OutputParams)
	}
	return a, nil
}

// delay is Retry-After, in seconds or as a date.
func (r reply) delay() time.Duration {
	text := r.header.Get("Retry-After")
	if n, err := strconv.Atoi(text); err == nil && n >= 0 {
		return min(time.Duration(min(n, int(maxDelay/time.Second)))*time.Second, maxDelay)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(time.Until(at), 0), maxDelay)
	}
	return DefaultDelay
}

// problem is the server's own text of an answer that is not a result. Only ProblemDetails are quoted: the address comes
// from a request, and may be that of another server.
func (r reply) problem() string {
	if len(bytes.TrimSpace(r.body)) == 0 {
		return r.status
	}
	var p struct {
		Title  string `json:"title"`
		Detail string `json:"detail"`
	}
	if json.Unmarshal(r.body, &p) == nil && p.Title+p.Detail != "" {
		return r.status + ", " + excerpt([]byte(strings.Trim(p.Title+": "+p.Detail, ": ")))
	}
	return fmt.Sprintf("%s, no ProblemDetails (%d bytes)", r.status, len(r.body))
}

// excerpt is the beginning of a text in one line.
func excerpt(raw []byte) string {
	const limit = 300
	s := strings.Join(strings.Fields(string(raw)), " ")
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}

// refusal is the error of an answer that the interface has no use for.
func refusal(method string, target *url.URL, res reply) error {
	e := failure(fmt.Sprintf("%s %s: %s", method, target.Redacted(), res.problem()))
	switch {
	case res.code == http.StatusUnauthorized || res.code == http.StatusForbidden:
		e.Hint = "correct the authentication of the coordination server in vdu_params, with another operation after " +
			"a rollback"
	case res.code == http.StatusNotFound:
		e.Code = lcm.CodeNotFound
	case res.code >= http.StatusInternalServerError:
		e.Class = lcm.Transient
		e.RetryAfter = res.delay()
	}
	return e
}

func failure(detail string) *lcm.Error {
	return &lcm.Error{Code: lcm.CodeUpstream, Title: "Coordination failed", Detail: detail}
}

// unreachable is the error of a call without an answer; certificates do not become valid by waiting.
func unreachable(what string, err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // its text has the URL again
	}
	e := failure(fmt.Sprintf("%s: %v", what, err))
	e.Code, e.Class, e.Cause = lcm.CodeUnavailable, lcm.Transient, err
	var rejected *outbound.Error
	var redirected *redirect.Error
	switch {
	case errors.As(err, &redirected):
		e.Code, e.Class = lcm.CodeUpstream, lcm.Permanent
		e.Hint = "credentials are not sent there; correct the endpoint in vdu_params, with another operation after a " +
			"rollback"
	case untrusted(err):
		e.Code, e.Class = lcm.CodeUpstream, lcm.Permanent
		e.Hint = "give the certificate of the authority in trustedCertificate of the VNFC's parameters"
	case errors.As(err, &rejected):
		e.Code, e.Class = lcm.CodeUpstream, lcm.Permanent
		e.Hint = "correct the endpoint in vdu_params, with another operation after a rollback; the operator of this " +
			"VNFM decides which addresses are allowed"
	case !network(err): // net/http quotes the answer
		e.Detail = what + ": the server does not speak HTTP"
	}
	return e
}

// network says whether an error is about the connection, and not about the content of an answer.
func network(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &op) || errors.As(err, &dns) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		strings.HasPrefix(err.Error(), "tls: ") || strings.HasPrefix(err.Error(), "net/http: timeout")
}
