package nodeport

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// The names of the steps; the target is the address of the load balancer.
const (
	titleConfigure = "configure load balancer"
	titleRemove    = "remove from load balancer"
)

// configure makes the load balancer what the Services of the CNF are now. If a change of the package or of the flavour
// names another load balancer, the one from before loses the CNF's ports.
func (d *Driver) configure(ctx context.Context, w *lcm.Execution) error {
	before, after, err := paramsOf(w)
	if err != nil {
		return err
	}
	return d.move(ctx, w, before, after)
}

// restore is configure for a rollback: the load balancer of before has the CNF's ports again.
func (d *Driver) restore(ctx context.Context, w *lcm.Execution) error {
	before, after, err := paramsOf(w)
	if err != nil {
		return err
	}
	return d.move(ctx, w, after, before)
}

// remove takes the CNF's ports off the load balancer.
func (d *Driver) remove(ctx context.Context, w *lcm.Execution) error {
	_, after, err := paramsOf(w)
	if err != nil {
		return err
	}
	return d.move(ctx, w, after, nil)
}

// lasts reports whether an instance remembers the parameters of an operation.
func lasts(t sol.LcmOperationType) bool {
	return t == sol.LcmOperationInstantiate || t == sol.LcmOperationChangeVnfpkg ||
		t == sol.LcmOperationChangeFlavour
}

// paramsOf returns the parameters before the operation and those that hold for it. Parameters without a load balancer
// leave it alone: a request has null in its place, or the instance never had one.
func paramsOf(w *lcm.Execution) (before, after sol.KeyValuePairs, err error) {
	if after, err = w.Params(); err != nil {
		return nil, nil, err
	}
	if w.Op.Before == nil {
		return nil, after, nil
	}
	if before, err = w.Op.Before.Params.Decode(); err != nil {
		return nil, nil, err
	}
	if after[ParamKey] == nil && !lasts(w.Op.Type) {
		return nil, nil, nil
	}
	return before, after, nil
}

// move configures the load balancer of to, and removes the CNF from that of from if it is another one.
func (d *Driver) move(ctx context.Context, w *lcm.Execution, from, to sol.KeyValuePairs) error {
	had, err := balancerOf(from)
	if err != nil {
		return err
	}
	has, err := balancerOf(to)
	if err != nil {
		return err
	}
	if has != nil {
		if err := d.configureAt(ctx, w, *has, to); err != nil {
			return err
		}
	}
	if had == nil || has != nil && had.address == has.address {
		return nil
	}
	if err := d.removeAt(ctx, w, *had, from); err != nil {
		return err
	}
	w.ForgetVNFCs(had.machineName())
	return nil
}

// balancerOf reads the load balancer of parameters that were checked at the admission.
func balancerOf(params sol.KeyValuePairs) (*balancer, error) {
	b, bad := parse(params)
	return b, lcm.Unprocessable(bad...)
}

func (d *Driver) configureAt(ctx context.Context, w *lcm.Execution, b balancer, params sol.KeyValuePairs) error {
	return w.Step(ctx, titleConfigure, b.address.String(), func(ctx context.Context, s *lcm.Step) error {
		services, nodes, err := d.read(ctx, w, s)
		if err != nil {
			return err
		}
		m := d.machineOf(w, s, b)
		m.services, m.nodes, m.takenOver = services, nodes, manifestServices(params, w.Package)
		if err := m.apply(ctx); err != nil {
			return err
		}
		s.Detail(summary(services))
		return nil
	})
}

func (d *Driver) removeAt(ctx context.Context, w *lcm.Execution, b balancer, params sol.KeyValuePairs) error {
	return w.Step(ctx, titleRemove, b.address.String(), func(ctx context.Context, s *lcm.Step) error {
		m := d.machineOf(w, s, b)
		m.takenOver = manifestServices(params, w.Package)
		err := m.apply(ctx)
		if !unreachable(err) || w.Op.Type != sol.LcmOperationInstantiate {
			return err
		}
		// Most likely the instantiation has failed for the same reason, and has left nothing there.
		if m.patient() {
			return lcm.Wait(pause, lcm.AsError(err).Detail)
		}
		s.Detail("the load balancer was not reached: if its configuration has sections whose names begin with " +
			ownPrefix + w.Instance.ID + ", remove them there")
		return nil
	})
}

// read asks the cluster of the CNF for its Services and nodes.
func (d *Driver) read(ctx context.Context, w *lcm.Execution, s *lcm.Step) ([]service, []node, error) {
	_, vim, ok := lcm.PrimaryVim(w.Instance.VimConnections)
	if !ok {
		return nil, nil, lcm.Errorf(lcm.CodeConflict, "VNF instance %s has no connection to a cluster", w.Instance.ID)
	}
	vim.VimType = kubernetes.VimType // a connection for Helm has the same members
	access, err := kubernetes.FromVim(vim)
	if err != nil {
		return nil, nil, err
	}
	c, err := d.o.Client(access)
	if err != nil {
		return nil, nil, err
	}
	defer c.Close()

	services, other, err := readServices(ctx, c, w.Instance.ID)
	if err != nil {
		return nil, nil, err
	}
	for _, port := range other {
		s.Logf(ctx, fmt.Sprintf("the port %s is not passed on: HAProxy passes on TCP only", port))
	}
	if len(services) == 0 {
		return nil, nil, nil
	}
	nodes, err := readNodes(ctx, c)
	return services, nodes, err
}

// summary says which ports the load balancer passes on.
func summary(services []service) string {
	if len(services) == 0 {
		return "the CNF has no Service of the type NodePort"
	}
	list := make([]string, len(services))
	for n, s := range services {
		ports := make([]string, len(s.ports))
		for i, p := range s.ports {
			ports[i] = strconv.Itoa(p)
		}
		list[n] = s.String() + " " + strings.Join(ports, ", ")
	}
	return "NodePorts: " + strings.Join(list, "; ")
}
