package k8scluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// needsParams are the operations that work on nodes. The others take no parameters: forgetting the cluster needs none.
var needsParams = map[sol.LcmOperationType]bool{
	sol.LcmOperationInstantiate: true, sol.LcmOperationScale: true, sol.LcmOperationScaleToLevel: true,
	sol.LcmOperationHeal:         true,
	sol.LcmOperationChangeVnfpkg: true,
}

// Validate checks the parameters of an operation against the flavour, its templates and the package's files, and
// reports everything that is wrong at once. A valid operation on a stopped cluster is a CodeConflict.
func (d *Driver) Validate(_ context.Context, r lcm.Request) error {
	if r.Type == sol.LcmOperationChangeFlavour {
		return lcm.Unprocessable(lcm.InvalidParam{
			Pointer: "/newFlavourId",
			Detail: "a cluster keeps its flavour: another one would remove the machines of nodes. Scale it, or make " +
				"another instance of that flavour.",
		})
	}
	if r.Type == sol.LcmOperationCreateSnapshot {
		return requireConsistentDisks(r)
	}
	if r.Type == sol.LcmOperationRevertToSnapshot {
		return d.requireSameCluster(r)
	}
	if !needsParams[r.Type] {
		return nil
	}
	p, bad := parse(r.AdditionalParams, r.Flavour, loginKey(r))
	if r.Type == sol.LcmOperationChangeVnfpkg && r.Flavour.LCM[string(lcm.HookChangeVnfpkgEnd)].Name != Name {
		c := checker{Request: r} // the cluster is not upgraded, but must keep its machines
		c.upgrade(p, false)
		return lcm.Unprocessable(c.bad...)
	}
	c := checker{Request: r, base: "/additionalParams/" + ParamKey, bad: append(bad, misspelled(r.Params)...)}
	if err := c.check(p); err != nil {
		return err
	}
	c.masters(p)
	c.upgrade(p, true)
	if len(c.bad) > 0 {
		return lcm.Unprocessable(c.bad...)
	}
	return c.requireStarted(p)
}

// checker checks parsed parameters against the package.
type checker struct {
	lcm.Request
	base string
	bad  []lcm.InvalidParam
}

func (c *checker) fail(member, format string, args ...any) {
	c.bad = append(c.bad, lcm.InvalidParam{Pointer: c.base + "/" + member, Detail: fmt.Sprintf(format, args...)})
}

func (c *checker) check(p params) error {
	if p.script != "" {
		if _, err := loadScript(c.Package, p.script); err != nil {
			c.fail("script_path", "The script_path in the additionalParams is invalid: %v.", err)
		}
	}
	counts, err := c.counts()
	if err != nil {
		return err
	}
	var names map[string]bool
	if list := c.Resources(); list != nil {
		names = map[string]bool{}
		for _, name := range list {
			names[name] = true
		}
	}
	for _, node := range []struct {
		name string
		l    login
	}{{"master_node", p.master}, {"worker_node", p.worker}} {
		l := node.l
		if l.vdu != "" && c.Flavour.VDU(l.vdu) == nil {
			c.fail(node.name+"/vdu_id", "flavour %s has no VDU %q.", c.Flavour.ID, l.vdu)
		} else if node.name == "master_node" && l.vdu != "" && counts != nil && counts[l.vdu] == 0 {
			c.fail(node.name+"/vdu_id", "flavour %s starts without a %s: a cluster needs at least one master.",
				c.Flavour.ID, l.vdu)
		}
		c.known(names, node.name+"/ssh_cp_name", l.sshCP)
		c.known(names, node.name+"/nic_cp_name", l.nicCP)
	}
	if p.master.vdu != "" && p.master.vdu == p.worker.vdu {
		c.fail("worker_node/vdu_id", "masters and workers are different VDUs, both are %q.", p.worker.vdu)
	}
	c.storage(names, p)
	c.extras(p)
	c.known(names, "master_node/cluster_cp_name", p.clusterCP)
	c.known(names, "master_node/cluster_fip_name", p.clusterFIP)
	if p.clusterCP != "" && p.clusterCP == p.master.nicCP && counts[p.master.vdu] > 1 {
		c.fail(
			"master_node/cluster_cp_name",
			"with %d masters it names the port of their common virtual address, not %q, which each of them has.",
			counts[p.master.vdu], p.clusterCP,
		)
	}
	return nil
}

// storage checks the storage server and its volumes against the flavour, the templates and the package's files.
func (c *checker) storage(names map[string]bool, p params) {
	if s := p.storage; s != nil {
		if s.vdu != "" && c.Flavour.VDU(s.vdu) == nil {
			c.fail("storage_server/vdu_id", "flavour %s has no VDU %q.", c.Flavour.ID, s.vdu)
		}
		if s.vdu != "" && (s.vdu == p.master.vdu || s.vdu == p.worker.vdu) {
			c.fail("storage_server/vdu_id", "the storage server is a VDU of its own, not %q.", s.vdu)
		}
		c.known(names, "storage_server/ssh_cp_name", s.sshCP)
		c.known(names, "storage_server/nic_cp_name", s.nicCP)
		for i, v := range s.volumes {
			c.known(names, fmt.Sprintf("storage_server/cinder_volume_setup_params/%d/volume_resource_id", i), v.volume)
		}
	}
	for i, m := range p.manifests {
		member := fmt.Sprintf("pv_registration_params/%d/", i)
		c.known(names, member+"nfs_server_cp", m.cp)
		if m.file == "" {
			continue
		}
		if _, err := readVolumes(c.Package, m.file); err != nil {
			c.fail(member+"pv_manifest_file_path", "The pv_manifest_file_path in the additionalParams is invalid: %v.",
				err)
		}
	}
}

// masters refuses what would leave the cluster without its masters, or with another number of them.
func (c *checker) masters(p params) {
	if c.Scope == nil || c.Instance.Instantiated == nil {
		return
	}
	masters, touched := c.touched(p.master.vdu)
	if p.storage != nil && c.Type != sol.LcmOperationHeal {
		c.storageScale(p.storage.vdu)
	}
	scaled := c.Scope.Add[p.master.vdu] > 0 || touched > 0
	switch {
	case c.Type == sol.LcmOperationHeal && masters > 0 && touched == masters:
		c.mastersHeal(masters)
	case c.Type == sol.LcmOperationScale && scaled:
		c.reject("/aspectId", "masters cannot be scaled: only aspects of %s can.", p.worker.vdu)
	case c.Type == sol.LcmOperationScaleToLevel && scaled:
		c.reject("", "masters cannot be scaled: the level would change the number of %s.", p.master.vdu)
	}
}

// reject reports a part of the request outside the additionalParams.
func (c *checker) reject(pointer, format string, args ...any) {
	c.bad = append(c.bad, lcm.InvalidParam{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
}

// touched counts the VNFCs of a VDU, and those of them that the operation changes or removes.
func (c *checker) touched(vdu string) (all, touched int) {
	for _, v := range c.Instance.Instantiated.VnfcInfo {
		if v.VduID != vdu {
			continue
		}
		all++
		if slices.Contains(c.Scope.VNFCs, v.ID) || slices.Contains(c.Scope.Remove, v.ID) {
			touched++
		}
	}
	return all, touched
}

// storageScale refuses another number of storage servers.
func (c *checker) storageScale(vdu string) {
	gone := slices.ContainsFunc(c.Instance.Instantiated.VnfcInfo, func(v sol.VnfcInfo) bool {
		return v.VduID == vdu && slices.Contains(c.Scope.Remove, v.ID)
	})
	if gone || c.Scope.Add[vdu] > 0 {
		c.reject(map[sol.LcmOperationType]string{sol.LcmOperationScale: "/aspectId"}[c.Type],
			"the storage server %s cannot be scaled.", vdu)
	}
}

// mastersHeal refuses a heal of all masters that is not one of the whole cluster.
func (c *checker) mastersHeal(masters int) {
	var req struct {
		VNFCs []string `json:"vnfcInstanceId"`
	}
	_ = json.Unmarshal(c.Params, &req) // it has been decoded before
	switch {
	case len(req.VNFCs) == 0:
	case masters == 1:
		c.reject(
			"/vnfcInstanceId",
			"The number of Master-Nodes is 1 or less: the only master cannot be healed alone; leave vnfcInstanceId "+
				"out to heal the whole cluster.",
		)
	default:
		c.reject("/vnfcInstanceId",
			"The masters cannot all be healed at the same time: leave vnfcInstanceId out to heal the whole cluster.")
	}
}

// counts are the numbers of VNFCs that the operation starts with; nil when the request names no level that there is,
// which is reported elsewhere.
func (c *checker) counts() (map[string]int, error) {
	if c.Scope != nil && c.Scope.Counts != nil {
		return c.Scope.Counts, nil
	}
	var req struct {
		Level string `json:"instantiationLevelId"`
	}
	if len(c.Params) > 0 {
		if err := json.Unmarshal(c.Params, &req); err != nil {
			return nil, lcm.Errorf(lcm.CodeInvalid, "the request is not valid: %w", err)
		}
	}
	counts, _ := c.Flavour.Counts(req.Level)
	return counts, nil
}

// known checks that the templates have a resource of that name. nil names means that there are no templates to look
// into.
func (c *checker) known(names map[string]bool, member, name string) {
	if name != "" && names != nil && !names[name] {
		c.fail(member, "no template of the flavour %s has a resource %q.", c.Flavour.ID, name)
	}
}
