package openstack_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/infratest"
	"github.com/gybe-nfv/gybe/pkg/openstack"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
)

// contractCloud is a simulated cloud as the contract sees it, with another one that the tests of several connections
// use.
type contractCloud struct {
	*outsider
	refusal string // id of the fault
	second  func() *outsider
	used    atomic.Bool    // the second one
	seed    simcloud.State // what the second one has from the beginning
}

// nodeTransport passes a node's calls to the cloud.
type nodeTransport struct {
	node *infratest.Node
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t nodeTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	var res *http.Response
	changes := r.Method != http.MethodGet && !strings.HasSuffix(r.URL.Path, "/auth/tokens")
	err := t.node.Call(changes, func() (err error) {
		if changes { // what a node has sent reaches the cloud, although the node dies
			r = r.WithContext(context.WithoutCancel(r.Context()))
		}
		res, err = t.next.RoundTrip(r)
		return err
	})
	if err != nil && res != nil {
		_ = res.Body.Close()
		return nil, err
	}
	return res, err
}

func (c *contractCloud) Infra(node *infratest.Node) lcm.Infra {
	wrap := func(next http.RoundTripper) http.RoundTripper { return nodeTransport{node, next} }
	d := openstack.New(
		openstack.Config{
			WrapTransport: wrap, DoubtPause: 5 * time.Millisecond,
			AwayFirst: time.Millisecond, AwayLongest: 5 * time.Millisecond,
		}, slog.New(slog.DiscardHandler),
	)
	c.t.Cleanup(d.Close)
	return d
}

func (c *contractCloud) Connections() map[string]sol.VimConnectionInfo { return connectionTo(c.cloud) }

func (c *contractCloud) Second() sol.VimConnectionInfo {
	if !c.used.Load() {
		c.seed = c.second().cloud.State()
		c.used.Store(true)
	}
	return connectionTo(c.second().cloud)["vim1"]
}

// clouds are those that the test uses.
func (c *contractCloud) clouds() []*outsider {
	if c.used.Load() {
		return []*outsider{c.outsider, c.second()}
	}
	return []*outsider{c.outsider}
}

// Contents lists the objects of both clouds, without those that the second one has from the beginning.
func (c *contractCloud) Contents() []infratest.Content {
	out := []infratest.Content{}
	for n, cloud := range c.clouds() {
		for kind, list := range cloud.cloud.State() {
			for _, o := range list {
				if n == 0 || !slices.ContainsFunc(c.seed[kind], func(s simcloud.Object) bool { return s.ID == o.ID }) {
					out = append(out, infratest.Content{Kind: kind, ID: o.ID})
				}
			}
		}
	}
	return out
}

func (c *contractCloud) Busy() bool {
	for _, cloud := range c.clouds() {
		for _, s := range cloud.cloud.State()["stacks"] {
			if strings.HasSuffix(s.Status, "_IN_PROGRESS") {
				return true
			}
		}
	}
	return false
}

func (c *contractCloud) Lose(machine lcm.Resource) {
	at := c.outsider
	if machine.Vim != "" {
		at = c.second()
	}
	at.do(http.MethodDelete, "/compute/v2.1/servers/"+machine.ID, "", nil)
}

func (c *contractCloud) Leave(instanceID string) string {
	return c.named("/network/v2.0/security-groups", "security_group", "vnf-"+instanceID+"-forgotten", nil)
}

func (c *contractCloud) Refuse(text string) string {
	if text == "" {
		require.True(c.t, c.cloud.Faults().Remove(c.refusal))
		return ""
	}
	c.refusal = c.cloud.AddFault(simcloud.Fault{
		Kind: fault.FailResource, ResourceType: "OS::Nova::Server", ResourceName: "masterNode",
		Action: "create", Reason: text,
	})
	return "masterNode"
}

func (c *contractCloud) Slow(d time.Duration) { slowServers(c.cloud, d) }

// TestDriverFulfilsTheContract: the domain expects of every infra driver what infratest.Contract tests.
func TestDriverFulfilsTheContract(t *testing.T) {
	t.Parallel()
	pkg, err := samplePackage()
	require.NoError(t, err)
	var request sol.InstantiateVnfRequest
	require.NoError(t, json.Unmarshal(parameterFile(t, "simple"), &request))
	infratest.Contract(t, infratest.Harness{
		VNFD: pkg.model, Files: pkg.files, Request: request, Aspect: "workerNode_scale", SecondVDU: "workerNode",
		New: func(t *testing.T) infratest.VIM {
			t.Helper()
			start := func() *outsider { return newOutsider(t, simcloud.StartTest(t, simcloud.Options{})) }
			return &contractCloud{outsider: start(), second: sync.OnceValue(start)}
		},
	})
}
