package k8scluster

import (
	"context"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
)

// Name is the implementation name by which VNFDs ask for this driver.
const Name = "mgmt-drivers-kubernetes"

// Connection is what the driver does with a machine; *remote.Client implements it.
type Connection interface {
	StartOrAdopt(ctx context.Context, j remote.Job) (st remote.Status, adopted bool, err error)
	Status(ctx context.Context, runID string) (remote.Status, error)
	Follow(ctx context.Context, runID string, offset int64, line func(text string, next int64)) (remote.Status, error)
	CleanupAll(ctx context.Context, prefix string) error
	Run(ctx context.Context, command string, o remote.RunOptions) error
	ReadFile(ctx context.Context, name string, limit int64) ([]byte, error)
	Output(ctx context.Context, command string, stdin io.Reader, limit int) ([]byte, error)
	DialContext(ctx context.Context, network, addr string) (net.Conn, error)
}

// Options are what the driver needs. Zero durations and numbers mean the defaults.
type Options struct {
	// Connect gives a connection to a machine, which release gives back; Pooled makes it from a remote.Pool.
	Connect func(ctx context.Context, t remote.Target) (c Connection, release func(), err error)
	SSHPort int // 22
	// Parallel bounds the nodes that are prepared, or that join as workers, at the same time; 32.
	Parallel int
	// BootTimeout is how long a machine may be silent before its step fails; 10 min. AuthTimeout is how long it may refuse the
	// credentials: cloud-init sets them some time after sshd answers; 1 min.
	BootTimeout, AuthTimeout time.Duration
	// CommandTimeout bounds one short command on a node; 1 min. ReadyTimeout is how long nodes have to become Ready; 15 min.
	CommandTimeout, ReadyTimeout time.Duration
	// Dial makes TCP connections to API servers; net.Dialer by default.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	Log  *slog.Logger
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
type Driver struct {
	o Options
}

var _ lcm.MgmtDriver = (*Driver)(nil)

// New makes the driver.
func New(o Options) *Driver {
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&o.BootTimeout, 10*time.Minute)
	def(&o.AuthTimeout, time.Minute)
	def(&o.CommandTimeout, time.Minute)
	def(&o.ReadyTimeout, 15*time.Minute)
	if o.SSHPort == 0 {
		o.SSHPort = 22
	}
	if o.Parallel <= 0 {
		o.Parallel = 32
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{}).DialContext
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Driver{o: o}
}

// Run is a tick of a hook. A hook at which the cluster needs nothing is done at once.
func (d *Driver) Run(ctx context.Context, hook string, w *lcm.Work) error {
	switch hook {
	case "instantiate_end":
		return d.instantiateEnd(ctx, w)
	case "terminate_end":
		w.RemoveVim(VimID(w.Instance.ID))
		return nil
	case "scale_start", "scale_to_level_start":
		return d.scaleStart(ctx, w)
	case "scale_end", "scale_to_level_end":
		return d.scaleEnd(ctx, w)
	case "scale_rollback_start", "scale_to_level_rollback_start":
		return d.scaleRollbackStart(ctx, w)
	case "heal_start":
		return d.healStart(ctx, w)
	case "heal_end":
		return d.healEnd(ctx, w)
	case "change_current_package_start":
		return d.packageStart(ctx, w)
	case "change_current_package_end":
		return d.packageEnd(ctx, w)
	case "change_current_package_rollback_start":
		return d.packageRollbackStart(ctx, w)
	case "instantiate_start", "terminate_start", "instantiate_rollback_start", "instantiate_rollback_end",
		"scale_rollback_end", "scale_to_level_rollback_end", "change_current_package_rollback_end":
		return nil
	}
	return lcm.Errorf(lcm.CodeUnprocessable, "the mgmt driver %s does nothing at %s yet", Name, hook)
}

var _ lcm.Keeper = (*Driver)(nil)

// Keeps says at which hooks a cluster has to be looked after, whatever its VNFD says: packages that were made for older VNFMs know nothing of
// rollbacks and levels, and machines must not be taken from under nodes. Only a package that asks for it is upgraded.
func (*Driver) Keeps(hook string) bool {
	switch hook {
	case "scale_start", "scale_end", "scale_rollback_start", "scale_to_level_start", "scale_to_level_end", "scale_to_level_rollback_start",
		"heal_start", "heal_end", "terminate_end":
		return true
	}
	return false
}

// vimSpace makes the ids of the VIMs that instances become.
var vimSpace = uuid.MustParse("0b6c3f0e-7a3e-4b53-9d43-5b1a3f3a6f0d")

// VimID is the id of the VIM that the cluster of a VNF instance is registered as.
func VimID(instanceID string) string { return uuid.NewSHA1(vimSpace, []byte(instanceID)).String() }
