package app

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"

	"golang.org/x/crypto/ssh"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/k8scluster"
	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/store"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// clusters answers questions about the instances that the cluster driver has made. It implements gybe.Clusters.
type clusters struct {
	driver   *k8scluster.Driver
	packages lcm.Packages
	store    *store.Store
}

// flavour is what the instance was made from; CodeNotFound when that is no cluster of the driver's.
func (c clusters) flavour(ctx context.Context, i *lcm.Instance) (*vnfd.Flavour, error) {
	model, err := c.packages.ModelOf(ctx, i.VnfPkgID)
	if err != nil {
		return nil, err
	}
	f := model.Flavour(i.Instantiated.FlavourID)
	if f == nil || !k8scluster.Implements(f) {
		return nil, lcm.Errorf(lcm.CodeNotFound, "VNF instance %s is not a Kubernetes cluster that was made here", i.ID)
	}
	return f, nil
}

// Cluster implements gybe.Clusters.
func (c clusters) Cluster(ctx context.Context, i *lcm.Instance) (*gybeapi.Cluster, error) {
	f, err := c.flavour(ctx, i)
	if err != nil {
		return nil, err
	}
	machines, err := c.driver.Machines(i, f)
	if err != nil {
		return nil, err
	}
	out := &gybeapi.Cluster{}
	conn, ok := i.OwnVim(kubernetes.VimType)
	if !ok {
		out.Problem = "the cluster is not complete yet"
		out.Nodes = merged(machines, nil, false)
		return out, nil
	}
	access, err := kubernetes.FromVim(conn)
	if err != nil {
		return nil, err
	}
	out.Endpoint = access.Endpoint
	if mastersStopped(machines) {
		out.Problem = "the VNF is STOPPED; start it to see its nodes"
		out.Nodes = merged(machines, nil, false)
		return out, nil
	}
	nodes, err := c.driver.Nodes(ctx, i, f, access)
	if err != nil {
		out.Problem = lcm.AsError(err).Detail
	}
	out.Nodes = merged(machines, nodes, err == nil)
	return out, nil
}

// mastersStopped says that no master of a cluster is started, so that the cluster cannot answer.
func mastersStopped(machines []k8scluster.Machine) bool {
	return !slices.ContainsFunc(machines, func(m k8scluster.Machine) bool {
		return m.Role == k8scluster.RoleMaster && !m.Stopped
	})
}

// merged puts what the cluster says beside the machines; told is false when it did not answer.
func merged(machines []k8scluster.Machine, nodes []kubernetes.Node, told bool) []gybeapi.ClusterNode {
	var out []gybeapi.ClusterNode
	for _, m := range machines {
		n := gybeapi.ClusterNode{
			VnfcInstanceID: m.VNFC, VduID: m.VDU, Name: m.Name, Role: m.Role, Address: m.IP, ComputeHost: m.Host,
			Zone: m.Zone, State: gybeapi.NodeUnknown,
		}
		at := slices.IndexFunc(nodes, func(k kubernetes.Node) bool { return k.Name == m.Name })
		switch {
		case m.Role == k8scluster.RoleStorage:
			n.State = gybeapi.NodeNone
		case at >= 0:
			n.State, n.Reason, n.Version = stateOf(nodes[at])
			nodes = slices.Delete(nodes, at, at+1)
		case told:
			n.State = gybeapi.NodeAbsent
		}
		if n.State != gybeapi.NodeReady && m.Stopped {
			n.Reason = "the machine is STOPPED"
		}
		out = append(out, n)
	}
	for _, k := range nodes {
		n := gybeapi.ClusterNode{
			Name: k.Name, Role: "worker", Address: k.InternalIP, Zone: k.Labels["topology.kubernetes.io/zone"],
		}
		if k.ControlPlane {
			n.Role = "master"
		}
		n.State, n.Reason, n.Version = stateOf(k)
		out = append(out, n)
	}
	return out
}

func stateOf(k kubernetes.Node) (state, reason, version string) {
	if k.Ready {
		return gybeapi.NodeReady, "", k.Version
	}
	return gybeapi.NodeNotReady, k.Reason, k.Version
}

// SSHHosts implements gybe.Clusters.
func (c clusters) SSHHosts(ctx context.Context, i *lcm.Instance) ([]gybeapi.SSHHost, error) {
	f, err := c.flavour(ctx, i)
	if err != nil {
		return nil, err
	}
	machines, err := c.driver.Machines(i, f)
	if err != nil {
		return nil, err
	}
	var vnfcs []string
	for _, m := range machines {
		vnfcs = append(vnfcs, m.VNFC)
	}
	keys, err := c.store.HostKeys(ctx, i.ID, vnfcs)
	if err != nil {
		return nil, err
	}
	var out []gybeapi.SSHHost
	for _, m := range machines {
		h := gybeapi.SSHHost{
			VnfcInstanceID: m.VNFC, VduID: m.VDU, Name: m.Name, Role: m.Role, Address: m.SSHAddress,
			Port: cmp.Or(m.SSHPort, 22), User: m.User,
		}
		if k, ok := keys[m.VNFC]; ok {
			if h.HostKey, err = shown(k); err != nil {
				return nil, err
			}
		}
		out = append(out, h)
	}
	return out, nil
}

func shown(k store.HostKey) (*gybeapi.HostKey, error) {
	pub, err := ssh.ParsePublicKey(k.Key)
	if err != nil {
		return nil, err
	}
	return &gybeapi.HostKey{
		Type: k.Type, Key: base64.StdEncoding.EncodeToString(k.Key), Fingerprint: ssh.FingerprintSHA256(pub),
	}, nil
}

// ForgetHostKey implements gybe.Clusters.
func (c clusters) ForgetHostKey(ctx context.Context, i *lcm.Instance, vnfc string) error {
	return c.store.ForgetHostKeys(ctx, i.ID, vnfc)
}
