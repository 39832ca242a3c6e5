package k8scluster

import (
	"context"
	"net/netip"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/kubespray"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
)

// KubesprayName is the implementation name by which VNFDs ask for the driver Kubespray.
const KubesprayName = "mgmt-drivers-kubespray"

// The roles of machines that are not nodes.
const (
	roleAnsible  = "ansible"
	roleBalancer = "load balancer"
)

// Kubespray is the mgmt driver mgmt-drivers-kubespray: playbooks of Kubespray, which run detached on an Ansible host
// that exists already, make the machines of a VNF instance a Kubernetes cluster behind a load balancer of the VNF. What
// is done to the cluster afterwards is the Cluster's (ADR 053).
type Kubespray struct {
	o     Options
	hooks []lcm.HookHandler
}

var _ lcm.MgmtDriver = (*Kubespray)(nil)

// NewKubespray makes the driver. It does not use Options.Visit.
func NewKubespray(o Options) *Kubespray {
	d := &Kubespray{o: o.withDefaults()}
	run := []lcm.HookHandler{
		{Hook: lcm.HookInstantiateStart, Run: d.claim, Protects: true},
		{
			Hook: lcm.HookInstantiateEnd, Run: d.instantiateEnd, Preview: sprayPreviews(sprayPreview.instantiate),
			NewKey: sprayKey,
		},
		{Hook: lcm.HookInstantiateRollbackStart, Run: d.release, Protects: true},
		{Hook: lcm.HookInstantiateRollbackEnd},

		{Hook: lcm.HookHealStart, Run: d.healStart, Preview: sprayPreviews(sprayPreview.healLeave), Protects: true},
		{
			Hook: lcm.HookHealEnd, Run: d.healEnd, Preview: sprayPreviews(sprayPreview.healJoin), Protects: true,
			Installs: true,
		},

		// It does nothing at these hooks, but its Validate is asked.
		{Hook: lcm.HookCreateSnapshotStart, Protects: true},
		{Hook: lcm.HookRevertToSnapshotEnd, Protects: true},

		{Hook: lcm.HookTerminateStart},
		{
			Hook: lcm.HookTerminateEnd, Run: d.terminateEnd, Preview: sprayPreviews(sprayPreview.terminate),
			Protects: true,
		},
	}
	for _, h := range [][4]lcm.Hook{
		{
			lcm.HookScaleStart, lcm.HookScaleEnd, lcm.HookScaleRollbackStart, lcm.HookScaleRollbackEnd,
		}, {
			lcm.HookScaleToLevelStart, lcm.HookScaleToLevelEnd, lcm.HookScaleToLevelRollbackStart,
			lcm.HookScaleToLevelRollbackEnd,
		},
	} {
		run = append(run,
			lcm.HookHandler{
				Hook: h[0], Run: d.scaleStart, Preview: sprayPreviews(sprayPreview.leave), Protects: true,
			},
			lcm.HookHandler{Hook: h[1], Run: d.scaleEnd, Preview: sprayPreviews(sprayPreview.join), Protects: true},
			lcm.HookHandler{Hook: h[2], Run: d.scaleRollbackStart, Protects: true}, lcm.HookHandler{Hook: h[3]})
	}
	d.hooks = run
	return d
}

// Hooks implements lcm.MgmtDriver.
func (d *Kubespray) Hooks() []lcm.HookHandler { return d.hooks }

// spray is one tick of an operation on a cluster that Kubespray makes. Like operation, it is straight-line code over
// durable steps.
type spray struct {
	*session
	cluster *Cluster
	k       sprayParams
	host    node // the Ansible host
	lb      node
}

// begin makes the operation for the instance as it is now. The cluster is never reached through the nodes of the VNFCs
// in avoid.
func (d *Kubespray) begin(ctx context.Context, w *lcm.Execution, avoid []string) (*spray, error) {
	k, err := sprayParamsOf(w)
	if err != nil {
		return nil, err
	}
	t, lb, err := resolveSpray(w.Instance, k, d.o.SSHPort)
	if err != nil {
		return nil, err
	}
	return d.on(ctx, w, k, t, lb, avoid), nil
}

// on makes the operation on machines.
func (d *Kubespray) on(
	ctx context.Context, w *lcm.Execution, k sprayParams, t *topology, lb node, avoid []string,
) *spray {
	s := newSession(ctx, d.o, w, k.params, t, avoid)
	address, _ := netip.ParseAddr(k.ansible.address) // parseSpray has checked it
	return &spray{session: s, cluster: &Cluster{session: s}, k: k, lb: lb, host: node{
		role: roleAnsible, name: "ansible", ip: k.ansible.address,
		target: remote.Target{
			// The key of the host is kept for each of its addresses: a request may name another host.
			Instance: w.Instance.ID, VNFC: lcm.AnsibleMachine(address), Host: k.ansible.address, Port: d.o.SSHPort,
			User: k.ansible.username, Password: k.ansible.password, PrivateKey: []byte(k.ansible.privateKey),
		},
	}}
}

// sprayParamsOf reads the parameters of a running operation.
func sprayParamsOf(w *lcm.Execution) (sprayParams, error) {
	additional, err := w.Params()
	if err != nil {
		return sprayParams{}, err
	}
	k, bad := parseSpray(additional, w.Flavour, w.Instance.SSHKey)
	return k, lcm.Unprocessable(bad...)
}

// resolveSpray finds the machines of the instance: the nodes, and the load balancer, whose address is the cluster's.
func resolveSpray(i *lcm.Instance, k sprayParams, sshPort int) (*topology, node, error) {
	t, err := resolveNodes(i, k.params, sshPort)
	if err != nil {
		return nil, node{}, err
	}
	lb, err := inventory(i.Inventory).balancer(k.balancer, sshPort)
	if err != nil {
		return nil, node{}, err
	}
	lb.target.Instance = i.ID
	t.endpoint = endpoint{internal: lb.ip, external: lb.target.Host, port: kubespray.BalancerPort}
	return t, lb, nil
}

// balancer finds the load balancer: the machine that has the resource of its ssh_cp_name.
func (inv inventory) balancer(l login, sshPort int) (node, error) {
	at := slices.IndexFunc(inv, func(r lcm.Resource) bool { return r.Name == l.sshCP && r.VNFC != "" })
	if at < 0 {
		return node{}, lcm.Errorf(lcm.CodeUnprocessable,
			"the stack has no resource %s (ssh_cp_name of external_lb_param) that belongs to a VNFC", l.sshCP)
	}
	ssh := inv[at]
	n := node{vnfc: ssh.VNFC, role: roleBalancer, name: "loadbalancer", ip: fixed(&ssh)}
	for i := range inv {
		if n.ip == "" && inv[i].VNFC == ssh.VNFC && inv[i].Kind == lcm.KindPort {
			n.ip = fixed(&inv[i])
		}
	}
	addr := floating(&ssh)
	if addr == "" {
		addr = n.ip
	}
	if addr == "" || n.ip == "" {
		return node{}, lcm.Errorf(lcm.CodeUnprocessable,
			"VNFC %s, the load balancer, has no IPv4 address at %s", n.vnfc, l.sshCP)
	}
	n.target = remote.Target{
		VNFC: n.vnfc, Host: addr, Port: sshPort, User: l.username, Password: l.password,
		PrivateKey: []byte(l.privateKey),
	}
	return n, nil
}

// secrets lists the words that must not appear in logs.
func (op *spray) secrets() []string {
	var out []string
	for _, n := range append([]node{op.host, op.lb}, op.t.nodes()...) {
		out = append(out, op.secretsOf(n)...)
	}
	return out
}

// tidy removes the runs' files from all machines.
func (op *spray) tidy(ctx context.Context) {
	op.tidyOn(ctx, append(op.t.nodes(), op.host, op.lb))
}

// sprayKey creates the key pair of an instance; nil when every role has credentials in the request.
func sprayKey(r lcm.Request) (*lcm.SSHKey, error) {
	k, bad := parseSpray(r.AdditionalParams, r.Flavour, loginKey(r))
	if len(bad) > 0 || !k.keyed() && !k.balancer.keyed {
		return nil, lcm.Unprocessable(bad...)
	}
	return makeKey(r.Instance.ID)
}
