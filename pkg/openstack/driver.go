package openstack

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/hot"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Config tunes the driver; the zero value of a field means its default.
type Config struct {
	// StackTimeout is how long Heat may work on a stack, in whole minutes; default 60 minutes.
	StackTimeout time.Duration
	// RequestTimeout bounds one call with its answer, uploads excepted; default 60 seconds.
	RequestTimeout time.Duration
	// ServerTimeout is how long Nova may take to start, stop or delete a server; default 5 minutes.
	ServerTimeout time.Duration
	// GracefulTimeout is the wait before a GRACEFUL termination or stop that names none; default 10 seconds.
	GracefulTimeout time.Duration
	// UploadStall is how long an image upload may make no progress; default 5 minutes.
	UploadStall time.Duration
	// ZoneRetries is how often an operation that finds no room in a zone chooses other zones; 0 = as often as there are zones,
	// negative = never. Only zones that the grant allows are chosen.
	ZoneRetries int
	// NoRoom recognises in Heat's and Nova's words that a zone has no room; nil = what they say as they come.
	NoRoom *regexp.Regexp
	// NodeAlive tells whether another node of this VNFM runs, so that its uploads are left alone and a dead
	// node's are done again at once. nil: an upload of another node counts as dead when it has said nothing for a minute.
	NodeAlive func(ctx context.Context, node string) bool
	// PublicURL is where clients reach our API, for the links in requests to coordination servers; without a slash at the end.
	PublicURL string
	// CloudsFile is a clouds.yaml of the operator; VIM connections may name a cloud of it instead of credentials. "" allows none.
	CloudsFile string
	// Scripts runs the coordination scripts of packages; nil = they are not run.
	Scripts ScriptRunner
	// Observe is told of every call, for metrics; may be nil.
	Observe Observe
	// WrapTransport puts a layer around every HTTP call, for tests that count calls or let a node die at one; may be nil.
	WrapTransport func(http.RoundTripper) http.RoundTripper
}

// Driver implements lcm.Infra for OpenStack. It is safe for concurrent use.
type Driver struct {
	cfg       Config
	log       *slog.Logger
	templates hot.Cache
	sessions  sessions
	uploads   uploads
}

var _ lcm.Infra = (*Driver)(nil)

// New returns a driver. The caller must Close it.
func New(cfg Config, log *slog.Logger) *Driver {
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&cfg.StackTimeout, time.Hour)
	def(&cfg.RequestTimeout, time.Minute)
	def(&cfg.ServerTimeout, 5*time.Minute)
	def(&cfg.GracefulTimeout, 10*time.Second)
	def(&cfg.UploadStall, 5*time.Minute)
	if cfg.NoRoom == nil {
		cfg.NoRoom = noRoom
	}
	d := &Driver{cfg: cfg, log: log, sessions: sessions{wrap: cfg.WrapTransport, tell: cfg.Observe, timeout: cfg.RequestTimeout}}
	d.uploads.stall = cfg.UploadStall
	return d
}

// Close stops uploads that are under way and closes idle connections.
func (d *Driver) Close() {
	d.uploads.close()
	d.sessions.close()
}

// Check logs in to the VIM and finds the services that the driver needs. It serves the registration of a VIM; the error
// is a CodeUnprocessable one with pointers below /vimConnectionInfo/<key> when the connection is incomplete.
func (d *Driver) Check(ctx context.Context, key string, v sol.VimConnectionInfo) error {
	s, err := d.connect(ctx, key, v)
	if err != nil {
		return err
	}
	for _, svc := range []service{heat, nova, neutron, glance} {
		if _, err := s.base(svc); err != nil {
			return err
		}
	}
	return nil
}

// connect returns the session for a connection.
func (d *Driver) connect(ctx context.Context, key string, v sol.VimConnectionInfo) (*session, error) {
	c, bad := d.connection(key, v)
	if err := lcm.Unprocessable(bad...); err != nil {
		return nil, err
	}
	return d.sessions.get(ctx, c)
}

// job is one tick's work on an instance, with the session to its VIM.
type job struct {
	*Driver
	*session
	w   *lcm.Work
	vim string // key of the connection in vimConnectionInfo
}

func (d *Driver) begin(ctx context.Context, w *lcm.Work) (*job, error) {
	key, v, ok := lcm.PrimaryVim(w.Instance.VimConnections)
	if !ok {
		return nil, lcm.Errorf(lcm.CodeUnprocessable, "the instance has no VIM connection")
	}
	s, err := d.connect(ctx, key, v)
	if err != nil {
		return nil, err
	}
	return &job{Driver: d, session: s, w: w, vim: key}, nil
}

// settle looks at the outcome of a tick: credentials that were refused are not kept for the next one.
func (j *job) settle(err error) error {
	if e, ok := errors.AsType[*lcm.Error](err); ok && e.Class == lcm.Auth {
		j.sessions.drop(j.conn)
	}
	return err
}

// stackName is how an instance's stack is called and found.
func (j *job) stackName() string { return "vnf-" + j.w.Instance.ID }
