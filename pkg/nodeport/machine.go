package nodeport

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gybe-nfv/gybe/pkg/haproxy"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
)

// machineName is the name under which the host key of a load balancer is pinned for an instance.
func (b balancer) machineName() string { return lcm.BalancerMachine(b.address) }

// machine is one load balancer within a step.
type machine struct {
	o        Options
	w        *lcm.Execution
	step     *lcm.Step
	balancer balancer
	// services and nodes are what the load balancer is to have for the instance; none removes it.
	services []service
	nodes    []node
	// takenOver are the Services whose frontends of Tacker's configure_lb.sh are replaced.
	takenOver []serviceName
}

func (d *Driver) machineOf(w *lcm.Execution, s *lcm.Step, b balancer) *machine {
	return &machine{o: d.o, w: w, step: s, balancer: b}
}

func (m *machine) target() remote.Target {
	return remote.Target{
		Instance: m.w.Instance.ID, VNFC: m.balancer.machineName(), Host: m.balancer.address.String(), Port: m.o.SSHPort,
		User: m.balancer.username, Password: m.balancer.password, PrivateKey: []byte(m.balancer.privateKey),
	}
}

// apply brings the machine to the wanted state, whatever a predecessor has done there.
func (m *machine) apply(ctx context.Context) error {
	c, release, err := m.o.Connect(ctx, m.target())
	if err != nil {
		return m.failure(doingConnect, err)
	}
	defer release()

	e := haproxy.Edit{Connection: c, Step: m.step, Timeout: m.o.CommandTimeout}
	e.Make = func(ctx context.Context, old string) (haproxy.Wanted, error) {
		open, err := e.Listening(ctx)
		if err != nil {
			return haproxy.Wanted{}, err
		}
		return m.edit(ctx, old, open)
	}
	err = e.Apply(ctx)
	if refused, ok := errors.AsType[*haproxy.RefusedError](err); ok {
		return m.refused(refused.Why, refused.Hint)
	}
	if failed, ok := errors.AsType[*haproxy.FailedError](err); ok {
		return m.failure(failed.Doing, failed.Err)
	}
	if errors.Is(err, haproxy.ErrBusy) {
		return &lcm.Error{
			Code: lcm.CodeUnavailable, Class: lcm.Transient, Title: "Load balancer busy",
			Detail: fmt.Sprintf("load balancer %s: %v", m.balancer.address, err),
		}
	}
	return err
}

// edit makes the new file from the old one. open are the ports that are open on the machine.
func (m *machine) edit(ctx context.Context, old string, open map[int]bool) (haproxy.Wanted, error) {
	conf := parseConfig(old)
	instance := m.w.Instance.ID
	had, before := conf.owned(instance), *conf
	for _, name := range conf.takeOver(m.takenOver) {
		m.step.Logf(ctx, "the frontend "+name+", written by another VNFM, is replaced")
	}
	wants := m.ports()
	if err := m.free(conf, &before, open, wants); err != nil {
		return haproxy.Wanted{}, err
	}
	return haproxy.Wanted{
		Text: conf.replace(instance, render(instance, m.services, m.nodes, conf.shares(m.nodes))),
		Open: wants, Closed: without(had, wants),
	}, nil
}

// ports lists the ports of the Services.
func (m *machine) ports() []int {
	var out []int
	for _, s := range m.services {
		out = append(out, s.ports...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func without(list, other []int) []int {
	return slices.DeleteFunc(slices.Clone(list), func(p int) bool { return slices.Contains(other, p) })
}

// free refuses ports that others use. A port of another VNF instance may be about to be given back: Kubernetes gives
// each NodePort to one Service only. before is the file as it is, conf without the sections that are replaced.
func (m *machine) free(conf, before *config, open map[int]bool, ports []int) error {
	if by, ok := conf.taken(m.w.Instance.ID, ports); ok {
		if by.section.owner != "" && m.patient() {
			return lcm.Wait(pause, by.String())
		}
		return m.refused(by.String(), "give the Service another nodePort, or free the port on the load balancer; then "+
			"retry the operation, or roll it back")
	}
	for _, p := range ports {
		if open[p] && !before.bound(p) {
			return m.refused(fmt.Sprintf("the port %d is used by another program on the machine", p),
				"ss -lntp on the load balancer shows the program; free the port, or give the Service another nodePort")
		}
	}
	return nil
}

// pause is the time between two looks at a state that others have to change.
const pause = 2 * time.Second

// patient reports whether the step may still wait for others. A retry waits as long as the first attempt did.
func (m *machine) patient() bool {
	begun := m.step.Started()
	if m.w.Op.StateEntered.After(begun) {
		begun = m.w.Op.StateEntered
	}
	return m.w.Clock.Now().Sub(begun) < m.o.Patience
}
