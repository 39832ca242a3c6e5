package ansible

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
	"github.com/gybe-nfv/gybe/pkg/script/durable"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Name is the implementation name by which VNFDs ask for this driver, that of Tacker's sample.
const Name = "ansible_driver"

// Connection is what the driver does with a machine; *remote.Client implements it.
type Connection interface {
	StartOrAdopt(ctx context.Context, j remote.Job) (st remote.Status, adopted bool, err error)
	Status(ctx context.Context, runID string) (remote.Status, error)
	Follow(ctx context.Context, runID string, offset int64, line func(text string, next int64)) (remote.Status, error)
	Kill(ctx context.Context, runID string) error
	CleanupAll(ctx context.Context, prefix string) error
	Output(ctx context.Context, command string, stdin io.Reader, limit int) ([]byte, error)
}

// Options are what the driver needs. Zero durations and numbers mean the defaults.
type Options struct {
	// Connect gives a connection to a machine, which release gives back; Pooled makes it from a remote.Pool.
	Connect func(ctx context.Context, t remote.Target) (c Connection, release func(), err error)
	// HostKeys has the keys of machines, which playbooks check, too.
	HostKeys remote.HostKeyStore
	// SSHPort is the port of the machines; 22.
	SSHPort int
	// Host runs playbooks; without Host.Scripts, or without CanPlay, packages that need it are refused.
	Host durable.Host
	// CanPlay says with a CodeUnprocessable error why playbooks cannot be run on this node now; nil = the operator has
	// not enabled them.
	CanPlay func() error
	// CommandTimeout bounds one short command on a machine; 1 min.
	CommandTimeout time.Duration
}

// Pooled is the usual Options.Connect.
func Pooled(p *remote.Pool) func(context.Context, remote.Target) (Connection, func(), error) {
	return func(ctx context.Context, t remote.Target) (Connection, func(), error) {
		c, release, err := p.Get(ctx, t)
		if err != nil {
			return nil, nil, err
		}
		return c, release, nil
	}
}

// Driver implements lcm.MgmtDriver.
type Driver struct{ o Options }

var _ lcm.MgmtDriver = (*Driver)(nil)

// New makes the driver.
func New(o Options) *Driver {
	o.SSHPort = cmp.Or(o.SSHPort, 22)
	o.CommandTimeout = cmp.Or(o.CommandTimeout, time.Minute)
	return &Driver{o}
}

// work is what a hook runs: a list of the configuration, for some VNFCs.
type work struct {
	action string
	// vnfcs selects the VNFCs: nil = all.
	vnfcs func(w *lcm.Execution) []string
}

// hooks are the hooks that run something. Tacker's driver is called at the same points.
var hooks = map[lcm.Hook]work{
	lcm.HookInstantiateEnd:    {action: "instantiation"},
	lcm.HookTerminateStart:    {action: "termination"},
	lcm.HookHealEnd:           {action: "healing", vnfcs: healed},
	lcm.HookScaleStart:        {action: "scale-in", vnfcs: removed},
	lcm.HookScaleEnd:          {action: "scale-out", vnfcs: added},
	lcm.HookScaleToLevelStart: {action: "scale-in", vnfcs: removed},
	lcm.HookScaleToLevelEnd:   {action: "scale-out", vnfcs: added},
}

// healed are the VNFCs that a HEAL is about, those in the place of deleted ones included; all of a whole VNF.
func healed(w *lcm.Execution) []string {
	if s := w.Op.Scope; s != nil && !s.Whole {
		return append(w.Added(), s.VNFCs...)
	}
	var out []string
	for _, c := range w.Instance.Instantiated.VnfcInfo {
		out = append(out, c.ID)
	}
	return out
}

func removed(w *lcm.Execution) []string {
	if w.Op.Scope == nil {
		return nil
	}
	return w.Op.Scope.Remove
}

func added(w *lcm.Execution) []string { return w.Added() }

// Hooks implements lcm.MgmtDriver. It accepts every hook, because VNFDs name a driver also where it has nothing to do.
func (d *Driver) Hooks() []lcm.HookHandler {
	var out []lcm.HookHandler
	for _, k := range lcm.OperationKinds() {
		start, end := k.Hooks()
		back, backEnd := k.RollbackHooks()
		for _, hook := range []lcm.Hook{start, end, back, backEnd} {
			h := lcm.HookHandler{Hook: hook}
			if run, ok := hooks[hook]; ok {
				h.Run = func(ctx context.Context, w *lcm.Execution) error { return d.run(ctx, w, run) }
				h.Preview = func(r lcm.Request) []string { return preview(r, run.action) }
			}
			out = append(out, h)
		}
	}
	return out
}

// preview has a line for each VDU.
func preview(r lcm.Request, action string) []string {
	c, _ := load(r.Package)
	if c == nil {
		return nil
	}
	var out []string
	for _, v := range c.vdus {
		if r.Flavour == nil || r.Flavour.VDU(v.name) == nil {
			continue
		}
		if action == "scale-in" && !touches(r.Scope, v.name, r.Instance) ||
			action == "scale-out" && (r.Scope == nil || r.Scope.Add[v.name] == 0) {
			continue
		}
		for _, i := range v.actions[action] {
			what := "the playbook " + strings.TrimPrefix(i.path.value, prefix+packagePath+"/")
			if v.kind == typeCommand {
				what = fmt.Sprintf("a command (%s:%d)", c.file, i.line)
			}
			out = append(out, fmt.Sprintf("run %s for each VNFC of %s that the operation is about", what, v.name))
		}
	}
	return out
}

// touches says whether a scope removes a VNFC of a VDU.
func touches(s *lcm.Scope, vdu string, i *lcm.Instance) bool {
	if s == nil || i == nil || i.Instantiated == nil {
		return false
	}
	for _, id := range s.Remove {
		if _, res, ok := i.VNFC(id); ok && res.VduID == vdu {
			return true
		}
	}
	return false
}

// actionsOf are the lists that an operation may run.
func actionsOf(t sol.LcmOperationType) []string {
	switch t { //nolint:exhaustive // the others run nothing
	case sol.LcmOperationInstantiate:
		return []string{"instantiation"}
	case sol.LcmOperationTerminate:
		return []string{"termination"}
	case sol.LcmOperationHeal:
		return []string{"healing"}
	case sol.LcmOperationScale, sol.LcmOperationScaleToLevel:
		return []string{"scale-in", "scale-out"}
	}
	return nil
}
