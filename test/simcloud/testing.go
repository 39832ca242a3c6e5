package simcloud

import (
	"context"

	"github.com/gophercloud/gophercloud/v2"
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
