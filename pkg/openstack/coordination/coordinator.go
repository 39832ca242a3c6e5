package coordination

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
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/openstack/inventory"
	"github.com/gybe-nfv/gybe/pkg/openstack/stack"
	"github.com/gybe-nfv/gybe/pkg/redirect"
	"github.com/gybe-nfv/gybe/pkg/script/durable"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Coordinator asks for the VNFCs of one operation, in one tick.
type Coordinator struct {
	Cloud     *cloud.Client
	Execution *lcm.Execution
	Stack     *stack.Worker
	// Scripts runs the scripts of packages; nil = they are not run. Process names this process.
	Scripts durable.Runner
	Process string
	// NodeAlive tells whether another node of this VNFM runs; may be nil.
	NodeAlive func(ctx context.Context, node string) bool
	// PublicURL is where clients reach our API, CallTimeout bounds one call.
	PublicURL   string
	CallTimeout time.Duration
	// Transport makes the transport to a coordination server that these certificates are trusted for (PEM).
	Transport func(certificates ...string) (http.RoundTripper, error)
}

// Unit is what one update has changed.
type Unit struct {
	Name  string // of the template's resource or of the VDU
	VDU   string
	VNFCs []string // vnfcInfo ids
}

// longestCall is how long a coordination server has for one answer, unless RequestTimeout gives it less.
const longestCall = 30 * time.Second

// coordinationState is the checkpoint of the step that asks a coordination server about one VNFC.
type coordinationState struct {
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

// Coordinate finds out for every VNFC of a unit, one after the other, whether the operation may go on: by the package's
// script if the request names one and scripts are run here, otherwise from the coordination server that p names, if
// any.
func (m *Coordinator) Coordinate(ctx context.Context, u Unit, p *VNFCParams, back bool) error {
	if !p.Coordinates() {
		return nil
	}
	for _, id := range u.VNFCs {
		target := u.Name
		if len(u.VNFCs) > 1 {
			target = id
		}
		err := m.Execution.Step(ctx, "coordinate", target, func(ctx context.Context, s *lcm.Step) error {
			if p.script != "" && (m.Scripts != nil || p.Endpoint == "") {
				return m.runScript(ctx, s, u, id, p, back)
			}
			return m.inquire(ctx, s, u, id, p, back)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// inquire is one question about one VNFC, and what follows from the answer.
func (m *Coordinator) inquire(ctx context.Context, s *lcm.Step, u Unit, id string, p *VNFCParams, back bool) error {
	var cp coordinationState
	if _, err := s.Load(&cp); err != nil {
		return fmt.Errorf("read the step's checkpoint: %w", err)
	}
	now := m.Execution.Clock.Now()
	if cp.Try != m.Execution.Op.Try || cp.Since.IsZero() {
		cp.Try, cp.Since = m.Execution.Op.Try, now
		if cp.Over {
			cp = coordinationState{Try: cp.Try, Since: cp.Since, Round: cp.Round + 1}
		}
		if err := s.Save(ctx, cp); err != nil {
			return err
		}
	}
	who := fmt.Sprintf("%s of %s", u.Name, id)
	if err := m.due(ctx, cp, p, who); err != nil {
		return err
	}
	is, err := m.present(ctx, id)
	if err != nil {
		return err
	}
	client, err := m.client(ctx, is, p)
	if err != nil {
		return err
	}
	a, err := m.ask(ctx, client, cp, is, p, back)
	if e := lcm.AsError(err); e != nil {
		if cp.Location != "" && e.Code == lcm.CodeNotFound {
			cp.Over = true
			if err := s.Save(ctx, cp); err != nil {
				return err
			}
		}
		return aboutCoordination(e, who)
	}
	cp.Location, cp.NotBefore = a.Location, m.Execution.Clock.Now().Add(a.Delay)
	return m.answered(ctx, s, cp, a, who)
}

// due returns an error or a wait when the server is not to be asked now.
func (m *Coordinator) due(ctx context.Context, cp coordinationState, p *VNFCParams, who string) error {
	limit, err := p.timeout()
	if err != nil {
		return lcm.Errorf(lcm.CodeUnprocessable, "timeout of the coordination about %s: %w", who, err)
	}
	if m.Execution.Clock.Now().Sub(cp.Since) > limit {
		return lcm.Errorf(
			lcm.CodeTimeout, "the coordination server %s has not said within %s whether to go on after %s",
			p.redacted(), limit, who).
			WithHint("retry the operation to go on asking, or roll it back")
	}
	if wait := cp.NotBefore.Sub(m.Execution.Clock.Now()); wait > 0 {
		return lcm.Wait(wait, "coordination about "+who+": the server wants to be asked later")
	}
	// The effect of a request is not known when its answer is not awaited: it is sent in a tick that has the time.
	if end, ok := ctx.Deadline(); ok && time.Until(end) < m.callTime() {
		return lcm.Wait(3*time.Second, "coordination about "+who)
	}
	return nil
}

func (m *Coordinator) callTime() time.Duration { return min(longestCall, m.CallTimeout) }

// ask makes the one call that is due.
func (m *Coordinator) ask(
	ctx context.Context, client *Client, cp coordinationState, is *inventory.VNFC, p *VNFCParams, back bool,
) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, m.callTime())
	defer cancel()
	if cp.Location != "" {
		return client.Look(ctx, cp.Location)
	}
	op := m.Execution.Op
	input, _ := lcm.MergePatch(map[string]any{"vnfcInstanceIds": []any{is.ID}, "isRollback": back},
		map[string]any(p.Input)).(map[string]any)
	return client.Begin(
		ctx, m.coordinationRequest(p, input), fmt.Sprintf("%s/%d/%s/%d", op.ID, op.Run, is.Key(), cp.Round),
	)
}

// coordinationRequest is LcmCoordRequest of the operation.
func (m *Coordinator) coordinationRequest(p *VNFCParams, input sol.KeyValuePairs) Request {
	op := m.Execution.Op
	action := p.Action
	if action == "" {
		action = defaultAction
	}
	return Request{
		VnfInstanceID: op.InstanceID, VnfLcmOpOccID: op.ID, LcmOperationType: op.Type, CoordinationActionName: action,
		InputParams: input,
		Links: Links{
			VnfLcmOpOcc: sol.Link{Href: m.PublicURL + "/vnflcm/v2/vnf_lcm_op_occs/" + op.ID},
			VnfInstance: sol.Link{Href: m.PublicURL + "/vnflcm/v2/vnf_instances/" + op.InstanceID},
		},
	}
}

// answered decides on an answer and keeps what has to be kept.
func (m *Coordinator) answered(ctx context.Context, s *lcm.Step, cp coordinationState, a Answer, who string) error {
	why := strings.TrimSuffix("coordination about "+who+": "+a.Detail, ": ")
	switch a.Result {
	case Continue:
		s.Detail(strings.TrimSuffix(string(a.Result)+": "+a.Detail, ": "))
		return nil
	case "":
		if err := s.Save(ctx, cp); err != nil {
			return err
		}
		return lcm.Wait(a.Delay, why)
	case Retry:
		cp.Round++
		cp.NotBefore = m.Execution.Clock.Now().Add(DefaultDelay)
		if err := s.Save(ctx, cp); err != nil {
			return err
		}
		return lcm.Wait(DefaultDelay, why)
	case Abort, Cancelled:
	}
	cp.Over = true
	if err := s.Save(ctx, cp); err != nil {
		return err
	}
	return &lcm.Error{
		Code: lcm.CodeUpstream, Title: "Coordination failed",
		Detail: strings.TrimSuffix(
			fmt.Sprintf("the coordination server answers %s after %s: %s", a.Result, who, a.Detail), ": ",
		),
		Hint: "remove the cause and retry the operation to ask again, or roll it back",
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
func (m *Coordinator) present(ctx context.Context, id string) (*inventory.VNFC, error) {
	st, err := m.Stack.Present(ctx)
	if err != nil {
		return nil, err
	}
	all, err := m.Cloud.ListResources(ctx, st)
	if err != nil {
		return nil, err
	}
	_, was, _ := m.Stack.Before().VNFC(id)
	index, numbered := was.Metadata["vdu_idx"].(float64)
	member, _ := was.Metadata["parent_resource_name"].(string)
	found := inventory.NewTree(st, all).VNFCs(m.Execution.Flavour, m.Execution.Instance)
	at := slices.IndexFunc(found, func(c inventory.VNFC) bool {
		switch {
		case c.VDU.Name != was.VduID:
			return false
		case numbered:
			return c.Numbered && c.Index == int(index)
		case member != "":
			return c.Parent.Name == member
		}
		return c.ID == id || c.Server.PhysicalID == was.ComputeResource.ResourceID
	})
	if at < 0 {
		return nil, lcm.Errorf(lcm.CodeUpstream, "the VNFC %s is not in the stack %s after its update", id, st.Ref()).
			WithHint("roll the operation back, or retry it after the stack has been repaired")
	}
	return &found[at], nil
}

// client makes the client of a VNFC's coordination server.
func (m *Coordinator) client(ctx context.Context, c *inventory.VNFC, p *VNFCParams) (*Client, error) {
	endpoint := p.Endpoint
	if p.needsAddress() {
		ip, err := m.addressOf(ctx, c, p.CP)
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
	rt, err := m.Transport(cas...)
	if err != nil {
		return nil, lcm.Errorf(lcm.CodeUnprocessable, "trustedCertificate of the coordination server: %w", err)
	}
	client := &Client{HTTP: &http.Client{Transport: rt, CheckRedirect: rejectRedirect}, Endpoint: u}
	if p.Authentication != nil {
		client.Auth = *p.Authentication
	}
	return client, nil
}

// rejectRedirect follows no redirect. One to another server, which would get the credentials, is an error that names
// both.
func rejectRedirect(req *http.Request, via []*http.Request) error {
	if err := redirect.SameServer(req, via); err != nil {
		return err
	}
	return http.ErrUseLastResponse
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

// redacted is the endpoint without credentials.
func (p *VNFCParams) redacted() string {
	u, err := url.Parse(strings.ReplaceAll(p.Endpoint, ipPlaceholder, "ip"))
	if err != nil {
		return "of the request"
	}
	return u.Redacted()
}

// addressOf is the address of a VNFC's connection point or floating address.
func (m *Coordinator) addressOf(ctx context.Context, c *inventory.VNFC, cp string) (string, error) {
	st, err := m.Stack.Present(ctx)
	if err != nil {
		return "", err
	}
	all, err := m.Cloud.ListResources(ctx, st)
	if err != nil {
		return "", err
	}
	t := inventory.NewTree(st, all)
	if r, ok := t.Beside(c.Server, cp, cloud.TypeFloatingIP); ok {
		found, err := m.Cloud.ReadFloatingIPs(ctx, []string{r.PhysicalID})
		if err != nil || found[r.PhysicalID].Address != "" {
			return found[r.PhysicalID].Address, err
		}
	}
	if r, ok := t.Beside(c.Server, cp, cloud.TypePort); ok {
		found, err := m.Cloud.ReadPorts(ctx, []string{r.PhysicalID})
		if err != nil {
			return "", err
		}
		if ips := found[r.PhysicalID].FixedIPs; len(ips) > 0 {
			return ips[0].IP, nil
		}
	}
	return "", lcm.Errorf(lcm.CodeUnprocessable, "the VNFC %s has no address of %q, which cp_name names", c.ID, cp).
		WithHint("cp_name is the name of a port or floating address in the template of the VNFC")
}
