package k8scluster

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Machine is a machine of a cluster, for its operator.
type Machine struct {
	VNFC, VDU string
	Role      string // master, worker or storage
	Name      string // of the host, and of the node in the cluster
	IP        string // by which the nodes reach each other
	Host      string // compute host, "" where the VIM does not show it
	Zone      string
	Stopped   bool // as the last inventory found it
	// SSHAddress, SSHPort and User are how the driver logs in.
	SSHAddress string
	SSHPort    int
	User       string
}

// The roles of machines that callers distinguish: a storage server is not to be a node.
const (
	RoleMaster  = roleMaster
	RoleStorage = roleStorage
)

// Implements says whether this driver, or Kubespray, makes the clusters of a flavour.
func Implements(f *vnfd.Flavour) bool {
	name := f.LCM[string(lcm.HookInstantiateEnd)].Name
	return name == Name || name == KubesprayName
}

// Machines lists the machines of the instance's inventory, masters first. CodeConflict when inventory and parameters do
// not match, which is possible while an operation runs.
func (d *Driver) Machines(i *lcm.Instance, f *vnfd.Flavour) ([]Machine, error) {
	p, t, err := d.known(i, f)
	if err != nil {
		return nil, err
	}
	var out []Machine
	stopped := stoppedVNFCs(i.Instantiated.VnfcInfo)
	add := func(vdu string, nodes ...node) {
		for _, n := range nodes {
			out = append(out, Machine{
				VNFC: n.vnfc, VDU: vdu, Role: n.role, Name: n.name, IP: n.ip, Host: n.host, Zone: n.zone,
				Stopped:    slices.Contains(stopped, n.vnfc),
				SSHAddress: n.target.Host, SSHPort: n.target.Port, User: n.target.User,
			})
		}
	}
	add(p.master.vdu, t.masters...)
	add(p.worker.vdu, t.workers...)
	if p.storage != nil {
		add(p.storage.vdu, t.storage)
	}
	return out, nil
}

// known finds the machines by the parameters that the instance remembers.
func (d *Driver) known(i *lcm.Instance, f *vnfd.Flavour) (params, *topology, error) {
	p, t, err := d.rememberedMachines(i, f)
	if err != nil {
		e := lcm.Errorf(
			lcm.CodeConflict, "the machines of VNF instance %s are not known now: %s", i.ID, lcm.AsError(err).Detail,
		)
		return p, nil, e.WithHint("ask again when the running operation has ended")
	}
	return p, t, nil
}

// rememberedMachines finds the machines of a cluster, by the driver that has made it.
func (d *Driver) rememberedMachines(i *lcm.Instance, f *vnfd.Flavour) (params, *topology, error) {
	if f.LCM[string(lcm.HookInstantiateEnd)].Name == KubesprayName {
		additional, err := i.Params.Decode()
		if err != nil {
			return params{}, nil, err
		}
		k, bad := parseSpray(additional, f, i.SSHKey)
		if len(bad) > 0 {
			return k.params, nil, lcm.Unprocessable(bad...)
		}
		t, _, err := resolveSpray(i, k, d.o.SSHPort)
		return k.params, t, err
	}
	p, bad := remembered(i, f)
	if len(bad) > 0 {
		return p, nil, lcm.Unprocessable(bad...)
	}
	t, err := resolve(i, p, d.o.SSHPort)
	return p, t, err
}

// Nodes asks the instance's cluster for its nodes, with the account that it was registered with. Where the cluster's
// address cannot be reached from here, it asks through a master.
func (d *Driver) Nodes(
	ctx context.Context, i *lcm.Instance, f *vnfd.Flavour, access kubernetes.Access,
) ([]kubernetes.Node, error) {
	_, t, err := d.known(i, f)
	if err != nil {
		return nil, err
	}
	r := route{d: d, t: t}
	defer r.close()
	api, err := kubernetes.New(kubernetes.Through(access.Config(), t.internal, r.dial))
	if err != nil {
		return nil, err
	}
	defer api.Close()
	return api.Nodes(ctx)
}

// directTimeout bounds the attempt to reach the cluster at its own address.
const directTimeout = 3 * time.Second

// route makes connections to a cluster's API server.
type route struct {
	d *Driver
	t *topology

	mu       sync.Mutex // a connection may be made after the request that asked for it has ended
	releases []func()
	closed   bool
}

func (r *route) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	direct, cancel := context.WithTimeout(ctx, directTimeout)
	defer cancel()
	conn, first := r.d.o.Dial(direct, network, addr)
	if first == nil {
		return conn, nil
	}
	for _, m := range r.t.masters {
		if ctx.Err() != nil {
			break
		}
		c, release, err := r.d.o.Connect(ctx, m.target)
		if err != nil {
			continue // the error of the direct attempt is reported
		}
		r.keep(release)
		if conn, err := c.DialContext(ctx, network, net.JoinHostPort(m.ip, serverPort)); err == nil {
			return conn, nil
		}
	}
	return nil, first
}

// keep holds a master until close.
func (r *route) keep(release func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		release()
		return
	}
	r.releases = append(r.releases, release)
}

// close releases the masters.
func (r *route) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, release := range r.releases {
		release()
	}
}
