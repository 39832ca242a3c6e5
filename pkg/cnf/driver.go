package cnf

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/kubernetes/objects"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/outbound"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/tacker"
)

// VimType is the vimType that the driver is for.
const VimType = kubernetes.VimType

// Config is how a driver reaches clusters.
type Config struct {
	// Outbound says which addresses are allowed; nil allows all.
	Outbound *outbound.Policy
	// Availability notes which clusters answer; may be nil.
	Availability *kubernetes.Availability
	// GracefulTimeout is the wait before a GRACEFUL termination or stop that names none; default 10 seconds.
	GracefulTimeout time.Duration
	// Wrap is put around the transport to an API server; nil for none.
	Wrap func(http.RoundTripper) http.RoundTripper
}

// Driver is the infra driver for Kubernetes. It is safe for concurrent use.
type Driver struct {
	cfg      Config
	log      *slog.Logger
	clusters *kubernetes.Pool[*objects.Cluster]
}

var _ lcm.Infra = (*Driver)(nil)

// New returns a driver.
func New(cfg Config, log *slog.Logger) *Driver {
	if cfg.GracefulTimeout <= 0 {
		cfg.GracefulTimeout = 10 * time.Second
	}
	d := &Driver{cfg: cfg, log: log}
	d.clusters = kubernetes.NewPool(d.connect, nil)
	return d
}

// Close ends the connections of the driver.
func (d *Driver) Close() { d.clusters.Close() }

// connect makes the client of a connection.
func (d *Driver) connect(conn sol.VimConnectionInfo) (*objects.Cluster, error) {
	access, err := kubernetes.FromVim(conn)
	if err != nil {
		return nil, err
	}
	cfg := access.Outbound(d.policy())
	vim := lcm.VimKey(conn)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return d.cfg.Availability.Wrap(vim, next) })
	if d.cfg.Wrap != nil {
		cfg.Wrap(d.cfg.Wrap)
	}
	return objects.New(cfg)
}

// policy is the one of the configuration, or one that allows everything.
func (d *Driver) policy() *outbound.Policy {
	if d.cfg.Outbound == nil {
		return &outbound.Policy{Loopback: true}
	}
	return d.cfg.Outbound
}

// tick is one call of the driver for an operation.
type tick struct {
	*objects.Cluster
	w    *lcm.Execution
	key  string // of the connection
	conn sol.VimConnectionInfo
}

// with calls do with the client of an instance's connection.
func (d *Driver) with(ctx context.Context, w *lcm.Execution, do func(context.Context, *tick) error) error {
	key, conn, ok := lcm.PrimaryVim(w.Instance.VimConnections)
	if !ok {
		return lcm.Errorf(lcm.CodeUnprocessable, "the VNF instance has no connection to a VIM")
	}
	c, release, err := d.clusters.Get(conn)
	if err != nil {
		return err
	}
	defer release()
	return do(ctx, &tick{Cluster: c, w: w, key: key, conn: conn})
}

// Lasting implements lcm.Infra.
func (d *Driver) Lasting(params sol.KeyValuePairs) sol.KeyValuePairs { return tacker.Lasting(params) }

// Templates implements lcm.Infra: a cluster has no templates.
func (d *Driver) Templates(lcm.Request) lcm.Templates { return nil }

// Granted implements lcm.Infra. Manifests decide on zones, images and sizes of pods, so a grant that decides on them
// would not be applied.
func (d *Driver) Granted(_ context.Context, w *lcm.Execution) error {
	g := w.Op.Grant
	if g == nil || len(g.New) == 0 {
		return nil // nothing is added, or there is no NFVO
	}
	for _, part := range []struct {
		what string
		has  bool
	}{
		{"zones", len(g.Zones) > 0},
		{"software images", len(g.Images) > 0},
		{"flavours", len(g.Flavours) > 0},
	} {
		if part.has {
			return lcm.Errorf(
				lcm.CodeUnprocessable, "the grant %s decides on %s, which are in the manifests", g.ID, part.what,
			).WithHint("let the NFVO grant VNFCs that are pods without them")
		}
	}
	return nil
}

// DeleteSnapshot implements lcm.Infra. There are no snapshots of pods: Validate refuses to take one.
func (d *Driver) DeleteSnapshot(context.Context, *lcm.Snapshot, *lcm.Instance) error { return nil }

// Options implements lcm.Infra. A HEAL that names no VNFC deletes and recreates the whole CNF, unless it says
// "all": false.
func (d *Driver) Options(r lcm.Request) (lcm.Options, error) { return tacker.ContainerOptions(r) }
