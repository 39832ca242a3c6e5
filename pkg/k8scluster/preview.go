package k8scluster

import (
	"fmt"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// previews makes a HookHandler.Preview. A request whose parameters are not valid has no preview; the admission reports
// why.
func previews(describe func(f preview) []string) func(lcm.Request) []string {
	return func(r lcm.Request) []string {
		p, bad := parse(r.AdditionalParams, r.Flavour, loginKey(r))
		if len(bad) > 0 && needsParams[r.Type] {
			return nil
		}
		return describe(preview{Request: r, p: p})
	}
}

// preview describes the effects of an operation on a cluster.
type preview struct {
	lcm.Request
	p params
}

// version is the version that new nodes get, in words.
func (f preview) version() string {
	script, err := loadScript(f.Package, f.p.script)
	if v, ok := targetVersion(f.p.kubernetesVersion, script); err == nil && ok {
		return v.String()
	}
	return "of the script " + f.p.script
}

// instantiate is about the first cluster of an instance.
func (f preview) instantiate() []string { return f.install("Kubernetes") }

// leave is about the nodes that a scale in removes.
func (f preview) leave() []string {
	return f.nodes(
		f.Scope.Remove, "the node of %s is drained, for at most "+f.p.drainTimeout.String()+", and leaves the cluster",
	)
}

// healLeave is about the nodes that a heal recreates. A cluster that has lost its masters is not left but replaced.
func (f preview) healLeave() []string {
	if mastersLost(f.Instance, f.Scope, f.p.master.vdu) {
		return nil
	}
	return f.nodes(f.Scope.VNFCs, "the node of %s is drained, for at most "+f.p.drainTimeout.String()+
		", if it answers, and leaves the cluster")
}

// healJoin is about the machines that a heal has recreated.
func (f preview) healJoin() []string {
	if mastersLost(f.Instance, f.Scope, f.p.master.vdu) {
		return f.install("a new cluster of Kubernetes")
	}
	return f.nodes(f.Scope.VNFCs, "the new machine of %s joins the cluster with Kubernetes "+f.version())
}

// revert is about a cluster that goes back to a snapshot.
func (f preview) revert() []string {
	return []string{"the cluster has to answer and its nodes to become Ready with the disks of the snapshot, and is " +
		"registered again with the credentials of that time"}
}

// unregister is about the end of a cluster.
func (preview) unregister() []string { return []string{"the cluster is unregistered as a VIM"} }

// install is about a cluster from nothing.
func (f preview) install(what string) []string {
	c := checker{Request: f.Request}
	counts, err := c.counts()
	if err != nil {
		return nil
	}
	out := []string{fmt.Sprintf("%s %s is installed by %s on %s and %s", what, f.version(), f.p.script,
		many(counts[f.p.master.vdu], "master"), many(counts[f.p.worker.vdu], "worker"))}
	if n := counts[f.p.master.vdu]; n > 1 {
		out = append(out, "the masters share the address of "+f.p.clusterCP)
	}
	if s := f.p.storage; s != nil {
		out = append(out, fmt.Sprintf("%s of %s are exported by NFS", many(len(s.volumes), "volume"), s.vdu))
	}
	if f.p.helm != "" {
		out = append(out, "Helm is installed on the masters by "+f.p.helm)
	}
	return append(out, "the cluster is registered as the VIM "+vimName(f.p, f.Instance.ID))
}

// join is about machines that become nodes.
func (f preview) join() []string {
	n := f.Scope.Add[f.p.worker.vdu]
	switch n {
	case 0:
		return nil
	case 1:
		return []string{"Kubernetes " + f.version() + " is installed on 1 new worker, which joins the cluster"}
	}
	return []string{
		"Kubernetes " + f.version() + " is installed on " + many(n, "new worker") + ", which join the cluster",
	}
}

// nodes has a line for each of the VNFCs that is a node; format takes its id.
func (f preview) nodes(vnfcs []string, format string) []string {
	var out []string
	for _, id := range vnfcs {
		if f.role(id) != "" {
			out = append(out, fmt.Sprintf(format, id))
		}
	}
	return out
}

// role is what a VNFC is in the cluster; "" when it is not a node.
func (f preview) role(vnfc string) string {
	_, res, ok := f.Instance.VNFC(vnfc)
	switch {
	case ok && res.VduID == f.p.master.vdu:
		return "master"
	case ok && res.VduID == f.p.worker.vdu:
		return "worker"
	}
	return ""
}

// upgrade is about another version.
func (f preview) upgrade() []string {
	if f.Previous == nil || f.Type != sol.LcmOperationChangeVnfpkg {
		return nil
	}
	former, _ := remembered(f.Instance, f.Previous.Flavour)
	from := preview{Request: lcm.Request{Package: f.Previous.Package}, p: former}.version()
	workers := 0
	for _, v := range f.Instance.Instantiated.VnfcInfo {
		if f.role(v.ID) == "worker" {
			workers++
		}
	}
	change := fmt.Sprintf("Kubernetes goes from %s to %s, by %s", from, f.version(), f.p.script)
	if from == f.version() {
		change = fmt.Sprintf("Kubernetes stays at %s; the nodes are updated by %s", from, f.p.script)
	}
	return []string{
		change,
		"master by master, then " + many(
			f.p.batchOf(workers), "worker",
		) + " at a time; each node is drained first (timeout " + f.p.drainTimeout.String() + ")",
	}
}

// many is a number of things.
func many(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
