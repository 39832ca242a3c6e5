package k8scluster

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Machine is a machine of a cluster as its operator finds it.
type Machine struct {
	VNFC, VDU string
	Role      string // master, worker or storage
	Name      string // of the host, and of the node in the cluster
	IP        string // by which the nodes reach each other
	Host      string // compute host, "" where the VIM does not tell
	Zone      string
	// SSHAddress, SSHPort and User are how the driver logs in.
	SSHAddress string
	SSHPort    int
	User       string
}

// RoleStorage is the role of a machine that is not to be a node.
const RoleStorage = roleStorage

// Implements says whether a flavour leaves the making of the cluster to this driver.
func Implements(f *vnfd.Flavour) bool { return f.LCM["instantiate_end"].Name == Name }

// Machines lists the machines that the instance's inventory has, masters first. CodeConflict when inventory and parameters do not fit together,
// as they may while an operation is under way.
func (d *Driver) Machines(i *lcm.Instance, f *vnfd.Flavour) ([]Machine, error) {
	p, c, err := d.known(i, f)
	if err != nil {
		return nil, err
	}
	var out []Machine
	add := func(vdu string, nodes ...node) {
		for _, n := range nodes {
			out = append(out, Machine{
				VNFC: n.vnfc, VDU: vdu, Role: n.role, Name: n.name, IP: n.ip, Host: n.host, Zone: n.zone,
				SSHAddress: n.target.Host, SSHPort: n.target.Port, User: n.target.User,
			})
		}
	}
	add(p.master.vdu, c.masters...)
	add(p.worker.vdu, c.workers...)
	if p.storage != nil {
		add(p.storage.vdu, c.storage)
	}
	return out, nil
}

// known reads the cluster from what the instance remembers.
func (d *Driver) known(i *lcm.Instance, f *vnfd.Flavour) (params, *cluster, error) {
	p, bad := parse(i.Params, f, i.SSHKey)
	err := lcm.Unprocessable(bad...)
	var c *cluster
	if err == nil {
		c, err = resolve(i, p, d.o.SSHPort)
	}
	if err != nil {
		e := lcm.Errorf(lcm.CodeConflict, "the machines of VNF instance %s cannot be told now: %s", i.ID, lcm.AsError(err).Detail)
		return p, nil, e.WithHint("look again when the operation under way has ended")
	}
	return p, c, nil
}

// Nodes asks the cluster that the instance is for its nodes, with the account that it was registered with. Where the cluster's address does not lead
// here, it asks through a master.
func (d *Driver) Nodes(ctx context.Context, i *lcm.Instance, f *vnfd.Flavour, access kubernetes.Access) ([]kubernetes.Node, error) {
	_, c, err := d.known(i, f)
	if err != nil {
		return nil, err
	}
	r := route{d: d, c: c}
	defer r.close()
	api, err := kubernetes.New(kubernetes.Through(access.Config(), c.ip, r.dial))
	if err != nil {
		return nil, err
	}
	defer api.Close()
	return api.Nodes(ctx)
}

// directTimeout bounds the try to reach the cluster at its own address.
const directTimeout = 3 * time.Second

// route makes connections to a cluster's API server.
type route struct {
	d *Driver
	c *cluster

	mu       sync.Mutex // connections are made beside the request that asked for them, and may be there after its end
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
	for _, m := range r.c.masters {
		if ctx.Err() != nil {
			break
		}
		c, release, err := r.d.o.Connect(ctx, m.target)
		if err != nil {
			continue // the first reason is the one that matters
		}
		r.keep(release)
		if conn, err := c.DialContext(ctx, network, net.JoinHostPort(m.ip, "6443")); err == nil {
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

// close lets go of the masters.
func (r *route) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, release := range r.releases {
		release()
	}
}
