package vnflcm

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Paths of single resources, below the public URL.
func instancePath(id string) string  { return Prefix + "/vnf_instances/" + id }
func operationPath(id string) string { return Prefix + "/vnf_lcm_op_occs/" + id }

// instance makes the resource that clients see: without secrets, with the links of its state.
func (a *API) instance(ctx context.Context, i *lcm.Instance, public func(string) string) sol.VnfInstance {
	out := sol.VnfInstance{
		ID: i.ID, VnfInstanceName: i.Name, VnfInstanceDescription: i.Description,
		VnfdID: i.VnfdID, VnfProvider: i.Provider, VnfProductName: i.ProductName,
		VnfSoftwareVersion: i.SoftwareVersion, VnfdVersion: i.VnfdVersion,
		VnfConfigurableProperties: i.ConfigurableProperties, VimConnectionInfo: i.VimConnections,
		InstantiationState: i.State, Metadata: i.Metadata, Extensions: i.Extensions,
		Links: a.links(ctx, i, public(instancePath(i.ID))),
	}
	if i.State == sol.InstantiationStateInstantiated {
		out.InstantiatedVnfInfo = i.Instantiated
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
		IsCancelPending: op.Cancel != "", CancelMode: op.Cancel,
		ResourceChanges: op.ResourceChanges, ChangedInfo: op.ChangedInfo, ChangedExtConnectivity: op.ChangedExtConnectivity,
		ModificationsTriggeredByVnfPkgChange: op.Modifications,
		Links:                                &sol.VnfLcmOpOccLinks{Self: sol.Link{Href: self}, VnfInstance: sol.Link{Href: public(instancePath(op.InstanceID))}},
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
		case lcm.EventCancel:
			out.Links.Cancel = link
		}
	}
	return out.Redacted()
}
