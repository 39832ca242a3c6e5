package kubeapi

import (
	"maps"
	"slices"
	"time"
)

// leaseNamespace is where kubelets renew their leases.
const leaseNamespace = "kube-node-lease"

// Silence says that the kubelet of a node has stopped, which the cluster notices later: SetNodeReady.
func (c *Cluster) Silence(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k, ok := c.kubelets[node]; ok {
		k.renewed = k.lease(c.now())
		k.silent = true
		c.kubelets[node] = k
	}
}

// lease is when a kubelet has renewed its lease last. One that runs has just done it: nothing asks for leases all the
// time, so they are not stored.
func (k kubelet) lease(now time.Time) time.Time {
	if k.up && !k.silent {
		return now
	}
	return k.renewed
}

// leases are the leases of the kubelets by node.
func (c *Cluster) leases() map[string]time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]time.Time{}
	for name, k := range c.kubelets {
		out[name] = k.lease(c.now())
	}
	return out
}

// nodeLeases are the objects of leases.
func (c *Cluster) nodeLeases() []Object {
	var out []Object
	all := c.leases()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, Object{
			"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
			"metadata": Object{"name": name, "namespace": leaseNamespace},
			"spec": Object{
				"holderIdentity": name, "leaseDurationSeconds": int64(40),
				"renewTime": all[name].UTC().Format("2006-01-02T15:04:05.000000Z"),
			},
		})
	}
	return out
}
