package vnflcm

import (
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Paths of single resources, below the public URL.
func instancePath(id string) string  { return Prefix + "/vnf_instances/" + id }
func operationPath(id string) string { return Prefix + "/vnf_lcm_op_occs/" + id }

// presentInstance makes the resource that clients see: without secrets, with the links of its state.
func presentInstance(i *lcm.Instance, public func(string) string) sol.VnfInstance {
	self := public(instancePath(i.ID))
	out := sol.VnfInstance{
		ID: i.ID, VnfInstanceName: i.Name, VnfInstanceDescription: i.Description,
		VnfdID: i.VnfdID, VnfProvider: i.Provider, VnfProductName: i.ProductName,
		VnfSoftwareVersion: i.SoftwareVersion, VnfdVersion: i.VnfdVersion,
		VnfConfigurableProperties: i.ConfigurableProperties, VimConnectionInfo: i.VimConnections,
		InstantiationState: i.State, Metadata: i.Metadata, Extensions: i.Extensions,
		Links: &sol.VnfInstanceLinks{Self: sol.Link{Href: self}},
	}
	switch i.State {
	case sol.InstantiationStateInstantiated:
		out.InstantiatedVnfInfo = i.Instantiated
		out.Links.Terminate = &sol.Link{Href: self + "/terminate"}
	case sol.InstantiationStateNotInstantiated:
		out.Links.Instantiate = &sol.Link{Href: self + "/instantiate"}
	}
	return out.Redacted()
}

// presentOperation makes the resource that clients see: without secrets, with the tasks of its state.
func presentOperation(op *lcm.Operation, public func(string) string) sol.VnfLcmOpOcc {
	self := public(operationPath(op.ID))
	out := sol.VnfLcmOpOcc{
		ID: op.ID, OperationState: op.State, StateEnteredTime: op.StateEntered, StartTime: op.Started,
		VnfInstanceID: op.InstanceID, Operation: op.Type, IsAutomaticInvocation: op.Automatic,
		OperationParams: op.Params, Error: op.Error.Problem(op),
		ResourceChanges: op.ResourceChanges, ChangedInfo: op.ChangedInfo,
		Links: &sol.VnfLcmOpOccLinks{Self: sol.Link{Href: self}, VnfInstance: sol.Link{Href: public(instancePath(op.InstanceID))}},
	}
	if op.Grant != nil {
		out.GrantID = op.Grant.ID
	}
	for _, ev := range lcm.Allowed(op) {
		link := &sol.Link{Href: self + "/" + string(ev)}
		switch ev { //nolint:exhaustive // the others are not the user's
		case lcm.EventRetry:
			out.Links.Retry = link
		case lcm.EventRollback:
			out.Links.Rollback = link
		case lcm.EventFail:
			out.Links.Fail = link
		}
	}
	return out.Redacted()
}
