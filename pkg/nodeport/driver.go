package nodeport

import (
	"context"
	"time"

	"github.com/gybe-nfv/gybe/pkg/haproxy"
	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
)

// Name is the implementation name by which VNFDs ask for this driver.
const Name = "mgmt-drivers-cnf-nodeport"

// Options are what the driver needs. Zero durations and numbers mean the defaults.
type Options struct {
	// Connect gives a connection to a machine, which release gives back; Pooled makes it from a remote.Pool.
	Connect func(ctx context.Context, t remote.Target) (c haproxy.Connection, release func(), err error)
	// Client makes a client of a cluster; it does not connect. By default it connects to any address.
	Client  func(a kubernetes.Access) (*kubernetes.Client, error)
	SSHPort int // 22
	// CommandTimeout bounds one command on the load balancer; 1 min.
	CommandTimeout time.Duration
	// Patience is how long another VNF instance may have a port before the step fails: an operation of
	// that instance may be about to give it back; 2 min.
	Patience time.Duration
}

// Pooled is the usual Options.Connect.
func Pooled(p *remote.Pool) func(context.Context, remote.Target) (haproxy.Connection, func(), error) {
	return func(ctx context.Context, t remote.Target) (haproxy.Connection, func(), error) {
		c, release, err := p.Get(ctx, t)
		if err != nil {
			return nil, nil, err
		}
		return c, release, nil
	}
}

// Driver implements lcm.MgmtDriver.
type Driver struct {
	o     Options
	hooks []lcm.HookHandler
}

var _ lcm.MgmtDriver = (*Driver)(nil)

// New makes the driver.
func New(o Options) *Driver {
	if o.Client == nil {
		o.Client = func(a kubernetes.Access) (*kubernetes.Client, error) { return kubernetes.New(a.Config()) }
	}
	if o.SSHPort == 0 {
		o.SSHPort = 22
	}
	if o.CommandTimeout <= 0 {
		o.CommandTimeout = time.Minute
	}
	if o.Patience <= 0 {
		o.Patience = 2 * time.Minute
	}
	d := &Driver{o: o}
	d.hooks = d.hookHandlers()
	return d
}

// Hooks implements lcm.MgmtDriver.
func (d *Driver) Hooks() []lcm.HookHandler { return d.hooks }

// hookHandlers lists the hooks. All that change the load balancer run once the VNFD names the driver at any hook:
// packages for other VNFMs name those of instantiation, heal and termination only, and a scaled or changed CNF would
// keep ports that lead nowhere.
func (d *Driver) hookHandlers() []lcm.HookHandler {
	handlers := []lcm.HookHandler{
		{Hook: lcm.HookInstantiateEnd, Run: d.configure, Preview: previewConfigure, Protects: true},
		{Hook: lcm.HookInstantiateRollbackStart, Run: d.remove, Protects: true},
		{Hook: lcm.HookTerminateEnd, Run: d.remove, Preview: previewRemove, Protects: true},
	}
	for _, h := range []lcm.Hook{
		lcm.HookScaleEnd, lcm.HookScaleToLevelEnd, lcm.HookHealEnd, lcm.HookChangeVnfpkgEnd, lcm.HookChangeFlavourEnd,
	} {
		handlers = append(handlers, lcm.HookHandler{
			Hook: h, Run: d.configure, Preview: previewConfigure, Protects: true,
		})
	}
	for _, h := range []lcm.Hook{
		lcm.HookScaleRollbackEnd, lcm.HookScaleToLevelRollbackEnd, lcm.HookHealRollbackEnd,
		lcm.HookChangeVnfpkgRollbackEnd, lcm.HookChangeFlavourRollbackEnd,
	} {
		handlers = append(handlers, lcm.HookHandler{Hook: h, Run: d.restore, Protects: true})
	}
	// The other hooks are accepted, because packages for other VNFMs name them, and there is nothing to do there.
	for _, h := range []lcm.Hook{
		lcm.HookInstantiateStart, lcm.HookInstantiateRollbackEnd, lcm.HookScaleStart, lcm.HookScaleRollbackStart,
		lcm.HookScaleToLevelStart, lcm.HookScaleToLevelRollbackStart, lcm.HookHealStart, lcm.HookHealRollbackStart,
		lcm.HookChangeVnfpkgStart, lcm.HookChangeVnfpkgRollbackStart, lcm.HookChangeFlavourStart,
		lcm.HookChangeFlavourRollbackStart, lcm.HookChangeExtConnStart, lcm.HookChangeExtConnEnd, lcm.HookOperateStart,
		lcm.HookOperateEnd, lcm.HookModifyInfoStart, lcm.HookModifyInfoEnd, lcm.HookTerminateStart,
	} {
		handlers = append(handlers, lcm.HookHandler{Hook: h})
	}
	return handlers
}
