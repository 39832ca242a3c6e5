package helm

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/gybe-nfv/gybe/pkg/helm/chart"
	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/outbound"
)

// VimType is the type of VIM that the driver serves.
const VimType = "ETSINFV.HELM.V_3"

// Config tunes the driver; the zero value of a field means its default.
type Config struct {
	// ReadyTimeout is how long the pods of a release may take to become ready; default 10 minutes.
	ReadyTimeout time.Duration
	// HookTimeout bounds each hook of a chart; default 5 minutes.
	HookTimeout time.Duration
	// RequestTimeout bounds one call of the API server; default 30 seconds.
	RequestTimeout time.Duration
	// GracefulTimeout is the wait before a GRACEFUL termination or stop that names none; default 10 seconds.
	GracefulTimeout time.Duration
	// Outbound says which addresses the clients of clusters and chart servers may connect to; nil allows all.
	Outbound *outbound.Policy
	// Availability notes which clusters answer; may be nil.
	Availability *kubernetes.Availability
	// WrapTransport puts a layer around every call of a cluster, for tests that count calls or let a node die at one;
	// may be nil.
	WrapTransport func(http.RoundTripper) http.RoundTripper

	now func() time.Time // for tests; nil is the system's clock
}

// Driver implements lcm.Infra for Helm charts. It is safe for concurrent use.
type Driver struct {
	cfg      Config
	log      *slog.Logger
	servers  *chart.Servers
	clusters *kubernetes.Pool[*server]
	runs     runs
}

var _ lcm.Infra = (*Driver)(nil)

// New returns a driver. The caller must Close it.
func New(cfg Config, log *slog.Logger) *Driver {
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&cfg.ReadyTimeout, 10*time.Minute)
	def(&cfg.HookTimeout, 5*time.Minute)
	def(&cfg.RequestTimeout, 30*time.Second)
	def(&cfg.GracefulTimeout, 10*time.Second)
	if cfg.now == nil {
		cfg.now = time.Now
	}
	d := &Driver{cfg: cfg, log: log, servers: chart.NewServers(cfg.Outbound, nil)}
	d.clusters = kubernetes.NewPool(d.connect, cfg.now)
	return d
}

// Close ends what is under way and closes idle connections.
func (d *Driver) Close() {
	d.runs.close()
	d.clusters.Close()
	d.servers.Close()
}

// Templates implements lcm.Infra: charts are no templates of the domain.
func (*Driver) Templates(lcm.Request) lcm.Templates { return nil }

// DeleteSnapshot implements lcm.Infra. Validate refuses to create snapshots, so there is nothing to delete.
func (*Driver) DeleteSnapshot(context.Context, *lcm.Snapshot, *lcm.Instance) error { return nil }

func init() {
	lcm.RegisterVimType(VimType, kubernetes.VimType)
	lcm.RegisterKinds(map[string]lcm.Kind{
		"Pod": lcm.KindContainer, "PersistentVolumeClaim": lcm.KindStorage, typeRelease: lcm.KindOther,
	})
}

// typeRelease is the type of the inventory's entry of a release.
const typeRelease = "HelmRelease"
