package k8scluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

var _ lcm.ClusterAdopter = (*Driver)(nil)

// AdoptCluster implements lcm.ClusterAdopter. It logs in to every machine, and asks the cluster for its nodes with the
// credentials of the other VNFM. Where none of them is accepted, it reads the administrator's from a master.
func (d *Driver) AdoptCluster(
	ctx context.Context, i *lcm.Instance, f *vnfd.Flavour, known []sol.VimConnectionInfo,
) (*lcm.AdoptedCluster, error) {
	p, bad := remembered(i, f)
	if len(bad) > 0 {
		return nil, lcm.Unprocessable(bad...)
	}
	t, err := resolve(i, p, d.o.SSHPort)
	if err != nil {
		return nil, err
	}
	v := &visit{
		o: d.o, t: t, open: map[string]Connection{},
		out: &lcm.AdoptedCluster{Name: vimName(p, i.ID), Endpoint: t.url(), HostKeys: map[string]lcm.HostKey{}},
	}
	defer v.end()
	if err := v.machines(ctx); err != nil {
		return nil, err
	}
	c := &Cluster{session: &session{o: d.o, p: p, t: t}}
	access, nodes, err := v.access(ctx, known)
	if err != nil {
		v.warn(
			"no access to the cluster was found, so it gets no kubeconfig and no VIM here: %s", lcm.AsError(err).Detail,
		)
		return v.out, nil
	}
	v.compare(nodes)
	if t.external != t.internal {
		access.ServerName = t.internal
	}
	vim, key := c.vim(i, access)
	v.out.Key, v.out.Vim, v.out.Nodes = key, &vim, len(nodes)
	return v.out, nil
}

// visit is a look at the machines of a cluster.
type visit struct {
	o   Options
	t   *topology
	out *lcm.AdoptedCluster

	mu   sync.Mutex
	open map[string]Connection // by VNFC
	ends []func()
}

func (v *visit) end() {
	for _, end := range v.ends {
		end()
	}
}

func (v *visit) warn(format string, args ...any) {
	v.out.Warnings = append(v.out.Warnings, fmt.Sprintf(format, args...))
}

// machines logs in to all machines. A wrong login is an error. A machine that does not answer is a warning, because a
// heal can bring it back.
func (v *visit) machines(ctx context.Context) error {
	all := v.t.nodes()
	if v.t.storage.vnfc != "" {
		all = append(all, v.t.storage)
	}
	failures := make([]error, len(all))
	at := make([]int, len(all))
	for n := range at {
		at[n] = n
	}
	err := lcm.Each(ctx, v.o.Parallel, at, func(ctx context.Context, n int) error {
		failures[n] = v.machine(ctx, all[n])
		return context.Cause(ctx)
	})
	if err != nil {
		return err
	}
	var bad []lcm.InvalidParam
	for n, failure := range failures {
		if failure == nil {
			continue
		}
		what := nodeError(all[n], "log in to node", failure)
		if e, ok := errors.AsType[*remote.Error](failure); ok && e.Kind == remote.KindAuth {
			member := all[n].role + "_node"
			if all[n].role == roleStorage {
				member = "storage_server"
			}
			bad = append(bad, lcm.InvalidParam{
				Pointer: "/additionalParams/" + ParamKey + "/" + member, Detail: lcm.AsError(what).Detail,
			})
			continue
		}
		v.warn("%s; heal its VNFC if it does not come back", lcm.AsError(what).Detail)
	}
	if len(bad) == 0 {
		return nil
	}
	return lcm.AsError(lcm.Unprocessable(bad...)).WithHint(
		"give the logins of the nodes in additionalParams: gybe adopt has --params FILE for them")
}

func (v *visit) machine(ctx context.Context, n node) error {
	ctx, cancel := context.WithTimeout(ctx, masterTimeout)
	defer cancel()
	c, key, end, err := v.o.Visit(ctx, n.target)
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.open[n.vnfc], v.ends = c, append(v.ends, end)
	v.out.HostKeys[n.vnfc] = lcm.HostKey{Type: key.Type, Key: key.Key}
	return nil
}

// access finds credentials that the cluster accepts, and lists its nodes with them.
func (v *visit) access(
	ctx context.Context, known []sol.VimConnectionInfo,
) (kubernetes.Access, []kubernetes.Node, error) {
	var first error
	for _, conn := range known {
		access, err := kubernetes.FromVim(conn)
		if err == nil && len(access.CA) == 0 {
			err = lcm.Errorf(lcm.CodeConflict, "the connection to %s has no certificate of the CA", access.Endpoint)
		}
		if err == nil {
			access.Endpoint = v.t.url()
			var nodes []kubernetes.Node
			if nodes, err = v.nodes(ctx, access.Config()); err == nil {
				return access, nodes, nil
			}
		}
		if first == nil {
			first = err
		}
	}
	for _, m := range v.t.masters {
		c := v.open[m.vnfc]
		if c == nil {
			continue
		}
		raw, err := c.Output(ctx, "sudo -n cat /etc/kubernetes/admin.conf", nil, 256<<10)
		if err != nil {
			first = nodeError(m, "read the cluster's credentials", err)
			continue
		}
		cfg, err := kubernetes.AdminConfig(raw)
		if err != nil {
			return kubernetes.Access{}, nil, err
		}
		cfg.Host = v.t.url()
		nodes, err := v.nodes(ctx, cfg)
		return kubernetes.Access{
			Endpoint: cfg.Host, CA: cfg.CAData, Token: cfg.BearerToken, Certificate: cfg.CertData, Key: cfg.KeyData,
		}, nodes, err
	}
	if first == nil {
		first = lcm.Errorf(lcm.CodeConflict, "the other VNFM shows no credentials, and no master can be logged in to")
	}
	return kubernetes.Access{}, nil, first
}

// nodes lists the nodes of the cluster, through a master where its address cannot be reached from here.
func (v *visit) nodes(ctx context.Context, cfg *rest.Config) ([]kubernetes.Node, error) {
	api, err := kubernetes.New(kubernetes.Through(cfg, v.t.internal, v.dial))
	if err != nil {
		return nil, err
	}
	defer api.Close()
	return api.Nodes(ctx)
}

func (v *visit) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	direct, cancel := context.WithTimeout(ctx, directTimeout)
	defer cancel()
	conn, first := v.o.Dial(direct, network, addr)
	if first == nil {
		return conn, nil
	}
	for _, m := range v.t.masters {
		c := v.open[m.vnfc]
		if c == nil {
			continue
		}
		if conn, err := c.DialContext(ctx, network, net.JoinHostPort(m.ip, serverPort)); err == nil {
			return conn, nil
		}
	}
	return nil, first
}

// compare warns of machines that are no nodes of the cluster.
func (v *visit) compare(nodes []kubernetes.Node) {
	for _, n := range v.t.nodes() {
		if !slices.ContainsFunc(nodes, func(k kubernetes.Node) bool { return k.Name == n.name }) {
			v.warn("the cluster has no node %s, which is VNFC %s; heal the VNFC", n.name, n.vnfc)
		}
	}
}
