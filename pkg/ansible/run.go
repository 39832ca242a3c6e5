package ansible

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
	"github.com/gybe-nfv/gybe/pkg/sol/redact"
)

// target is a machine with a login.
type target struct {
	machine
	credentials credentials
}

// task is one playbook or one command for one VNFC.
type task struct {
	*session
	settings
	machine
	// title names it among those of the VNFC; it is the name of the step.
	title string
	item  item
	vdu   vdu
	scope scope
	hide  redact.Hider
}

// session is one tick of a hook.
type session struct {
	*Driver
	w      *lcm.Execution
	c      *config
	action string
	scope  scope
	all    []machine
}

// run is a tick of a hook: all playbooks and commands of a list, one after the other: VDUs in their order, their VNFCs,
// and for each its playbooks or commands in their order.
func (d *Driver) run(ctx context.Context, w *lcm.Execution, run work) error {
	c, bad := load(w.Package)
	if c == nil {
		return refused("", bad)
	}
	if len(bad) > 0 {
		return refused(c.file, bad)
	}
	params, err := w.Params()
	if err != nil {
		return err
	}
	s := &session{
		Driver: d, w: w, c: c, action: run.action, scope: newScope(c, params),
		all: machines(w.Instance, w.Flavour, w.Package),
	}
	var only []string
	if run.vnfcs != nil {
		only = run.vnfcs(w)
	}
	s.scope.vnf = s.variables(only)
	for _, v := range c.vdus {
		for _, m := range s.all {
			if m.vdu != v.name || run.vnfcs != nil && !slices.Contains(only, m.vnfc) {
				continue
			}
			for n, i := range v.actions[run.action] {
				if err := s.one(ctx, v, m, n, i); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// variables are those that begin with vnf.; only are the VNFCs that are healed.
func (s *session) variables(only []string) map[string]string {
	out := map[string]string{"failed_vdu_name": "", "failed_vdu_instance_ip": "", "vduname": ""}
	if raw, err := json.Marshal(byVDU(s.all)); err == nil {
		out["mgmt_ip_address"] = string(raw)
	}
	if s.action != "healing" {
		return out
	}
	for _, m := range s.all {
		if slices.Contains(only, m.vnfc) {
			out["failed_vdu_name"], out["failed_vdu_instance_ip"] = m.vdu, m.address
			break
		}
	}
	return out
}

// one runs a playbook or a command for a VNFC.
func (s *session) one(ctx context.Context, v vdu, m machine, n int, i item) error {
	if m.address == "" {
		return lcm.Errorf(
			lcm.CodeUnprocessable, "VNFC %s of %s has no IP address, so it cannot be configured", m.vnfc, v.name,
		)
	}
	t := &task{session: s, machine: m, item: i, vdu: v, scope: s.scope.of(v.name, m.address)}
	r := t.resolver()
	t.settings = r.settings(v)
	if v.kind == typeCommand {
		t.title = fmt.Sprintf("%s %d: command", s.action, n+1)
		return t.command(ctx, r)
	}
	t.title = fmt.Sprintf("%s %d: %s", s.action, n+1, r.playbook(i.path))
	return t.playbook(ctx, r)
}

func (t *task) resolver() *resolver {
	return &resolver{c: t.c, files: t.w.Package, scope: t.scope}
}

// secrets are the texts of the configuration, the request and a login that must not appear in output. A password that
// is also the user's name cannot be hidden.
func (t *task) secrets(params map[string]any, c credentials) []string {
	out := append(t.scope.secrets(), redact.New().SecretValues(params)...)
	if c.password != "" && c.password != c.user {
		out = append(out, c.password)
	}
	if len(c.key) > 0 {
		out = append(out, string(c.key))
	}
	return out
}

// answers waits until a machine answers over SSH, as a step. A refused login is an answer: the playbook may have
// another.
func (t *task) answers(ctx context.Context, to target) error {
	return t.w.Step(ctx, "wait for SSH", to.vnfc, func(ctx context.Context, s *lcm.Step) error {
		for {
			_, release, err := t.Driver.connect(ctx, t.w.Instance.ID, to)
			if err == nil {
				release()
			}
			kind := remote.KindOf(err)
			switch {
			case err == nil, kind == remote.KindAuth:
				s.Detail(to.address + " answers")
				return nil
			case ctx.Err() != nil:
				return err
			case !transient(err) || t.w.Clock.Now().Sub(s.Started()) > t.settings.connect:
				return failure(to, "connect", err)
			}
			if why := fmt.Sprintf("waits for SSH on %s: %v", to.address, cause(err)); why != s.Told() {
				if err := s.Waits(ctx, why); err != nil {
					return err
				}
			}
			if err := pause(ctx, time.Second); err != nil {
				return lcm.Wait(0, s.Told())
			}
		}
	})
}

// connect gives a connection to a machine.
func (d *Driver) connect(ctx context.Context, instance string, to target) (Connection, func(), error) {
	return d.o.Connect(ctx, remote.Target{
		Instance: instance, VNFC: to.vnfc, Host: to.address, Port: d.o.SSHPort, User: to.credentials.user,
		Password: to.credentials.password, PrivateKey: to.credentials.key,
	})
}

// pause waits for a time.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// transient says whether the machine may answer later.
func transient(err error) bool {
	e, ok := errors.AsType[*remote.Error](err)
	return ok && e.Temporary()
}

// cause leaves out the operation and the target, which the error names itself.
func cause(err error) error {
	if e, ok := errors.AsType[*remote.Error](err); ok {
		return e.Err
	}
	return err
}

// failure is a failure to reach a machine, in words about the VNFC.
func failure(to target, doing string, err error) error {
	e := &lcm.Error{
		Code: lcm.CodeUpstream, Title: "Machine failed", Cause: err,
		Detail: fmt.Sprintf("%s on %s: %v", doing, to.machine, cause(err)),
	}
	switch remote.KindOf(err) {
	case remote.KindAuth:
		e.Class = lcm.Auth
		e.Hint = "check username, password and priv_key_file of the VDU in " + folder + "/config.yaml"
	case remote.KindHostKey:
		e.Hint = "if the machine was rebuilt on purpose, let its key be forgotten: gybe vnf ssh-hosts INSTANCE " +
			"--forget " + to.vnfc + "; if not, find out what answers at this address"
	case remote.KindTimeout, remote.KindUnreachable, remote.KindRefused, remote.KindClosed:
		e.Code = lcm.CodeUnavailable
		e.Hint = "check that the machine has booted, and that routers, floating IPs and security groups let the VNFM " +
			"reach its SSH port; then retry the operation"
	case remote.KindExit, remote.KindFile, remote.KindProtocol:
	default:
		return err
	}
	return e
}
