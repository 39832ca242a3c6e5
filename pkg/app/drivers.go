package app

import (
	"context"
	"maps"
	"regexp"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/ansible"
	"github.com/gybe-nfv/gybe/pkg/cnf"
	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/helm"
	"github.com/gybe-nfv/gybe/pkg/k8scluster"
	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/mgmt"
	"github.com/gybe-nfv/gybe/pkg/mgmt/packaged"
	"github.com/gybe-nfv/gybe/pkg/nodeport"
	"github.com/gybe-nfv/gybe/pkg/openstack"
	"github.com/gybe-nfv/gybe/pkg/outbound"
	"github.com/gybe-nfv/gybe/pkg/remote"
	"github.com/gybe-nfv/gybe/pkg/script/durable"
	"github.com/gybe-nfv/gybe/pkg/store"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// drivers are what reaches out of the node.
type drivers struct {
	infras    map[string]lcm.Infra // by vimType
	mgmt      lcm.MgmtDrivers
	openstack *openstack.Driver
	helm      *helm.Driver
	cnf       *cnf.Driver
	clusters  *kubernetes.Availability // of the API servers that helm and cnf ask
	cluster   *k8scluster.Driver
	machines  *remote.Pool
}

var _ lcm.Infras = (*drivers)(nil)

func newDrivers(ctx context.Context, a *App) *drivers {
	d := &drivers{infras: maps.Clone(a.opts.Infras)}
	if d.infras == nil {
		d.infras = map[string]lcm.Infra{}
	}
	policy := outboundPolicy(&a.cfg)
	dial := policy.Dialer(0).DialContext // callers have timeouts of their own
	d.openstack = openstack.New(cloudConfig(a, policy), a.log)
	d.infras[openstack.VimType] = d.openstack
	d.clusters = kubernetes.NewAvailability(ctx, a.reportVims)
	d.helm = helm.New(helm.Config{
		RequestTimeout: a.cfg.OpenStack.RequestTimeout, GracefulTimeout: a.cfg.OpenStack.GracefulTimeout,
		Outbound: policy, Availability: d.clusters,
	}, a.log)
	d.infras[helm.VimType] = d.helm
	d.cnf = cnf.New(cnf.Config{
		GracefulTimeout: a.cfg.OpenStack.GracefulTimeout, Outbound: policy, Availability: d.clusters,
	}, a.log)
	d.infras[cnf.VimType] = d.cnf
	var keys remote.HostKeyStore = pinned{a.store}
	if a.cfg.SSH.HostKeyPolicy == config.HostKeyInsecure {
		keys = anyKey{}
	}
	ssh := remote.Options{HostKeys: keys, ConnectTimeout: a.cfg.SSH.ConnectTimeout, DialContext: dial}
	d.machines = remote.NewPool(ssh, 0)
	clusters := k8scluster.Options{
		Connect: k8scluster.Pooled(d.machines), Visit: k8scluster.Visited(ssh), SSHPort: a.cfg.SSH.Port,
		CommandTimeout: a.cfg.SSH.CommandTimeout, Dial: dial, Log: a.log,
	}
	d.cluster = k8scluster.New(clusters)
	ports := nodeport.New(nodeport.Options{
		Connect: nodeport.Pooled(d.machines), SSHPort: a.cfg.SSH.Port, CommandTimeout: a.cfg.SSH.CommandTimeout,
		Client: func(access kubernetes.Access) (*kubernetes.Client, error) {
			return kubernetes.New(access.Outbound(policy))
		},
	})
	scripts := durable.Host{Process: uuid.NewString(), NodeAlive: alive(a.store)}
	if a.scripts != nil {
		scripts.Scripts = a.scripts
	}
	playbooks := ansible.Options{
		Connect: ansible.Pooled(d.machines), HostKeys: keys, SSHPort: a.cfg.SSH.Port, Host: scripts,
		CommandTimeout: a.cfg.SSH.CommandTimeout,
	}
	if a.scripts != nil && a.cfg.Ansible.Playbook != "" {
		playbooks.CanPlay = a.scripts.CanPlay
	}
	d.mgmt = &packaged.Drivers{
		BuiltIn: mgmt.Registry{
			k8scluster.Name: d.cluster, k8scluster.KubesprayName: k8scluster.NewKubespray(clusters),
			nodeport.Name: ports,
			ansible.Name:  ansible.New(playbooks),
		}, Host: scripts, PublicURL: a.publicURL,
	}
	return d
}

// mgmtDrivers finds the mgmt drivers of a node. The node creates them after its packages.
type mgmtDrivers struct{ *App }

// Driver implements lcm.MgmtDrivers.
func (a mgmtDrivers) Driver(impl vnfd.Implementation) (lcm.MgmtDriver, error) {
	return a.drivers.mgmt.Driver(impl)
}

// outboundPolicy makes the policy of addresses of a valid configuration.
func outboundPolicy(cfg *config.Config) *outbound.Policy {
	p := &outbound.Policy{Loopback: cfg.OutboundLoopback()}
	p.Allow, _ = config.ParseNetworks(cfg.Outbound.Allow)
	p.Deny, _ = config.ParseNetworks(cfg.Outbound.Deny)
	return p
}

// cloudConfig makes the OpenStack driver's settings of the node's.
func cloudConfig(a *App, policy *outbound.Policy) openstack.Config {
	set := a.cfg.OpenStack
	c := openstack.Config{
		StackTimeout: set.StackTimeout, RequestTimeout: set.RequestTimeout, ServerTimeout: set.ServerTimeout,
		GracefulTimeout: set.GracefulTimeout, ZoneRetries: set.ZoneRetries, CloudsFile: set.CloudsFile,
		PublicURL: a.publicURL, NodeAlive: alive(a.store),
		Outbound:       policy,
		CancelPatience: set.CancelPatience, AwayFirst: set.AwayFirst, AwayLongest: set.AwayLongest,
		Observe: a.metrics.VimRequest, Answers: a.wakeOperations, Changed: a.reportVims,
	}
	if a.scripts != nil {
		c.Scripts = a.scripts
	}
	if set.NoRoom != "" {
		c.NoRoom = regexp.MustCompile(set.NoRoom) // the configuration is valid
	}
	return c
}

// Infra implements lcm.Infras.
func (d *drivers) Infra(vimType string) (lcm.Infra, bool) {
	i, ok := d.infras[vimType]
	return i, ok
}

func (d *drivers) close() {
	d.openstack.Close()
	d.helm.Close()
	d.cnf.Close()
	d.clusters.Close()
	d.machines.Close()
}

// alive reports whether a node of this name runs; it is true if that is unknown.
func alive(s *store.Store) func(ctx context.Context, node string) bool {
	return func(ctx context.Context, node string) bool {
		list, err := s.Nodes(ctx)
		if err != nil {
			return true
		}
		for _, n := range list {
			if n.Name == node && n.Ended == nil {
				return true
			}
		}
		return false
	}
}

// pinned keeps host keys in the database.
type pinned struct{ store *store.Store }

// Lookup implements remote.HostKeyStore.
func (p pinned) Lookup(ctx context.Context, m remote.Machine) (*remote.HostKey, error) {
	k, err := p.store.LookupHostKey(ctx, m.Instance, m.VNFC)
	if err != nil || k == nil {
		return nil, err
	}
	return &remote.HostKey{Type: k.Type, Key: k.Key}, nil
}

// Pin implements remote.HostKeyStore.
func (p pinned) Pin(ctx context.Context, m remote.Machine, k remote.HostKey) (remote.HostKey, error) {
	kept, err := p.store.PinHostKey(
		ctx, m.Instance, m.VNFC, store.HostKey{Type: k.Type, Key: k.Key}, "first use",
	)
	return remote.HostKey{Type: kept.Type, Key: kept.Key}, err
}

// anyKey accepts every host key, for laboratories.
type anyKey struct{}

// Lookup implements remote.HostKeyStore.
func (anyKey) Lookup(context.Context, remote.Machine) (*remote.HostKey, error) {
	return nil, nil //nolint:nilnil // the contract: none is pinned
}

// Pin implements remote.HostKeyStore.
func (anyKey) Pin(_ context.Context, _ remote.Machine, k remote.HostKey) (remote.HostKey, error) {
	return k, nil
}
