package simcloud

import (
	"context"
	"net/http"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
)

// TB is the part of testing.TB that StartTest needs.
type TB interface {
	Helper()
	Context() context.Context
	Cleanup(f func())
	Fatalf(format string, args ...any)
}

// StartTest starts a cloud that ends with the test.
func StartTest(tb TB, opts Options) *Cloud {
	tb.Helper()
	c, err := Start(context.WithoutCancel(tb.Context()), opts)
	if err != nil {
		tb.Fatalf("start the simulated cloud: %v", err)
	}
	tb.Cleanup(c.Close)
	return c
}

// AuthOptions are the credentials of nfv_user in the project nfv.
func (c *Cloud) AuthOptions() gophercloud.AuthOptions {
	return gophercloud.AuthOptions{
		IdentityEndpoint: c.AuthURL(), Username: Username, Password: Password, DomainName: Domain, TenantName: Project,
		AllowReauth: true, Scope: &gophercloud.AuthScope{ProjectName: Project, DomainName: Domain},
	}
}

// Login makes a client with connections of its own. With a shared transport, CloseIdleConnections of another user can
// break a request whose answer has no body; httptest calls it for the default transport.
func Login(ctx context.Context, opts gophercloud.AuthOptions) (*gophercloud.ProviderClient, error) {
	p, err := openstack.NewClient(opts.IdentityEndpoint)
	if err != nil {
		return nil, err
	}
	p.HTTPClient = http.Client{Transport: &http.Transport{IdleConnTimeout: time.Minute}}
	return p, openstack.Authenticate(ctx, p, opts)
}
