package k8scluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// finish waits for the nodes, labels them, and makes the cluster known.
func (in *installer) finish(ctx context.Context) error {
	api, closeAPI, err := in.api(ctx)
	if err != nil {
		return err
	}
	defer closeAPI()
	if err := in.w.Step(ctx, titleAccount, "", func(ctx context.Context, s *lcm.Step) error {
		s.Detail("service account " + kubernetes.ServiceAccount + " at " + in.c.endpoint())
		return api.EnsureAccount(ctx)
	}); err != nil {
		return err
	}
	if err := in.equip(ctx, in.c.nodes()); err != nil {
		return err
	}
	if err := in.welcome(ctx, api, in.c.nodes()); err != nil {
		return err
	}
	if err := in.register(ctx, api); err != nil {
		return err
	}
	if err := in.announce(ctx, api); err != nil {
		return err
	}
	in.tidy(ctx)
	return nil
}

// welcome waits until nodes are Ready and labels them.
func (in *installer) welcome(ctx context.Context, api *kubernetes.Client, nodes []node) error {
	if len(nodes) == 0 { // no machine is new that is a node of the cluster
		return nil
	}
	if err := in.w.Step(ctx, titleReady, "", func(ctx context.Context, s *lcm.Step) error { return in.waitReady(ctx, s, api, nodes) }); err != nil {
		return err
	}
	return in.label(ctx, api, nodes)
}

// announce makes the cluster known by the account that was made for that.
func (in *installer) announce(ctx context.Context, api *kubernetes.Client) error {
	token, ca, err := api.AccountToken(ctx)
	if err != nil {
		return err
	}
	a := kubernetes.Access{Endpoint: in.c.endpoint(), CA: ca, Token: token}
	if in.foreign && in.c.external != in.c.ip {
		a.ServerName = in.c.ip // older scripts have no other address put into the certificate
	}
	in.publish(a)
	return nil
}

// vimName is the name of the VIM that the cluster of an instance is registered as.
func vimName(p params, instance string) string { return cmp.Or(p.vimName, "kubernetes_vim_"+instance) }

// publish makes the cluster a VIM of its own and a connection of the instance. Both are committed with the end of the phase, so
// it is done again by every tick that comes here.
func (in *installer) publish(a kubernetes.Access) {
	i := in.w.Instance
	conn := a.Vim()
	conn.VimID = VimID(i.ID)
	conn.Extra = sol.KeyValuePairs{lcm.ExtraOwner: i.ID}
	in.helmInfo(&conn)
	now := in.w.Clock.Now()
	in.w.RegisterVim(lcm.Vim{
		ID: conn.VimID, Name: vimName(in.p, i.ID), Description: "Kubernetes cluster of VNF instance " + i.ID, Owner: i.ID, Connection: conn, Created: now, Updated: now,
	})
	conns := maps.Clone(i.VimConnections)
	if conns == nil {
		conns = map[string]sol.VimConnectionInfo{}
	}
	conns[connectionKey(vimName(in.p, i.ID), conns)] = conn
	i.VimConnections = conns
}

// connectionKey is the key of the cluster in vimConnectionInfo: its name, as far as the standard's keys allow, and never one that
// the request has given to another VIM.
func connectionKey(name string, conns map[string]sol.VimConnectionInfo) string {
	key := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_:. /", r) {
			return r
		}
		return '_'
	}, name)
	for {
		other, taken := conns[key]
		if _, own := other.Extra[lcm.ExtraOwner]; !taken || own {
			return key
		}
		key += "_"
	}
}

// api makes a client of the cluster with the administrator's credentials, which are read from a master and not kept. Where the cluster's
// address does not lead to the VNFM, it goes through that master.
func (in *installer) api(ctx context.Context) (*kubernetes.Client, func(), error) {
	const doing = "read the cluster's credentials"
	m, err := in.lead()
	if err != nil {
		return nil, nil, err
	}
	c, release, err := in.d.o.Connect(ctx, m.target)
	if err != nil {
		return nil, nil, nodeError(m, doing, err)
	}
	raw, err := short(ctx, in.d, func(ctx context.Context) ([]byte, error) {
		return c.Output(ctx, "sudo -n cat /etc/kubernetes/admin.conf", nil, 256<<10)
	})
	if err != nil {
		release()
		return nil, nil, nodeError(m, doing, err)
	}
	var client *kubernetes.Client
	cfg, err := kubernetes.AdminConfig(raw)
	if err == nil {
		client, err = kubernetes.New(in.way(cfg, c, m))
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	return client, func() { client.Close(); release() }, nil
}

// way reaches the API server at the cluster's address, or, where that does not lead to the VNFM, through a master. The
// certificate is checked for the address that kubeadm has put into it.
func (in *installer) way(cfg *rest.Config, c Connection, m node) *rest.Config {
	cfg.Host = in.c.endpoint()
	inside := net.JoinHostPort(m.ip, "6443")
	var tunnel atomic.Bool
	return kubernetes.Through(cfg, in.c.ip, func(ctx context.Context, network, addr string) (net.Conn, error) {
		if !tunnel.Load() {
			direct, cancel := context.WithTimeout(ctx, 3*time.Second)
			defer cancel()
			conn, err := in.d.o.Dial(direct, network, addr)
			if err == nil || ctx.Err() != nil {
				return conn, err
			}
			in.w.Log.InfoContext(ctx, "the cluster's address cannot be reached from here, going through a master", "address", addr, "error", err)
			tunnel.Store(true)
		}
		return c.DialContext(ctx, network, inside)
	})
}

// waitReady waits until nodes are Ready.
func (in *installer) waitReady(ctx context.Context, s *lcm.Step, api *kubernetes.Client, want []node) error {
	pause := backoff{first: 100 * time.Millisecond, longest: time.Second}
	said := ""
	for {
		nodes, err := api.Nodes(ctx)
		if err != nil {
			return err
		}
		missing := missing(want, nodes)
		if len(missing) == 0 {
			if len(want) == 1 {
				s.Detail(want[0].name + " is Ready")
				return nil
			}
			s.Detail(fmt.Sprintf("%d nodes are Ready", len(want)))
			return nil
		}
		why := fmt.Sprintf("%d of %d nodes are Ready; %s", len(want)-len(missing), len(want), strings.Join(missing, "; "))
		if why != said {
			said = why
			if err := s.Waits(ctx, why); err != nil {
				return err
			}
		}
		now := in.w.Clock.Now()
		if now.Sub(s.Started()) > in.d.o.ReadyTimeout && now.Sub(in.w.Op.StateEntered) > in.d.o.ReadyTimeout {
			return &lcm.Error{
				Code: lcm.CodeTimeout, Title: "Cluster not ready", Detail: fmt.Sprintf("after %s only %s", in.d.o.ReadyTimeout, why),
				Hint: "kubectl describe node and the kubelet's log on the node tell more",
			}
		}
		if err := pause.wait(ctx); err != nil {
			return lcm.Wait(0, why)
		}
	}
}

// missing lists the nodes that are not there or not Ready, with the reason.
func missing(wanted []node, nodes []kubernetes.Node) []string {
	var out []string
	for _, want := range wanted {
		i := slices.IndexFunc(nodes, func(n kubernetes.Node) bool { return n.Name == want.name })
		switch {
		case i < 0:
			out = append(out, want.name+": not in the cluster yet")
		case !nodes[i].Ready:
			out = append(out, want.name+": "+nodes[i].Reason)
		}
	}
	return out
}

// tidy removes the runs' files from the nodes. It is a courtesy: what is left goes with the next reboot.
func (in *installer) tidy(ctx context.Context) {
	_ = lcm.Each(ctx, in.d.o.Parallel, in.c.nodes(), func(ctx context.Context, n node) error {
		c, release, err := in.d.o.Connect(ctx, n.target)
		if err == nil {
			defer release()
			_, err = short(ctx, in.d, func(ctx context.Context) (struct{}, error) { return struct{}{}, c.CleanupAll(ctx, in.prefix()) })
		}
		if err != nil {
			in.w.Log.WarnContext(ctx, "files of the installation stay on a node", "node", n.name, "error", err)
		}
		return nil
	})
}

var _ Connection = (*remote.Client)(nil)
