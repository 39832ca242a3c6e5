package vnflcm

import (
	"context"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Paths of single resources, below the public URL.
func instancePath(id string) string  { return Prefix + "/vnf_instances/" + id }
func operationPath(id string) string { return Prefix + "/vnf_lcm_op_occs/" + id }

// instance makes the resource that clients see: with the links of its state.
func (a *API) instance(ctx context.Context, d *lcm.InstanceDocument, public func(string) string) frame.Resource {
	links := a.instanceLinks(ctx, d).For(public(instancePath(d.ID)), "")
	return frame.Resource{Document: &d.Document, Links: links}
}

// presentOperation makes the resource that clients see: with the tasks of its state.
func (a *API) presentOperation(d *lcm.OperationDocument, public func(string) string) frame.Resource {
	links := a.operationLinks(d).For(public(operationPath(d.ID)), public(instancePath(d.InstanceID)))
	return frame.Resource{Document: &d.Document, Links: links}
}
