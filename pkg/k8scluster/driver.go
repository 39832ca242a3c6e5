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
	// Visit connects to a machine whose key is not pinned, and returns the key. The connection is not shared.
	Visit   func(ctx context.Context, t remote.Target) (c Connection, k remote.HostKey, end func(), err error)
	SSHPort int // 22
	// Parallel bounds the nodes that are prepared, or that join as workers, at the same time; 32.
	Parallel int
	// BootTimeout is how long a machine may be silent before its step fails; 10 min. AuthTimeout is how long it may
	// refuse the credentials: cloud-init sets them some time after sshd answers; 1 min.
	BootTimeout, AuthTimeout time.Duration
	// CommandTimeout bounds one short command on a node; 1 min. ReadyTimeout is how long nodes have to become Ready; 15
	// min.
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

// Visited is the usual Options.Visit.
func Visited(o remote.Options) func(context.Context, remote.Target) (Connection, remote.HostKey, func(), error) {
	return func(ctx context.Context, t remote.Target) (Connection, remote.HostKey, func(), error) {
		seen := &seenKey{}
		o.HostKeys = seen
		c, err := remote.Dial(ctx, t, o)
		if err != nil {
			return nil, remote.HostKey{}, nil, err
		}
		return c, seen.key, func() { _ = c.Close() }, nil
	}
}

// seenKey is the key of one machine, for as long as a visit lasts.
type seenKey struct{ key remote.HostKey }

// Lookup implements remote.HostKeyStore.
func (*seenKey) Lookup(context.Context, remote.Machine) (*remote.HostKey, error) {
	return nil, nil //nolint:nilnil // the contract
}

// Pin implements remote.HostKeyStore.
func (s *seenKey) Pin(_ context.Context, _ remote.Machine, k remote.HostKey) (remote.HostKey, error) {
	s.key = k
	return k, nil
}

// Driver implements lcm.MgmtDriver.
type Driver struct {
	o     Options
	hooks []lcm.HookHandler
}

var _ lcm.MgmtDriver = (*Driver)(nil)

// New makes the driver.
func New(o Options) *Driver {
	d := &Driver{o: o.withDefaults()}
	d.hooks = d.hookHandlers()
	return d
}

// withDefaults fills in what was left out.
func (o Options) withDefaults() Options {
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
	return o
}

// vimSpace makes the ids of the VIMs that instances become.
var vimSpace = uuid.MustParse("0b6c3f0e-7a3e-4b53-9d43-5b1a3f3a6f0d")

// VimID is the id of the VIM that the cluster of a VNF instance is registered as.
func VimID(instanceID string) string { return uuid.NewSHA1(vimSpace, []byte(instanceID)).String() }
