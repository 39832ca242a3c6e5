package k8scluster

import (
	"context"
	"fmt"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/kubespray"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Validate implements lcm.MgmtDriver like Driver.Validate.
func (d *Kubespray) Validate(_ context.Context, r lcm.Request) error {
	if r.Type == sol.LcmOperationChangeFlavour {
		return lcm.Unprocessable(lcm.InvalidParam{
			Pointer: "/newFlavourId",
			Detail: "a cluster keeps its flavour: another one would remove the machines of nodes. Scale it, or make " +
				"another instance of that flavour.",
		})
	}
	if r.Type == sol.LcmOperationRevertToSnapshot {
		return lcm.Unprocessable(lcm.InvalidParam{
			Pointer: "/vnfSnapshotInfoId",
			Detail: "a cluster that Kubespray has made cannot be reverted to a snapshot: its inventory on the " +
				"Ansible host would not fit. Heal the VNF instead.",
		})
	}
	if !needsParams[r.Type] && r.Type != sol.LcmOperationCreateSnapshot {
		return nil
	}
	k, bad := parseSpray(r.AdditionalParams, r.Flavour, loginKey(r))
	c := checker{Request: r, base: "/additionalParams/" + ParamKey}
	if r.Type == sol.LcmOperationCreateSnapshot {
		if len(bad) > 0 {
			return lcm.Unprocessable(bad...)
		}
		return consistentDisks(r, k.params)
	}
	if r.Type == sol.LcmOperationChangeVnfpkg { // the cluster is not upgraded, but must keep its machines
		c.upgrade(k.params, false)
		return lcm.Unprocessable(c.bad...)
	}
	c.bad = slices.Concat(bad, sprayMembers.check(r.Params))
	if err := c.spray(k); err != nil {
		return err
	}
	c.masters(k.params)
	if len(c.bad) > 0 {
		return lcm.Unprocessable(c.bad...)
	}
	return c.requireStarted(k.params)
}

// spray checks the parameters against the flavour, its templates and the package's files.
func (c *checker) spray(k sprayParams) error {
	if k.lbScript != "" {
		if _, err := readScript(c.Package, k.lbScript); err != nil {
			c.fail("external_lb_param/script_path", "The script_path in the additionalParams is invalid: %v.", err)
		}
	}
	if err := c.check(k.params); err != nil {
		return err
	}
	counts, err := c.counts()
	if err != nil {
		return err
	}
	if n := counts[k.master.vdu]; n > 0 && kubespray.Members(n) != n {
		c.fail("master_node", "flavour %s starts with %d masters: Kubespray makes each of them a member of etcd, "+
			"which needs an odd number.", c.Flavour.ID, n)
	}
	if list := c.Resources(); list != nil {
		names := map[string]bool{}
		for _, name := range list {
			names[name] = true
		}
		c.known(names, "external_lb_param/ssh_cp_name", k.balancer.sshCP)
	}
	return nil
}

// sprayPreviews makes a HookHandler.Preview, like previews.
func sprayPreviews(describe func(f sprayPreview) []string) func(lcm.Request) []string {
	return func(r lcm.Request) []string {
		k, bad := parseSpray(r.AdditionalParams, r.Flavour, loginKey(r))
		if len(bad) > 0 && needsParams[r.Type] {
			return nil
		}
		return describe(sprayPreview{preview: preview{Request: r, p: k.params}, k: k})
	}
}

// sprayPreview describes the effects of an operation on a cluster that Kubespray makes.
type sprayPreview struct {
	preview
	k sprayParams
}

// runs is about a playbook.
func (f sprayPreview) runs(playbook string) string {
	return fmt.Sprintf("%s of %s runs on the Ansible host %s", playbook, f.k.ansible.root, f.k.ansible.address)
}

func (f sprayPreview) instantiate() []string {
	c := checker{Request: f.Request}
	counts, err := c.counts()
	if err != nil {
		return nil
	}
	return []string{
		"the inventory " + f.k.ansible.inventory + " is written",
		fmt.Sprintf("%s, with %s and %s", f.runs("cluster.yml"), many(counts[f.p.master.vdu], "master"),
			many(counts[f.p.worker.vdu], "worker")),
		"the load balancer is installed by " + f.k.lbScript,
		"the cluster is registered as the VIM " + vimName(f.p, f.Instance.ID),
	}
}

func (f sprayPreview) leave() []string {
	if len(f.Scope.Remove) == 0 {
		return nil
	}
	return append(f.preview.leave(), f.runs("remove-node.yml"))
}

func (f sprayPreview) join() []string {
	n := f.Scope.Add[f.p.worker.vdu]
	if n == 0 {
		return nil
	}
	return []string{f.runs("scale.yml") + " for " + many(n, "new worker")}
}

func (f sprayPreview) healLeave() []string {
	out := f.preview.healLeave()
	if len(out) > 0 {
		out = append(out, f.runs("remove-node.yml"))
	}
	return out
}

func (f sprayPreview) healJoin() []string {
	if mastersLost(f.Instance, f.Scope, f.p.master.vdu) {
		return f.instantiate()
	}
	masters, workers := 0, 0
	for _, id := range f.Scope.VNFCs {
		switch f.role(id) {
		case roleMaster:
			masters++
		case roleWorker:
			workers++
		}
	}
	switch {
	case masters > 0:
		return []string{f.runs("cluster.yml") + " for " + many(masters+workers, "new machine")}
	case workers > 0:
		return []string{f.runs("scale.yml") + " for " + many(workers, "new machine")}
	}
	return nil
}

func (f sprayPreview) terminate() []string {
	out := f.unregister()
	if f.k.ansible.inventory != "" {
		out = append(out, "the inventory "+f.k.ansible.inventory+" is removed from the Ansible host "+
			f.k.ansible.address)
	}
	return out
}
