package openstack

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	gopenstack "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Limits of the session cache.
const (
	maxSessions = 256
	sessionAge  = time.Hour // after which the catalogue is read again
)

// sessions keeps one authenticated session per VIM identity. It is safe for concurrent use.
type sessions struct {
	wrap    func(http.RoundTripper) http.RoundTripper // may be nil
	tell    Observe                                   // may be nil
	timeout time.Duration                             // of one call

	mu   sync.Mutex
	kept map[[sha256.Size]byte]*slot
}

// slot is the place of one session; its lock is held while somebody authenticates, so that others wait for the result.
type slot struct {
	lock chan struct{} // capacity 1
	used time.Time     // guarded by sessions.mu

	session *session // guarded by lock
}

// get returns the session for a connection and authenticates first when there is none or it is old.
func (ss *sessions) get(ctx context.Context, c connection) (*session, error) {
	sl := ss.slot(c.identity())
	select {
	case sl.lock <- struct{}{}:
		defer func() { <-sl.lock }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for a session: %w", ctx.Err())
	}
	if s := sl.session; s != nil && time.Since(s.began) < sessionAge {
		return s, nil
	}
	s, err := ss.authenticate(ctx, c)
	if err != nil {
		return nil, err
	}
	if sl.session != nil {
		sl.session.transport.CloseIdleConnections()
	}
	sl.session = s
	return s, nil
}

// drop forgets a session whose credentials were refused.
func (ss *sessions) drop(c connection) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	delete(ss.kept, c.identity())
}

// close ends idle connections; sessions that are in use go on.
func (ss *sessions) close() {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for _, sl := range ss.kept {
		sl.end()
	}
	ss.kept = nil
}

func (ss *sessions) slot(key [sha256.Size]byte) *slot {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.kept == nil {
		ss.kept = map[[sha256.Size]byte]*slot{}
	}
	sl, ok := ss.kept[key]
	if !ok {
		if len(ss.kept) >= maxSessions {
			ss.evict()
		}
		sl = &slot{lock: make(chan struct{}, 1)}
		ss.kept[key] = sl
	}
	sl.used = time.Now()
	return sl
}

// evict forgets the session that was used longest ago.
func (ss *sessions) evict() {
	var oldest [sha256.Size]byte
	var found *slot
	for k, sl := range ss.kept {
		if found == nil || sl.used.Before(found.used) {
			oldest, found = k, sl
		}
	}
	if found != nil {
		delete(ss.kept, oldest)
		found.end()
	}
}

// end closes idle connections unless somebody authenticates just now.
func (sl *slot) end() {
	select {
	case sl.lock <- struct{}{}:
		if sl.session != nil {
			sl.session.transport.CloseIdleConnections()
		}
		<-sl.lock
	default:
	}
}

// session is one identity's access to a cloud.
type session struct {
	conn      connection
	began     time.Time
	provider  *gophercloud.ProviderClient
	transport *http.Transport
	rt        http.RoundTripper // transport with bounds, for clients of its own timeouts
	project   string            // name, "" when Keystone did not say
	projectID string
	services  map[service]string
	versions  microversions
	doubts    doubts

	mu      sync.Mutex
	token   string    // the token that renewAt belongs to
	renewAt time.Time // zero: only when it is refused
}

// authenticate logs in with name and password: one call, no version discovery.
func (ss *sessions) authenticate(ctx context.Context, c connection) (*session, error) {
	cfg, err := c.tlsConfig()
	if err != nil {
		return nil, lcm.Errorf(lcm.CodeUnprocessable, "VIM %s: %w", c.base, err)
	}
	s := &session{conn: c, began: time.Now(), transport: newTransport(cfg)}
	s.rt = http.RoundTripper(s.transport)
	if ss.wrap != nil {
		s.rt = ss.wrap(s.rt)
	}
	s.rt = bounded{observe(s.rt, ss.tell)}
	s.provider, err = gopenstack.NewClient(c.base + "/")
	if err != nil {
		return nil, lcm.Errorf(lcm.CodeUnprocessable, "VIM %s: %w", c.base, err)
	}
	s.provider.IdentityBase = c.base + "/"
	s.provider.HTTPClient = http.Client{Transport: s.rt, Timeout: ss.timeout}
	s.provider.UserAgent.Prepend("gybe")
	opts := c.login()
	if err := gopenstack.AuthenticateV3(ctx, s.provider, opts, gophercloud.EndpointOpts{}); err != nil {
		return nil, fault(ctx, callInfo{what: "log in as " + c.user(), service: keystone, url: c.base + "/v3/auth/tokens"}, err)
	}
	if err := s.readToken(); err != nil {
		return nil, lcm.Errorf(lcm.CodeUpstream, "Keystone at %s answered with a token that cannot be read: %w", c.base, err)
	}
	return s, nil
}

// login is what Keystone is told.
func (c connection) login() *gophercloud.AuthOptions {
	opts := &gophercloud.AuthOptions{
		IdentityEndpoint: c.base + "/", Username: c.username, UserID: c.userID, Password: c.password, AllowReauth: true,
		DomainName: c.userDomain, DomainID: c.userDomainID, Scope: &gophercloud.AuthScope{ProjectID: c.projectID},
	}
	if c.userDomainID != "" {
		opts.DomainName = ""
	}
	if c.userID != "" {
		opts.Username, opts.DomainName, opts.DomainID = "", "", ""
	}
	if c.appSecret != "" {
		opts.ApplicationCredentialID, opts.ApplicationCredentialName, opts.ApplicationCredentialSecret = c.appID, c.appName, c.appSecret
		opts.Scope, opts.Password = nil, ""
		if c.appID != "" {
			opts.ApplicationCredentialName, opts.Username, opts.UserID, opts.DomainName, opts.DomainID = "", "", "", "", ""
		}
		return opts
	}
	if c.projectID == "" {
		opts.Scope.ProjectName, opts.Scope.DomainID = c.project, c.projectDomainID
		if c.projectDomainID == "" {
			opts.Scope.DomainName = c.projectDomain
		}
	}
	return opts
}

// user tells who logs in.
func (c connection) user() string {
	return cmp.Or(c.username, c.userID, "application credential "+c.appID)
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// readToken takes project, catalogue and expiry from the answer to the login.
func (s *session) readToken() error {
	res, ok := s.provider.GetAuthResult().(tokens.CreateResult)
	if !ok {
		return fmt.Errorf("unexpected result %T", s.provider.GetAuthResult())
	}
	catalog, err := res.ExtractServiceCatalog()
	if err != nil {
		return err
	}
	project, err := res.ExtractProject()
	if err != nil {
		return err
	}
	s.project, s.projectID = s.conn.project, s.conn.projectID
	if project != nil {
		s.project, s.projectID = project.Name, project.ID
	}
	s.services = locate(catalog, s.conn.region, s.projectID)
	s.noteExpiry()
	return nil
}

// noteExpiry plans the renewal of a new token at nine tenths of its life.
func (s *session) noteExpiry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	token := s.provider.Token()
	if token == s.token {
		return
	}
	s.token, s.renewAt = token, time.Time{}
	res, ok := s.provider.GetAuthResult().(tokens.CreateResult)
	if !ok {
		return
	}
	t, err := res.ExtractToken()
	if err != nil {
		return
	}
	if life := time.Until(t.ExpiresAt); life > 0 { // else our clocks differ, and a refusal will tell
		s.renewAt = time.Now().Add(life * 9 / 10)
	}
}

// renew gets a new token when the present one is about to expire. Several callers share one login.
func (s *session) renew(ctx context.Context) error {
	s.noteExpiry()
	s.mu.Lock()
	token, due := s.token, !s.renewAt.IsZero() && time.Now().After(s.renewAt)
	s.mu.Unlock()
	if !due {
		return nil
	}
	if err := s.provider.Reauthenticate(ctx, token); err != nil {
		return fault(ctx, callInfo{what: "renew the token of " + s.conn.user(), service: keystone, url: s.conn.base + "/v3/auth/tokens"}, err)
	}
	s.noteExpiry()
	return nil
}

// locate finds the public endpoints of the services that we use, in the region if one is given.
func locate(catalog *tokens.ServiceCatalog, region, projectID string) map[service]string {
	out := map[service]string{}
	for _, e := range catalog.Entries {
		svc, ok := serviceTypes[e.Type]
		if !ok || out[svc] != "" {
			continue
		}
		for _, ep := range e.Endpoints {
			if ep.Interface == "public" && (region == "" || ep.Region == region || ep.RegionID == region) {
				out[svc] = svc.base(strings.TrimRight(ep.URL, "/"), projectID)
				break
			}
		}
	}
	return out
}
