package lcm

import (
	"fmt"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Admission is a task and what it would do to an instance.
type Admission struct {
	Task Task
	// Instance is the instance as the admission stores it; maps and pointers in it are shared with the stored one and
	// MUST be replaced, not changed.
	Instance *Instance
	// Present is what the instance is made from; Next is what it changes to, nil for nothing, and NextPkgID the id of
	// that package.
	Present   Revision
	Next      *Revision
	NextPkgID string
	// Connections is Task.Connections with the data of the VIM registry, or the default VIM.
	Connections map[string]sol.VimConnectionInfo
	Infras      Infras
	// Snapshot is the one that the task names; nil for a task that names none.
	Snapshot *Snapshot
	// Scope is what the operation is to do to the VNFCs.
	Scope *Scope
	// result is the instance after the operation, if the request alone decides it; nil otherwise.
	result *Instance
	// Bad lists the members of the request that are wrong.
	Bad []InvalidParam
}

// Target is what the instance will be made from.
func (a *Admission) Target() Revision {
	if a.Next != nil {
		return *a.Next
	}
	return a.Present
}

// Reject notes a wrong member of the request.
func (a *Admission) Reject(pointer, format string, args ...any) {
	a.Bad = append(a.Bad, InvalidParam{pointer, fmt.Sprintf(format, args...)})
}

// Request is the admission as drivers see it.
func (a *Admission) Request() (Request, error) {
	own, err := decodeParams(a.Task.Raw)
	if err != nil {
		return Request{}, err
	}
	remembered, err := a.Instance.Params.Decode()
	if err != nil {
		return Request{}, err
	}
	to := a.Target()
	r := Request{
		Type: a.Task.Kind.Type, Instance: a.Instance, VNFD: to.VNFD, Flavour: to.Flavour, Package: to.Package,
		Params: a.Task.Raw, AdditionalParams: mergePairs(remembered, own), Scope: a.Scope,
		Snapshot: a.Snapshot,
	}
	if a.Next != nil {
		r.Previous = &a.Present
	}
	return r, nil
}

// badLinks checks that the external and the externally managed links of a request name things of the flavour.
func badLinks(f *vnfd.Flavour, ext []sol.ExtVirtualLinkData, managed []sol.ExtManagedVirtualLinkData) []InvalidParam {
	var bad []InvalidParam
	for n, vl := range ext {
		for m, cp := range vl.ExtCps {
			if f.CP(cp.CpdID) == nil {
				bad = append(bad, InvalidParam{
					fmt.Sprintf("/extVirtualLinks/%d/extCps/%d/cpdId", n, m), noConnectionPoint(f, cp.CpdID),
				})
			}
		}
	}
	for n, vl := range managed {
		if !slices.ContainsFunc(f.VLs, func(v vnfd.VL) bool { return v.Name == vl.VnfVirtualLinkDescID }) {
			bad = append(bad, InvalidParam{fmt.Sprintf("/extManagedVirtualLinks/%d/vnfVirtualLinkDescId",
				n), fmt.Sprintf("flavour %s has no virtual link %q", f.ID, vl.VnfVirtualLinkDescID)})
		}
	}
	return bad
}
