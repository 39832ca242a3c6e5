package openstack

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/openstack/hot"
	"github.com/gybe-nfv/gybe/pkg/openstack/images"
	"github.com/gybe-nfv/gybe/pkg/openstack/server"
	"github.com/gybe-nfv/gybe/pkg/openstack/stack"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/outbound"
	"github.com/gybe-nfv/gybe/pkg/script/durable"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// VimType is the type of VIM that the driver serves.
const VimType = cloud.VimType

// Config tunes the driver; the zero value of a field means its default.
type Config struct {
	// StackTimeout is how long Heat may work on a stack, in whole minutes; default 30 minutes.
	StackTimeout time.Duration
	// RequestTimeout bounds one call with its answer, uploads excepted; default 60 seconds.
	RequestTimeout time.Duration
	// ServerTimeout is how long Nova may take to start, stop or delete a server; default 5 minutes.
	ServerTimeout time.Duration
	// GracefulTimeout is the wait before a GRACEFUL termination or stop that names none; default 10 seconds.
	GracefulTimeout time.Duration
	// UploadStall is how long an image upload may make no progress; default 5 minutes.
	UploadStall time.Duration
	// DoubtPause is how long after its first observation the failure of a stack counts when it is seen again; default
	// 300 ms.
	DoubtPause time.Duration
	// ZoneRetries is how often an operation that finds no room in a zone chooses other zones; 0 = as often as there are
	// zones, negative = never. Only zones that the grant allows are chosen.
	ZoneRetries int
	// NoRoom recognises in Heat's and Nova's words that a zone has no room; nil = what they say as they come.
	NoRoom *regexp.Regexp
	// NodeAlive tells whether another node of this VNFM runs, so that its uploads are left alone and a dead
	// node's are done again at once. nil: an upload of another node counts as dead when it has said nothing for a
	// minute.
	NodeAlive func(ctx context.Context, node string) bool
	// PublicURL is where clients reach our API, for the links in requests to coordination servers; without a slash at
	// the end.
	PublicURL string
	// CloudsFile is a clouds.yaml of the operator; VIM connections may name a cloud of it instead of credentials. ""
	// allows none.
	CloudsFile string
	// CancelPatience is how long a FORCEFUL cancel waits for a VIM that does not answer any request, counted from its
	// last answer; default 2 seconds.
	CancelPatience time.Duration
	// AwayFirst and AwayLongest are the times for which a VIM that does not answer is left alone; default 5 s, doubling
	// to 1 minute.
	AwayFirst, AwayLongest time.Duration
	// Answers is called with the lcm.VimKey of a VIM for which operations wait, when it answers again; may be nil.
	Answers func(key string)
	// Changed is called when the availability of a VIM has changed; may be nil. It MUST return at once.
	Changed func()
	// Scripts runs the user-data classes and coordination scripts of packages; nil = they are not run.
	Scripts ScriptRunner
	// Outbound says which addresses the clients of VIMs and coordination servers may connect to; nil allows all.
	Outbound *outbound.Policy
	// Observe receives every call, for metrics; may be nil.
	Observe cloud.Observe
	// WrapTransport puts a layer around every HTTP call, for tests that count calls or let a node die at one; may be
	// nil.
	WrapTransport func(http.RoundTripper) http.RoundTripper
}

// ScriptRunner runs scripts of packages.
type ScriptRunner = durable.Runner

// Driver implements lcm.Infra for OpenStack. It is safe for concurrent use.
type Driver struct {
	cfg       Config
	log       *slog.Logger
	templates hot.Cache
	vims      *cloud.Pool
	uploads   *images.Uploads
	doubts    stack.Doubts
}

var _ lcm.Infra = (*Driver)(nil)

// New returns a driver. The caller must Close it.
func New(cfg Config, log *slog.Logger) *Driver {
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&cfg.StackTimeout, 30*time.Minute)
	def(&cfg.RequestTimeout, time.Minute)
	def(&cfg.ServerTimeout, 5*time.Minute)
	def(&cfg.GracefulTimeout, 10*time.Second)
	def(&cfg.CancelPatience, 2*time.Second)
	def(&cfg.UploadStall, 5*time.Minute)
	def(&cfg.DoubtPause, 300*time.Millisecond)
	if cfg.NoRoom == nil {
		cfg.NoRoom = stack.NoRoom
	}
	d := &Driver{cfg: cfg, log: log, vims: cloud.NewPool(cfg.vims(), log), uploads: images.NewUploads(cfg.UploadStall)}
	return d
}

// Close stops uploads that are under way and closes idle connections.
func (d *Driver) Close() {
	d.uploads.Close()
	d.vims.Close()
}

// Check logs in to the VIM and finds the services that the driver needs. It returns the regions that have a Heat,
// sorted by name. It serves the registration of a VIM; the error is a CodeUnprocessable one with pointers below
// /vimConnectionInfo/<key> when the connection is incomplete, its credentials are wrong, or Keystone is not at its
// address.
func (d *Driver) Check(ctx context.Context, key string, v sol.VimConnectionInfo) (regions []string, err error) {
	c, err := d.vims.Connect(ctx, key, v)
	switch {
	case err == nil:
	case cloud.AuthorityUnknown(err):
		return nil, pointAt(key, "/interfaceInfo/trustedCertificates", err)
	case cloud.NoKeystone(err):
		return nil, pointAt(key, "/interfaceInfo/endpoint", err)
	default:
		return nil, unprocessable(key, err)
	}
	return c.Regions(), c.Check()
}

// Health lists what this node knows of the availability of VIMs.
func (d *Driver) Health() []cloud.Health { return d.vims.Health() }

// vims are the settings that the clients of VIMs have.
func (cfg Config) vims() cloud.Config {
	return cloud.Config{
		CloudsFile: cfg.CloudsFile, Timeout: cfg.RequestTimeout, Outbound: cfg.Outbound, Observe: cfg.Observe,
		WrapTransport: cfg.WrapTransport,
		AwayFirst:     cfg.AwayFirst, AwayLongest: cfg.AwayLongest, Answers: cfg.Answers, Changed: cfg.Changed,
	}
}

// tick is the work of one tick on one part of an instance, with the client of its VIM.
type tick struct {
	*Driver
	part  part
	cloud *cloud.Client
	w     *lcm.Execution // as far as it is about the part

	stack     *stack.Worker
	servers   *server.Worker
	assembled func() (*userdata.Stack, error) // the stack that the operation leads to
}

func (d *Driver) begin(ctx context.Context, s part) (*tick, error) {
	connect := d.vims.Connect
	if s.whole.Claim().Epoch > 0 { // a tick does not wait for the logins of others
		connect = d.vims.Enter
	}
	c, err := connect(ctx, s.key, s.whole.Instance.VimConnections[s.key])
	if err != nil {
		return nil, err
	}
	tuning := stack.Config{
		Timeout: d.cfg.StackTimeout, DoubtPause: d.cfg.DoubtPause, ZoneRetries: d.cfg.ZoneRetries, NoRoom: d.cfg.NoRoom,
	}
	return &tick{
		Driver: d, part: s, cloud: c, w: s.w,
		stack: &stack.Worker{
			Config: tuning, Cloud: c, Execution: s.w, Vim: s.key, Stack: s.stack, Others: s.other, Doubts: &d.doubts,
		},
		servers: &server.Worker{Cloud: c, Execution: s.w, Timeout: d.cfg.ServerTimeout},
	}, nil
}

// settle looks at the outcome of a tick: credentials that were refused are not kept for the next one.
func (t *tick) settle(err error) error {
	if e, ok := errors.AsType[*lcm.Error](err); ok && e.Class == lcm.Auth {
		t.vims.Drop(t.cloud)
	}
	return err
}
