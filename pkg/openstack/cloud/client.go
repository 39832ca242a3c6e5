package cloud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	gopenstack "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/redirect"
)

// Client is one identity's access to a cloud, with the requests to each service. It is safe for concurrent use.
type Client struct {
	*session
	heatAPI
	novaAPI
	neutronAPI
	cinderAPI
	glanceAPI
}

func newClient(s *session) *Client {
	return &Client{s, heatAPI{s}, novaAPI{s}, neutronAPI{s}, cinderAPI{s}, glanceAPI{s}}
}

// session is the login of a client, and what its requests share.
type session struct {
	conn      connection
	health    *health
	began     time.Time
	provider  *gophercloud.ProviderClient
	transport *http.Transport
	rt        http.RoundTripper // transport with bounds, for clients of its own timeouts
	project   string            // name, "" when Keystone did not say
	projectID string
	services  map[Service]string
	regions   []string
	versions  microversions

	pool    *Pool
	slot    *slot
	relogin func(context.Context) error // replaces the token

	mu      sync.Mutex
	token   string    // the token that renewAt belongs to
	renewAt time.Time // zero: only when it is refused
	renewal *login    // under way; nil when none is
}

// authenticate logs in with name and password: one call, no version discovery.
func (p *Pool) authenticate(ctx context.Context, sl *slot) (*Client, error) {
	conn := sl.conn
	cfg, err := conn.tlsConfig()
	if err != nil {
		return nil, lcm.Errorf(lcm.CodeUnprocessable, "VIM %s: %w", conn.base, err)
	}
	c := &session{
		conn: conn, health: sl.health, began: time.Now(), transport: newTransport(cfg, p.cfg.Outbound),
		pool: p, slot: sl,
	}
	c.rt = http.RoundTripper(c.transport)
	if p.cfg.WrapTransport != nil {
		c.rt = p.cfg.WrapTransport(c.rt)
	}
	c.rt = watched{
		next: bounded{
			next: observe(c.rt, p.cfg.Observe, ""), budget: &sessionBudget{node: p.answers},
			stall:   patience(stall, p.cfg.Timeout),
			arrived: func(r *http.Request) { sl.health.heard(serviceOf(r), time.Now()) },
		},
		health: sl.health, within: p.cfg.Timeout, wake: func() { p.cfg.Answers(sl.health.key) },
	}
	c.provider, err = gopenstack.NewClient(conn.base + "/")
	if err != nil {
		return nil, lcm.Errorf(lcm.CodeUnprocessable, "VIM %s: %w", conn.base, err)
	}
	c.provider.IdentityBase = conn.base + "/"
	c.provider.HTTPClient = http.Client{Transport: c.rt, Timeout: p.cfg.Timeout, CheckRedirect: redirect.SameServer}
	c.provider.UserAgent.Prepend("gybe")
	opts := conn.login()
	if err := gopenstack.AuthenticateV3(ctx, c.provider, opts, gophercloud.EndpointOpts{}); err != nil {
		return nil, fault(
			ctx, callInfo{what: "log in as " + conn.user(), service: keystone, url: conn.base + "/v3/auth/tokens"}, err,
		)
	}
	if err := c.readToken(); err != nil {
		e := lcm.Errorf(
			lcm.CodeUpstream, "Keystone at %s answered a login without a token of the Identity API version 3",
			conn.base,
		)
		e.Cause = err // it may quote the answer
		return nil, e
	}
	c.relogin, c.provider.ReauthFunc = c.provider.ReauthFunc, c.awaitToken
	return newClient(c), nil
}

// login returns the options for Keystone.
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
		opts.ApplicationCredentialID, opts.ApplicationCredentialName = c.appID, c.appName
		opts.ApplicationCredentialSecret = c.appSecret
		opts.Scope, opts.Password = nil, ""
		if c.appID != "" {
			opts.ApplicationCredentialName, opts.Username, opts.UserID = "", "", ""
			opts.DomainName, opts.DomainID = "", ""
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

// user names the user that logs in.
func (c connection) user() string {
	return cmp.Or(c.username, c.userID, "application credential "+c.appID)
}

// URL is the address of the VIM, for messages.
func (c *session) URL() string { return c.conn.base }

// Project is the name of the project that the client works in.
func (c *session) Project() string { return cmp.Or(c.conn.project, c.project) }

// ProjectID is the id of the project that the client works in.
func (c *session) ProjectID() string { return c.projectID }

// Has says whether the VIM has a service.
func (c *session) Has(svc Service) bool { return c.services[svc] != "" }

// Check returns an error when the VIM lacks a service that Gybe needs.
func (c *session) Check() error {
	for _, svc := range []Service{Heat, Nova, Neutron, Glance} {
		if _, err := c.base(svc); err != nil {
			return err
		}
	}
	return nil
}

// readToken takes project, catalogue and expiry from the answer to the login.
func (c *session) readToken() error {
	res, ok := c.provider.GetAuthResult().(tokens.CreateResult)
	if !ok {
		return fmt.Errorf("unexpected result %T", c.provider.GetAuthResult())
	}
	if c.provider.Token() == "" {
		return errors.New("the answer has no X-Subject-Token")
	}
	catalog, err := res.ExtractServiceCatalog()
	if err != nil {
		return err
	}
	project, err := res.ExtractProject()
	if err != nil {
		return err
	}
	c.project, c.projectID = c.conn.project, c.conn.projectID
	if project != nil {
		c.project, c.projectID = project.Name, project.ID
	}
	c.services, c.regions = locate(catalog, c.conn.region, c.projectID), regionsOf(catalog)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noteExpiry()
	return nil
}

// Regions are the regions of the VIM that have a Heat, by name.
func (c *session) Regions() []string { return c.regions }

// regionsOf lists the regions in which the catalogue has a public endpoint of Heat.
func regionsOf(catalog *tokens.ServiceCatalog) (names []string) {
	for _, e := range catalog.Entries {
		if serviceTypes[e.Type] != Heat {
			continue
		}
		for _, ep := range e.Endpoints {
			if name := cmp.Or(ep.Region, ep.RegionID); ep.Interface == "public" && name != "" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// locate finds the public endpoints of the services that we use, in the region if one is given.
func locate(catalog *tokens.ServiceCatalog, region, projectID string) map[Service]string {
	out := map[Service]string{}
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
