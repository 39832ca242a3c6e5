package kubeapi

import (
	"context"
	"net"
)

// TB is the part of testing.TB that StartTest needs, so that no program imports testing.
type TB interface {
	Helper()
	Context() context.Context
	Cleanup(cleanup func())
	Fatalf(format string, args ...any)
}

// StartTest serves the API of an empty cluster on a loopback address until the test ends. It returns the cluster and
// its URL.
func StartTest(tb TB) (c *Cluster, url string) {
	tb.Helper()
	c, err := NewCluster(Options{})
	if err != nil {
		tb.Fatalf("make a simulated cluster: %v", err)
	}
	tb.Cleanup(c.Close)
	l, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("listen for the simulated cluster: %v", err)
	}
	serving, err := c.IssueServing("127.0.0.1")
	if err != nil {
		tb.Fatalf("make the certificate of the simulated cluster: %v", err)
	}
	tb.Cleanup(c.Serve(serving, l).Close)
	return c, "https://" + l.Addr().String()
}
