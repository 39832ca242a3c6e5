package simcloud

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/cinder"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
	"github.com/gybe-nfv/gybe/test/simcloud/fleet"
	"github.com/gybe-nfv/gybe/test/simcloud/glance"
	"github.com/gybe-nfv/gybe/test/simcloud/heat"
	"github.com/gybe-nfv/gybe/test/simcloud/keystone"
	"github.com/gybe-nfv/gybe/test/simcloud/neutron"
	"github.com/gybe-nfv/gybe/test/simcloud/nova"
	"github.com/gybe-nfv/gybe/test/simcloud/rest"
	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

// Cloud is one running simulated cloud.
type Cloud struct {
	opts  Options
	url   string
	block *Block

	world    *sim.World
	keystone *keystone.Service
	neutron  *neutron.Service
	glance   *glance.Service
	cinder   *cinder.Service
	nova     *nova.Service
	heat     *heat.Service
	calls    *rest.Counter
	projects []*keystone.Project
	users    []*keystone.User

	authority *authority // nil without TLS

	server *http.Server
	served chan struct{}
	// parent is the context that background work of every epoch lives in.
	parent context.Context //nolint:containedctx // the cloud is a service and ends with it
	closed sync.Once
}

// Start starts a cloud. It ends with Close; the end of ctx ends its background work only.
func Start(ctx context.Context, opts Options) (*Cloud, error) {
	opts.defaults()
	c := &Cloud{opts: opts, block: opts.Block, calls: &rest.Counter{}, served: make(chan struct{}), parent: ctx}
	if c.block == nil {
		b, err := ReserveBlock(ctx)
		if err != nil {
			return nil, err
		}
		c.block = b
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", opts.Addr)
	if err != nil {
		c.closeBlock()
		return nil, fmt.Errorf("listen for the cloud's services: %w", err)
	}
	c.url = "http://" + ln.Addr().String()
	if opts.TLS {
		if c.authority, err = newAuthority(ln.Addr()); err != nil {
			_ = ln.Close()
			c.closeBlock()
			return nil, err
		}
		c.url = "https://" + ln.Addr().String()
		ln = tls.NewListener(
			ln, &tls.Config{Certificates: []tls.Certificate{c.authority.server}, MinVersion: tls.VersionTLS12},
		)
	}
	if opts.PublicURL != "" {
		c.url = opts.PublicURL
	}
	c.build(ctx)
	if err := c.seed(); err != nil {
		_ = ln.Close()
		c.closeBlock()
		return nil, fmt.Errorf("seed the cloud: %w", err)
	}
	c.server = &http.Server{
		Handler: c.routes(), ReadHeaderTimeout: time.Minute,
		ErrorLog: slog.NewLogLogger(opts.Logger.Handler(), slog.LevelDebug),
	}
	go func() {
		defer close(c.served)
		if err := c.server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			opts.Logger.Error("the cloud's services ended", "error", err)
		}
	}()
	return c, nil
}

func (c *Cloud) build(ctx context.Context) {
	w := sim.NewWorld(ctx)
	w.BaseURL, w.Log, w.Reachable = c.url, c.opts.Logger, c.block.Prefix()
	w.Timing.Set(c.opts.Timing)
	if c.opts.Machines != nil {
		w.Fleet = c.opts.Machines
	}
	c.world = w
	c.neutron = neutron.New(w)
	c.glance = glance.New(w)
	c.cinder = cinder.New(w, c.glance)
	c.nova = nova.New(w, c.neutron, c.glance, c.cinder)
	c.heat = heat.New(w, c.nova, c.neutron, c.cinder, c.glance)
	c.heat.Minute, c.heat.Retry = c.opts.HeatMinute, c.opts.HeatRetry
	if c.opts.HeatRPCTimeout > 0 {
		c.heat.RPCTimeout = c.opts.HeatRPCTimeout
	}
	if home := c.opts.Home; home != nil {
		c.projects, c.users, c.keystone = home.projects, home.users, home.keystone
		c.keystone.Join(c.opts.Region, c.catalog())
	} else {
		c.identities()
		c.keystone = keystone.New(w, keystone.Config{
			Region: c.opts.Region, TokenTTL: c.opts.TokenTTL, Projects: c.projects, Users: c.users,
			Catalog: c.catalog(),
		})
	}
	w.Faults.OnExpireTokens = c.keystone.ExpireAll
	c.tellFleet(nil)
}

func (c *Cloud) routes() http.Handler {
	mux := http.NewServeMux()
	api := func(service, prefix string, register func(*rest.API)) {
		register(&rest.API{
			Service: service, Prefix: prefix, Mux: mux, World: c.world, Calls: c.calls,
			Authenticate: c.keystone.Authenticate,
		})
	}
	if c.opts.Home == nil {
		api("keystone", "/identity", c.keystone.Register)
	}
	api("heat", "/orchestration", c.heat.Register)
	api("heat", "/orchestration-cfn", c.heat.RegisterSignals)
	api("nova", "/compute", c.nova.Register)
	api("neutron", "/network", c.neutron.Register)
	api("glance", "/image", c.glance.Register)
	api("cinder", "/volume", c.cinder.Register)
	c.registerControl(mux)
	return mux
}

// URL is the root of all services: URL + "/identity/v3" is where to log in.
func (c *Cloud) URL() string { return c.url }

// AuthURL is where to log in.
func (c *Cloud) AuthURL() string {
	if c.opts.Home != nil {
		return c.opts.Home.AuthURL()
	}
	return c.url + "/identity/v3"
}

// SetHeatEngine freezes ("frozen"), kills ("killed") or starts ("running") the engine behind Heat's API. A frozen one
// goes on where it was when it runs again; a killed one has forgotten what it was doing, and stacks stay in progress.
// Until it runs again, calls to Heat wait and are answered 500 after Options.HeatRPCTimeout. It panics on another
// state.
func (c *Cloud) SetHeatEngine(state string) {
	if err := c.heat.SetEngine(state); err != nil {
		panic(err)
	}
}

// Net0ID is the id of the tenant network net0.
func (c *Cloud) Net0ID() string { return net0ID }

// PublicID is the id of the external network.
func (c *Cloud) PublicID() string { return publicID }

// ProjectID is the id of the project nfv.
func (c *Cloud) ProjectID() string { return c.projects[0].ID }

// Block is the loopback network of the servers' addresses.
func (c *Cloud) Block() *Block { return c.block }

// Faults are the rules in force.
func (c *Cloud) Faults() *fault.Set { return c.world.Faults }

// AddFault puts a rule in force and returns its id; it panics on a rule that no test can mean.
func (c *Cloud) AddFault(r Fault) string {
	id, err := c.world.Faults.Add(r)
	if err != nil {
		panic(err)
	}
	return id
}

// SetTiming replaces the timing table, that of the machines' steps included.
func (c *Cloud) SetTiming(t Timing) {
	before := c.world.Timing.Get().Machines
	c.world.Timing.Set(t)
	c.tellFleet(before)
}

// MergeTiming adds the keys of t to the timing table.
func (c *Cloud) MergeTiming(t Timing) {
	c.world.Timing.Merge(t)
	c.tellFleet(nil)
}

// tellFleet hands the times of steps to the fleet; those that were there before and are no longer take no time.
func (c *Cloud) tellFleet(before map[string]Duration) {
	ctl, ok := c.world.Fleet.(fleet.MachineControl)
	if !ok {
		return
	}
	delays := map[string]time.Duration{}
	for name := range before {
		delays[name] = 0
	}
	for name, d := range c.world.Timing.Get().Machines {
		delays[name] = time.Duration(d)
	}
	if len(delays) > 0 {
		ctl.SetDelays(delays)
	}
}

// ExpireTokens makes every token invalid now.
func (c *Cloud) ExpireTokens() { c.keystone.ExpireAll() }

// Offer adds the URL of another service to Keystone's catalogue.
func (c *Cloud) Offer(serviceType, url string) {
	c.keystone.Offer(keystone.Endpoint{Type: serviceType, Name: serviceType, URL: url})
}

// SetPassword changes the password of a user, whose tokens become invalid. It returns false for a user that does not
// exist.
func (c *Cloud) SetPassword(user, password string) bool {
	return c.keystone.SetPassword(user, password)
}

// Tokens returns how many tokens a user has.
func (c *Cloud) Tokens(user string) int { return c.keystone.TokenCount(user) }

// SetTokenTTL sets how long tokens issued from now on are valid.
func (c *Cloud) SetTokenTTL(d time.Duration) { c.keystone.SetTTL(d) }

// Reset ends all background work, removes every object, machine, fault and count, and starts over with the same ids of
// projects and networks. Tokens stay valid.
func (c *Cloud) Reset() error {
	c.world.Faults.Clear()
	_ = c.heat.SetEngine(heat.EngineRunning) // a state there is
	c.world.StopWork(c.parent)
	c.removeMachines()
	c.world.Lock()
	c.heat.Reset()
	c.nova.Reset()
	c.cinder.Reset()
	c.glance.Reset()
	c.neutron.Reset()
	c.world.Unlock()
	c.calls.Reset()
	c.SetTiming(c.opts.Timing)
	return c.seed()
}

func (c *Cloud) removeMachines() {
	for _, id := range c.nova.Booted() {
		c.world.Fleet.Delete(id)
	}
}

// Close ends the services, the background work and the machines, and gives the block back.
func (c *Cloud) Close() {
	c.closed.Do(func() {
		if c.opts.Home != nil {
			c.keystone.Leave(c.opts.Region)
		}
		c.world.Faults.Clear()
		_ = c.heat.SetEngine(heat.EngineRunning) // a state there is
		_ = c.server.Close()
		<-c.served
		ended, cancel := context.WithCancelCause(c.parent)
		cancel(sim.ErrReset)
		c.world.StopWork(ended)
		c.removeMachines()
		c.closeBlock()
	})
}

func (c *Cloud) closeBlock() {
	if c.opts.Block == nil {
		_ = c.block.Close()
	}
}
