package k8scluster

import (
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// requireStarted returns CodeConflict for an operation that cannot work with the cluster because its machines are
// STOPPED. A scaling and a heal change the cluster through its API, which needs a majority of the masters. An upgrade
// works on every node.
func (c *checker) requireStarted(p params) error {
	if c.Scope == nil || c.Instance.Instantiated == nil {
		return nil
	}
	switch c.Type {
	case sol.LcmOperationHeal:
		if mastersLost(c.Instance, c.Scope, p.master.vdu) {
			return nil // a new cluster is made
		}
	case sol.LcmOperationChangeVnfpkg:
		if stopped := stoppedVNFCs(c.Instance.Instantiated.VnfcInfo); len(stopped) > 0 {
			return c.notStarted("every machine of the cluster", stopped)
		}
		return nil
	default:
		if len(c.Scope.Add) == 0 && len(c.Scope.Remove) == 0 {
			return nil
		}
	}
	masters := slices.DeleteFunc(slices.Clone(c.Instance.Instantiated.VnfcInfo), func(v sol.VnfcInfo) bool {
		return v.VduID != p.master.vdu
	})
	kept := slices.DeleteFunc(slices.Clone(masters), func(v sol.VnfcInfo) bool {
		return slices.Contains(c.Scope.VNFCs, v.ID)
	})
	// etcd needs a majority of its members: before the masters in the scope are deleted, and afterwards.
	for _, members := range [][]sol.VnfcInfo{masters, kept} {
		stopped := stoppedVNFCs(members)
		if started := len(members) - len(stopped); len(stopped) > 0 && started <= len(members)/2 {
			return c.notStarted("a majority of the masters", stopped)
		}
	}
	return nil
}

// notStarted is the error of an operation that needs machines which are STOPPED.
func (c *checker) notStarted(needed string, stopped []string) error {
	verb, last := "is", len(stopped)-1
	if last > 0 {
		verb = "are"
		stopped = []string{strings.Join(stopped[:last], ", ") + " and " + stopped[last]}
	}
	return lcm.Errorf(lcm.CodeConflict, "%s needs %s started, and %s of VNF instance %s %s STOPPED", c.Type, needed,
		stopped[0], c.Instance.ID, verb).WithHint(
		"start the VNF first (operate with changeStateTo STARTED); heal a machine that is not in the VIM any more",
	)
}

// stoppedVNFCs lists the ids of the VNFCs whose machines are STOPPED.
func stoppedVNFCs(all []sol.VnfcInfo) []string {
	var out []string
	for _, v := range all {
		if v.VnfcState == sol.VnfOperationalStateStopped {
			out = append(out, v.ID)
		}
	}
	return out
}
