package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/migrations"
	"github.com/gybe-nfv/gybe/pkg/audit"
	"github.com/gybe-nfv/gybe/pkg/auth"
	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/content"
	"github.com/gybe-nfv/gybe/pkg/download"
	"github.com/gybe-nfv/gybe/pkg/engine"
	"github.com/gybe-nfv/gybe/pkg/grant"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/admission"
	"github.com/gybe-nfv/gybe/pkg/lcm/execution"
	"github.com/gybe-nfv/gybe/pkg/nfvo"
	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/notify/callback"
	"github.com/gybe-nfv/gybe/pkg/notify/delivery"
	"github.com/gybe-nfv/gybe/pkg/script"
	"github.com/gybe-nfv/gybe/pkg/secret"
	"github.com/gybe-nfv/gybe/pkg/store"
	"github.com/gybe-nfv/gybe/pkg/telemetry"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
)

// Options are what the configuration does not say.
type Options struct {
	Log *slog.Logger
	// Version of the program, for metrics and the list of nodes.
	Version string
	// Infras are drivers by vimType beside the built-in ones, for tests.
	Infras map[string]lcm.Infra
	// WrapStores and WrapLedger put a layer around the two sides of the store, for tests that let a node die at a
	// certain write; they may be nil.
	WrapStores func(lcm.Stores) lcm.Stores
	WrapLedger func(lcm.Ledger) lcm.Ledger
	// WrapAPI puts a layer around what the node serves, for tests that look at all responses; it may be nil.
	WrapAPI func(http.Handler) http.Handler
	// SkipPreload leaves the OpenAPI documents to their first reader, for tests that start hundreds of nodes.
	SkipPreload bool
}

// App is one node.
type App struct {
	cfg  config.Config
	opts Options
	log  *slog.Logger

	listener  net.Listener
	debug     net.Listener // nil when it is off
	publicURL string
	metrics   *telemetry.Metrics

	ring     *secret.Ring
	pool     *pgxpool.Pool
	content  *content.Store
	store    *store.Store
	feed     *store.Feed
	audit    *audit.Trail
	packages *vnfpkg.Services
	engine   *engine.Engine
	scripts  *script.Runner // nil when scripts of packages are not run
	drivers  *drivers
	nfvo     *nfvo.Client // nil without an NFVO
	services *admission.Services

	callbacks     *callback.Client
	subscriptions *notify.Services
	delivery      *delivery.Runner

	auth        *auth.Authenticator
	answering   chan string   // keys of VIMs that answer again
	vimsChanged chan struct{} // holds a value when the availability of VIMs is to be stored

	frame    *frame.Frame
	server   *http.Server
	stopping chan struct{} // closed when the HTTP server stops
}

// New makes a node: it connects to the database, migrates it, and opens its listeners, but answers nothing yet.
// Whatever it opened is closed by Run or Close.
func New(ctx context.Context, cfg config.Config, opts Options) (_ *App, err error) {
	a := &App{cfg: cfg, opts: opts, log: opts.Log, stopping: make(chan struct{})}
	a.answering, a.vimsChanged = make(chan string, 16), make(chan struct{}, 1)
	defer func() {
		if err != nil {
			a.Close()
		}
	}()
	if a.cfg.NodeID == "" {
		a.cfg.NodeID = nodeName()
	}
	a.log = a.log.With("node_id", a.cfg.NodeID)
	a.metrics = telemetry.New(opts.Version)
	if err := openDataDir(cfg.DataDir, a.log); err != nil {
		return nil, fmt.Errorf("data_dir: %w", err)
	}
	ring, err := secret.LoadOrCreate(cfg.SecretKeyFile())
	if err != nil {
		return nil, fmt.Errorf("secrets.key_file: %w", err)
	}
	a.ring = ring
	if set := cfg.Scripts; set.Python != "" {
		if a.scripts, err = script.New(
			ctx, script.Options{
				Python: set.Python, Sandbox: set.Sandbox, Network: set.Network, Playbook: cfg.Ansible.Playbook,
				Log: a.log,
			},
		); err != nil {
			return nil, err
		}
	}
	if err := a.openListeners(ctx); err != nil {
		return nil, err
	}
	if a.pool, err = connect(ctx, cfg, a.log); err != nil {
		return nil, err
	}
	if err := migrations.Up(ctx, a.pool); err != nil {
		return nil, err
	}
	queue := &engine.Queue{}
	if a.store, err = store.New(ctx, a.pool, ring, queue, a.log); err != nil {
		return nil, err
	}
	a.store.Limit(cfg.Limits.Quota.Of)
	a.feed = store.NewFeed(a.store)
	a.audit = audit.New(a.store, a.cfg.NodeID, a.log)
	if err := a.openNFVO(); err != nil {
		return nil, err
	}
	if err := a.openPackages(); err != nil {
		return nil, err
	}
	a.openDomain(ctx, queue)
	if err := a.openNotify(); err != nil {
		return nil, err
	}
	if err := a.openHTTP(ring); err != nil { //nolint:contextcheck // handlers have the contexts of their requests
		return nil, err
	}
	a.addMetrics()
	return a, nil
}

// openPackages makes package management on the content store.
func (a *App) openPackages() error {
	var err error
	if a.content, err = content.Open(filepath.Join(a.cfg.DataDir, "content")); err != nil {
		return fmt.Errorf("open the content store: %w", err)
	}
	a.content.KeepFree(int64(a.cfg.Limits.FreeSpace))
	limits := vnfpkg.DefaultLimits()
	limits.ArchiveBytes = int64(a.cfg.Limits.PackageSize)
	limits.Archive.TotalBytes = int64(a.cfg.Limits.PackageUnpacked)
	limits.Archive.FileBytes = int64(a.cfg.Limits.PackageUnpacked)
	limits.Archive.Entries = a.cfg.Limits.PackageFiles
	limits.UserDefinedData = int(a.cfg.Limits.Attribute)
	signatures, err := a.signatures()
	if err != nil {
		return err
	}
	a.packages = vnfpkg.New(vnfpkg.Options{
		Stores: a.store, Content: a.content, Log: a.log, Limits: limits, Signatures: signatures,
		DownloadTime: a.cfg.Limits.DownloadTime, Mgmt: mgmtDrivers{a},
		Fetcher: fetcher{download.New(download.Options{Policy: outboundPolicy(&a.cfg)}), a.nfvo},
	})
	return nil
}

// openDomain makes the lifecycle service and the engine that works for it.
func (a *App) openDomain(ctx context.Context, queue *engine.Queue) {
	clock := lcm.SystemClock{}
	a.drivers = newDrivers(ctx, a)
	var stores lcm.Stores = a.store
	if a.opts.WrapStores != nil {
		stores = a.opts.WrapStores(stores)
	}
	var ledger lcm.Ledger = a.store
	if a.opts.WrapLedger != nil {
		ledger = a.opts.WrapLedger(ledger)
	}
	a.services = &admission.Services{
		Stores: stores, Packages: a.packages, Infras: a.drivers, Mgmt: a.drivers.mgmt, Clock: clock,
		Deadline: a.cfg.Deadline,
		Limits:   lcm.Limits{Attribute: int(a.cfg.Limits.Attribute), Params: int(a.cfg.Limits.Params)},
	}
	var grantor lcm.Grantor = grant.Local{Zones: a.cfg.Grant.Zones}
	if a.nfvo != nil && a.cfg.NFVO.Grants {
		set := a.cfg.NFVO
		grantor = &nfvo.Grantor{
			Client: a.nfvo, Vims: a.store, PublicURL: a.publicURL, Poll: set.Poll, RetryBase: set.RetryBase,
			RetryMax: set.RetryMax,
		}
		a.services.NFVO = a.nfvo.String()
	}
	if a.nfvo != nil && a.cfg.NFVO.Packages {
		a.services.Source = &packageSource{nfvo: a.nfvo, packages: a.packages}
	}
	runner := &execution.Runner{
		Store: ledger, Packages: a.packages, Clock: clock, Log: a.log, Node: a.cfg.NodeID, Observe: a.metrics,
		Planner: &execution.Planner{
			Infras: a.drivers, Mgmt: a.drivers.mgmt, Grantor: grantor,
		},
		Tuning: execution.Tuning{
			TickBudget: a.cfg.Engine.TickBudget, InlineWait: a.cfg.Engine.InlineWait,
			RetryBase: a.cfg.Engine.RetryBase, RetryMax: a.cfg.Engine.RetryMax, Retries: a.cfg.Engine.Retries,
		},
	}
	a.engine = engine.New(engine.Config{
		MaxPerVim: a.cfg.Engine.PerVim(), MaxPerProject: a.cfg.Engine.PerProject(),
		Pool: a.pool, Queue: queue, Log: a.log, Name: a.cfg.NodeID, Address: a.publicURL, Version: a.opts.Version,
		Kinds: []engine.Kind{
			{
				Kind: store.OperationJobs, Run: a.measured(runner.Advance), Workers: a.cfg.Engine.MaxWorkers,
				Timeout: a.cfg.Engine.TickBudget + commitTime,
			},
			{Kind: store.PackageJobs, Run: onboarding(a.packages), Workers: maxOnboards, Timeout: onboardTimeout},
			{Kind: store.DownloadJobs, Run: a.packages.Download, Workers: maxDownloads, Timeout: downloadTimeout},
		},
	})
}

// commitTime is the time that a tick has after its budget, to store its outcome.
const commitTime = 15 * time.Second

// Addr is where the API listens, host:port.
func (a *App) Addr() string { return a.listener.Addr().String() }

// URL is how clients reach the API: the configured public URL, or what the listener's address says.
func (a *App) URL() string { return a.publicURL }

// Routes lists all routes of the API and the console, with the roles that they require.
func (a *App) Routes() []frame.Access { return a.frame.Table() }

// DebugAddr is where /metrics and pprof are; "" when they are off.
func (a *App) DebugAddr() string {
	if a.debug == nil {
		return ""
	}
	return a.debug.Addr().String()
}

// Ready is closed when the node takes work; until then, and when it loses the database, /readyz says why not.
func (a *App) Ready() <-chan struct{} { return a.engine.Ready() }

// stopTime bounds an orderly stop of the HTTP server. The engine has less, so that all of it stays below 30 s.
const stopTime = 20 * time.Second

// Run serves until ctx ends, then stops in order: no new requests, running ones get their answer, ticks give
// their operations back. The error is nil after an orderly stop. Run closes the App.
func (a *App) Run(ctx context.Context) error {
	defer a.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all errgroup.Group
	part := func(name string, run func(context.Context) error) {
		all.Go(func() error {
			err := run(ctx)
			if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
				err = nil
			}
			if err != nil {
				a.log.ErrorContext(ctx, "part of the node failed", "part", name, "error", err)
				err = fmt.Errorf("%s: %w", name, err)
			}
			cancel() // a node needs all its parts
			return err
		})
	}
	part("event feed", func(ctx context.Context) error { a.feed.Run(ctx); return nil })
	part("packages", a.packages.Run)
	part("engine", a.engine.Run)
	part("audit trail", a.audit.Run)
	part("notifications", a.delivery.Run)
	part("pruning", a.prune)
	part("key file", a.followKeyFile)
	part("VIMs", a.watchVims)
	part("http", a.serveHTTP)
	if a.debug != nil {
		part("debug", a.serveDebug)
	}
	if !a.opts.SkipPreload {
		all.Go(func() error { a.preload(ctx); return nil })
	}
	if a.cfg.Exposed() {
		a.log.WarnContext(ctx, "auth.none is true: every client that reaches this address is an administrator",
			"listen", a.Addr())
	}
	memory, source := limitMemory(a.cfg.Limits.Memory)
	a.log.InfoContext(ctx, "gybe serves", "version", a.opts.Version, "listen", a.Addr(), "public_url", a.publicURL,
		"debug", a.DebugAddr(), "memory_limit", memory, "memory_limit_from", source)
	err := all.Wait()
	err = errors.Join(err, a.audit.Flush(ctx)) // of requests that ended during the stop
	a.log.InfoContext(ctx, "gybe has stopped")
	return err
}

// preload reads the OpenAPI documents while the node is already up.
func (a *App) preload(ctx context.Context) {
	if err := a.frame.Preload(); err != nil {
		a.log.ErrorContext(ctx, "OpenAPI documents are incomplete", "error", err)
	}
}

// prune deletes old operations, events, messages, deliveries and entries of the audit trail now and then; every node
// does.
func (a *App) prune(ctx context.Context) error {
	const batch, every = 10_000, time.Hour
	for {
		pause := every
		for what, rows := range map[string]struct {
			prune func(context.Context, time.Duration, int) (int64, error)
			keep  time.Duration
			batch int
		}{
			"events":       {a.store.PruneEvents, a.cfg.Database.KeepEvents, batch},
			"messages":     {a.store.PruneMessages, a.cfg.Database.KeepEvents, batch},
			"audit trail":  {a.store.PruneAudit, a.cfg.Database.KeepAudit, batch},
			"request keys": {a.store.PruneRequestKeys, lcm.KeepRequestKeys, batch},
			"operations":   {a.store.PruneOperations, a.cfg.Database.KeepOperations, 500},
			"deliveries":   {a.store.PruneDeliveries, a.cfg.Notify.Keep, batch},
		} {
			n, err := rows.prune(ctx, rows.keep, rows.batch)
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case err != nil:
				a.log.WarnContext(ctx, "old rows are not deleted yet", "rows", what, "error", err)
			case n == int64(rows.batch):
				pause = time.Second
			}
			if n > 0 {
				a.log.InfoContext(
					ctx, "old rows are deleted", "rows", what, "count", n, "older_than", rows.keep.String(),
				)
			}
		}
		if !sleep(ctx, pause) {
			return context.Cause(ctx)
		}
	}
}

// Close gives everything back that New opened. It may be called more than once.
func (a *App) Close() {
	for _, l := range []net.Listener{a.listener, a.debug} {
		if l != nil {
			_ = l.Close() // closed already by the server that used it
		}
	}
	if a.drivers != nil {
		a.drivers.close()
		a.drivers = nil
	}
	if a.nfvo != nil {
		a.nfvo.Close()
	}
	if a.callbacks != nil {
		a.callbacks.Close()
	}
	if a.scripts != nil {
		a.scripts.Close()
		a.scripts = nil
	}
	if a.content != nil {
		_ = a.content.Close() // a directory handle
		a.content = nil
	}
	if a.pool != nil {
		a.pool.Close()
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
