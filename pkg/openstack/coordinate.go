package openstack

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/coordination"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// longestCall is how long a coordination server has for one answer, unless RequestTimeout gives it less.
const longestCall = 30 * time.Second

// enquiry is the checkpoint of the step that asks a coordination server about one VNFC.
type enquiry struct {
	// Try is the operation's try that it belongs to, Since when that began to ask: the timeout counts from it.
	Try   int       `json:"try"`
	Since time.Time `json:"since"`
	// Round numbers the coordinations: the server may ask for another, and so may a retry after one that ended badly.
	Round int `json:"round"`
	// Location is where the server keeps the coordination of this round; "" until it has accepted one.
	Location string `json:"location,omitempty"`
	// NotBefore is when the server wants to be asked next.
	NotBefore time.Time `json:"notBefore,omitzero"`
	// Over says that the coordination of this round has ended, or is not there any more.
	Over bool `json:"over,omitempty"`
}

// coordinated finds out for every VNFC of a unit, one after the other, whether the operation may go on: by the package's script if the request
// names one and scripts are run here, otherwise from the coordination server that p names, if any.
func (j *job) coordinated(ctx context.Context, u unit, p *vnfcParams, back bool) error {
	if !p.coordinates() {
		return nil
	}
	for _, id := range u.vnfcs {
		target := u.name
		if len(u.vnfcs) > 1 {
			target = id
		}
		err := j.w.Step(ctx, "coordinate", target, func(ctx context.Context, s *lcm.Step) error {
			if p.script != "" && (j.cfg.Scripts != nil || p.Endpoint == "") {
				return j.runScript(ctx, s, u, id, p, back)
			}
			return j.coordinate(ctx, s, u, id, p, back)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// coordinate is one question about one VNFC, and what follows from the answer.
func (j *job) coordinate(ctx context.Context, s *lcm.Step, u unit, id string, p *vnfcParams, back bool) error {
	var cp enquiry
	if _, err := s.Load(&cp); err != nil {
		return fmt.Errorf("read the step's checkpoint: %w", err)
	}
	now := j.w.Clock.Now()
	if cp.Try != j.w.Op.Tries || cp.Since.IsZero() {
		cp.Try, cp.Since = j.w.Op.Tries, now
		if cp.Over {
			cp = enquiry{Try: cp.Try, Since: cp.Since, Round: cp.Round + 1}
		}
		if err := s.Save(ctx, cp); err != nil {
			return err
		}
	}
	who := fmt.Sprintf("%s of %s", u.name, id)
	limit, err := p.timeout()
	if err != nil {
		return lcm.Errorf(lcm.CodeUnprocessable, "timeout of the coordination about %s: %w", who, err)
	}
	if now.Sub(cp.Since) > limit {
		return lcm.Errorf(lcm.CodeTimeout, "the coordination server %s has not said within %s whether to go on after %s", p.shown(), limit, who).
			WithHint("retry the operation to go on asking, or roll it back")
	}
	if wait := cp.NotBefore.Sub(now); wait > 0 {
		return lcm.Wait(wait, "coordination about "+who+": the server wants to be asked later")
	}
	// Nobody knows what becomes of a question whose answer is not waited for: it is asked in a tick that has the time.
	if end, ok := ctx.Deadline(); ok && time.Until(end) < j.callTime() {
		return lcm.Wait(3*time.Second, "coordination about "+who)
	}
	is, err := j.present(ctx, id)
	if err != nil {
		return err
	}
	client, err := j.coordinator(ctx, is, p)
	if err != nil {
		return err
	}
	a, err := j.ask(calling(ctx, coordinating), client, cp, is, p, back)
	if e := lcm.AsError(err); e != nil {
		if cp.Location != "" && e.Code == lcm.CodeNotFound {
			cp.Over = true
			if err := s.Save(ctx, cp); err != nil {
				return err
			}
		}
		return aboutCoordination(e, who)
	}
	cp.Location, cp.NotBefore = a.Location, j.w.Clock.Now().Add(a.Delay)
	return j.answered(ctx, s, cp, a, who)
}

func (j *job) callTime() time.Duration { return min(longestCall, j.cfg.RequestTimeout) }

// ask makes the one call that is due.
func (j *job) ask(ctx context.Context, client *coordination.Client, cp enquiry, is *vnfc, p *vnfcParams, back bool) (coordination.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, j.callTime())
	defer cancel()
	if cp.Location != "" {
		return client.Look(ctx, cp.Location)
	}
	op := j.w.Op
	input, _ := lcm.MergePatch(map[string]any{"vnfcInstanceIds": []any{is.id}, "isRollback": back}, map[string]any(p.Input)).(map[string]any)
	return client.Begin(ctx, j.coordinationRequest(p, input), fmt.Sprintf("%s/%d/%s/%d", op.ID, op.Run, is.vduKey(), cp.Round))
}

// coordinationRequest is LcmCoordRequest of the operation.
func (j *job) coordinationRequest(p *vnfcParams, input sol.KeyValuePairs) coordination.Request {
	op := j.w.Op
	action := p.Action
	if action == "" {
		action = defaultAction
	}
	return coordination.Request{
		VnfInstanceID: op.InstanceID, VnfLcmOpOccID: op.ID, LcmOperationType: op.Type, CoordinationActionName: action, InputParams: input,
		Links: coordination.Links{
			VnfLcmOpOcc: sol.Link{Href: j.cfg.PublicURL + "/vnflcm/v2/vnf_lcm_op_occs/" + op.ID},
			VnfInstance: sol.Link{Href: j.cfg.PublicURL + "/vnflcm/v2/vnf_instances/" + op.InstanceID},
		},
	}
}

// answered decides on an answer and keeps what has to be kept.
func (j *job) answered(ctx context.Context, s *lcm.Step, cp enquiry, a coordination.Answer, who string) error {
	why := strings.TrimSuffix("coordination about "+who+": "+a.Detail, ": ")
	switch a.Result {
	case coordination.Continue:
		s.Detail(strings.TrimSuffix(string(a.Result)+": "+a.Detail, ": "))
		return nil
	case "":
		if err := s.Save(ctx, cp); err != nil {
			return err
		}
		return lcm.Wait(a.Delay, why)
	case coordination.Retry:
		cp.Round++
		cp.NotBefore = j.w.Clock.Now().Add(coordination.DefaultDelay)
		if err := s.Save(ctx, cp); err != nil {
			return err
		}
		return lcm.Wait(coordination.DefaultDelay, why)
	case coordination.Abort, coordination.Cancelled:
	}
	cp.Over = true
	if err := s.Save(ctx, cp); err != nil {
		return err
	}
	return &lcm.Error{
		Code: lcm.CodeUpstream, Title: "Coordination failed",
		Detail: strings.TrimSuffix(fmt.Sprintf("the coordination server answers %s after %s: %s", a.Result, who, a.Detail), ": "),
		Hint:   "remove the cause and retry the operation to ask again, or roll it back",
	}
}

// aboutCoordination says for which VNFC a call failed.
func aboutCoordination(e *lcm.Error, who string) error {
	c := *e
	c.Detail = "coordination about " + who + ": " + e.Detail
	if c.Hint == "" {
		c.Hint = "remove the cause and retry the operation, or roll it back"
	}
	if c.Code == lcm.CodeNotFound { // of the server's resources, not of ours
		c.Code = lcm.CodeUpstream
	}
	return &c
}

// present finds a VNFC of before the operation as it is now: in the same place, perhaps with another server.
func (j *job) present(ctx context.Context, id string) (*vnfc, error) {
	st, err := j.presentStack(ctx)
	if err != nil {
		return nil, err
	}
	all, err := j.listResources(ctx, st)
	if err != nil {
		return nil, err
	}
	_, was, _ := j.before().VNFC(id)
	index, numbered := was.Metadata["vdu_idx"].(float64)
	member, _ := was.Metadata["parent_resource_name"].(string)
	found := newTree(st, all).vnfcs(j.w.Flavour, j.w.Instance)
	at := slices.IndexFunc(found, func(c vnfc) bool {
		switch {
		case c.vdu.Name != was.VduID:
			return false
		case numbered:
			return c.numbered && c.index == int(index)
		case member != "":
			return c.parent.Name == member
		}
		return c.id == id || c.server.PhysicalID == was.ComputeResource.ResourceID
	})
	if at < 0 {
		return nil, lcm.Errorf(lcm.CodeUpstream, "the VNFC %s is not in the stack %s after its update", id, st.ref()).
			WithHint("roll the operation back, or retry it after the stack has been repaired")
	}
	return &found[at], nil
}

// coordinator makes the client of a VNFC's coordination server.
func (j *job) coordinator(ctx context.Context, c *vnfc, p *vnfcParams) (*coordination.Client, error) {
	endpoint := p.Endpoint
	if p.needsAddress() {
		ip, err := j.addressOf(ctx, c, p.CP)
		if err != nil {
			return nil, err
		}
		endpoint = withHost(endpoint, ip)
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, lcm.Errorf(lcm.CodeUnprocessable, "the endpoint of the coordination server is not a URL")
	}
	var cas []string
	if p.Certificate != "" {
		cas = []string{p.Certificate}
	}
	trust, err := connection{cas: cas}.tlsConfig()
	if err != nil {
		return nil, lcm.Errorf(lcm.CodeUnprocessable, "trustedCertificate of the coordination server: %w", err)
	}
	transport := newTransport(trust)
	transport.DisableKeepAlives = true // calls are rare
	var rt http.RoundTripper = transport
	if j.cfg.WrapTransport != nil {
		rt = j.cfg.WrapTransport(rt)
	}
	rt = observe(rt, j.cfg.Observe)
	client := &coordination.Client{HTTP: &http.Client{
		Transport: rt, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // credentials go nowhere else
	}, Endpoint: u}
	if p.Authentication != nil {
		client.Auth = *p.Authentication
	}
	return client, nil
}

// withHost puts an address where an endpoint lacks its host.
func withHost(endpoint, ip string) string {
	if strings.Contains(ip, ":") {
		ip = "[" + ip + "]"
	}
	if strings.Contains(endpoint, ipPlaceholder) {
		return strings.ReplaceAll(endpoint, ipPlaceholder, ip)
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return endpoint
	}
	u.Host = ip
	if port := portOf(endpoint); port != "" {
		u.Host = net.JoinHostPort(strings.Trim(ip, "[]"), port)
	}
	return u.String()
}

func portOf(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	return u.Port()
}

// shown is the endpoint without credentials.
func (p *vnfcParams) shown() string {
	u, err := url.Parse(strings.ReplaceAll(p.Endpoint, ipPlaceholder, "ip"))
	if err != nil {
		return "of the request"
	}
	return u.Redacted()
}

// addressOf is the address of a VNFC's connection point or floating address.
func (j *job) addressOf(ctx context.Context, c *vnfc, cp string) (string, error) {
	st, err := j.presentStack(ctx)
	if err != nil {
		return "", err
	}
	all, err := j.listResources(ctx, st)
	if err != nil {
		return "", err
	}
	t := newTree(st, all)
	if r, ok := t.beside(c.server, cp, typeFloat); ok {
		found, err := list(ctx, j, "floatingips", []string{r.PhysicalID}, nil, func(f floatingIP) string { return f.ID })
		if err != nil || found[r.PhysicalID].Address != "" {
			return found[r.PhysicalID].Address, err
		}
	}
	if r, ok := t.beside(c.server, cp, typePort); ok {
		found, err := list(ctx, j, "ports", []string{r.PhysicalID}, portFields, func(p port) string { return p.ID })
		if err != nil {
			return "", err
		}
		if ips := found[r.PhysicalID].FixedIPs; len(ips) > 0 {
			return ips[0].IP, nil
		}
	}
	return "", lcm.Errorf(lcm.CodeUnprocessable, "the VNFC %s has no address of %q, which cp_name names", c.id, cp).
		WithHint("cp_name is the name of a port or floating address in the template of the VNFC")
}
