package k8scluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

const titleReady = "wait for nodes"

// Cluster is the work on a cluster that exists: its nodes, its etcd and its API, through a master that answers. It does
// not know which Installer has made the nodes.
type Cluster struct {
	*session
	// serverName is the name in the API server's certificate where that is not the endpoint's external address.
	serverName string
}

// withAPI calls fn with a client of the cluster.
func (c *Cluster) withAPI(ctx context.Context, fn func(*kubernetes.Client) error) error {
	api, closeAPI, err := c.api(ctx)
	if err != nil {
		return err
	}
	defer closeAPI()
	return fn(api)
}

// api makes a client with the administrator's credentials, which are read from a master and not kept. Where the
// cluster's address cannot be reached from here, the client goes through that master.
func (c *Cluster) api(ctx context.Context) (*kubernetes.Client, func(), error) {
	const doing = "read the cluster's credentials"
	m, err := c.master()
	if err != nil {
		return nil, nil, err
	}
	conn, release, err := c.o.Connect(ctx, m.target)
	if err != nil {
		return nil, nil, nodeError(m, doing, err)
	}
	raw, err := short(ctx, c.o, func(ctx context.Context) ([]byte, error) {
		return conn.Output(ctx, "sudo -n cat /etc/kubernetes/admin.conf", nil, 256<<10)
	})
	if err != nil {
		release()
		return nil, nil, nodeError(m, doing, err)
	}
	var client *kubernetes.Client
	cfg, err := kubernetes.AdminConfig(raw)
	if err == nil {
		client, err = kubernetes.New(c.route(cfg, conn, m))
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	return client, func() { client.Close(); release() }, nil
}

// route reaches the API server at the cluster's address, or, when that fails, through a master. The certificate is
// checked for the address that kubeadm has put into it.
func (c *Cluster) route(cfg *rest.Config, conn Connection, m node) *rest.Config {
	cfg.Host = c.t.url()
	inside := net.JoinHostPort(m.ip, serverPort)
	var tunnel atomic.Bool
	return kubernetes.Through(cfg, c.t.internal, func(ctx context.Context, network, addr string) (net.Conn, error) {
		if !tunnel.Load() {
			direct, cancel := context.WithTimeout(ctx, directTimeout)
			defer cancel()
			out, err := c.o.Dial(direct, network, addr)
			if err == nil || ctx.Err() != nil {
				return out, err
			}
			c.w.Log.InfoContext(ctx, "the cluster's address cannot be reached from here, going through a master",
				"address", addr, "error", err)
			tunnel.Store(true)
		}
		return conn.DialContext(ctx, network, inside)
	})
}

// waitReadyAndLabel waits until nodes are Ready and labels them.
func (c *Cluster) waitReadyAndLabel(ctx context.Context, api *kubernetes.Client, nodes []node) error {
	if len(nodes) == 0 { // only machines that are not nodes are new
		return nil
	}
	if err := c.w.Step(ctx, titleReady, "", func(ctx context.Context, s *lcm.Step) error {
		return c.waitReady(ctx, s, api, nodes)
	}); err != nil {
		return err
	}
	return c.label(ctx, api, nodes)
}

// waitReady waits until nodes are Ready.
func (c *Cluster) waitReady(ctx context.Context, s *lcm.Step, api *kubernetes.Client, want []node) error {
	w := waiting{first: 100 * time.Millisecond, longest: time.Second}
	return w.until(ctx, s, func(ctx context.Context) (string, error) {
		nodes, err := api.Nodes(ctx)
		if err != nil {
			return "", err
		}
		reasons := notReady(want, nodes)
		switch {
		case len(reasons) > 0:
			return fmt.Sprintf("%d of %d nodes are Ready; %s", len(want)-len(reasons), len(want),
				strings.Join(reasons, "; ")), nil
		case len(want) == 1:
			s.Detail(want[0].name + " is Ready")
		default:
			s.Detail(fmt.Sprintf("%d nodes are Ready", len(want)))
		}
		return "", nil
	}, func(why string) error {
		now := c.w.Clock.Now()
		if now.Sub(s.Started()) <= c.o.ReadyTimeout || now.Sub(c.w.Op.StateEntered) <= c.o.ReadyTimeout {
			return nil
		}
		return &lcm.Error{
			Code: lcm.CodeTimeout, Title: "Cluster not ready",
			Detail: fmt.Sprintf("after %s only %s", c.o.ReadyTimeout, why),
			Hint:   "see kubectl describe node and the kubelet's log on the node",
		}
	})
}

// notReady lists the nodes that are not in the cluster or not Ready, with the reason.
func notReady(want []node, nodes []kubernetes.Node) []string {
	var out []string
	for _, w := range want {
		i := slices.IndexFunc(nodes, func(n kubernetes.Node) bool { return n.Name == w.name })
		switch {
		case i < 0:
			out = append(out, w.name+": not in the cluster yet")
		case !nodes[i].Ready:
			out = append(out, w.name+": "+nodes[i].Reason)
		}
	}
	return out
}

// failureTimeout is how long to wait for the cluster to notice that a node has failed. It takes 50 s by default.
const failureTimeout = 2 * time.Minute

// unreachable says why a node is left out: it cannot be reached, and the cluster does not see it as Ready either. ""
// means that the node works, or that this cannot be found out.
func (c *Cluster) unreachable(ctx context.Context, n node) string {
	pause, began := backoff{first: 250 * time.Millisecond, longest: 2 * time.Second}, c.w.Clock.Now()
	for {
		err := c.reach(ctx, n)
		if e, ok := errors.AsType[*lcm.Error](nodeError(n, "", err)); err == nil || !ok || e.Class != lcm.Transient {
			return ""
		}
		why := ""
		asked := c.withAPI(ctx, func(api *kubernetes.Client) error {
			all, err := api.Nodes(ctx)
			if err == nil {
				why = strings.Join(notReady([]node{n}, all), "")
			}
			return err
		})
		if asked != nil || why != "" {
			return why
		}
		if c.w.Clock.Now().Sub(began) > failureTimeout || pause.wait(ctx) != nil {
			return ""
		}
	}
}
