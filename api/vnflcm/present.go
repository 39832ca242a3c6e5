package vnflcm

import (
	"context"
	"iter"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Paths of lists, below the prefix.
const (
	instancesPart  = "/vnf_instances"
	operationsPart = "/vnf_lcm_op_occs"
	snapshotsPart  = "/vnf_snapshots"
)

// Paths of single resources, below the public URL.
func (a *edition) instancePath(id string) string  { return a.prefix + instancesPart + "/" + id }
func (a *edition) operationPath(id string) string { return a.prefix + operationsPart + "/" + id }

// instance makes the resource that clients see: with the links of its state.
func (a *edition) instance(ctx context.Context, d *lcm.InstanceDocument, buf *buffer) frame.Resource {
	if d.Brief == nil { // the place where a search has ended
		return frame.Resource{Document: &d.Document}
	}
	links := a.instanceLinks(ctx, d).For(a.instances.Of(d.ID), a.extended.Of(d.ID))
	return frame.Resource{Document: a.form.instance(d, buf), Links: links}
}

// presentOperation makes the resource that clients see: with the tasks of its state.
func (a *edition) presentOperation(d *lcm.OperationDocument) frame.Resource {
	return a.operationIn(d, nil)
}

// operationIn is presentOperation with a buffer for the document.
func (a *edition) operationIn(d *lcm.OperationDocument, buf *buffer) frame.Resource {
	if d.Brief == nil { // the place where a search has ended
		return frame.Resource{Document: &d.Document}
	}
	links := a.operationLinks(d).For(a.operations.Of(d.ID), a.parents.Of(d.InstanceID))
	return frame.Resource{Document: a.form.operation(d, buf), Links: links}
}

// presentAll makes the resources of the documents that a list yields. The first error ends it.
func presentAll[D any](
	documents iter.Seq2[*D, error], present func(*D) frame.Resource,
) iter.Seq2[frame.Resource, error] {
	return func(yield func(frame.Resource, error) bool) {
		for d, err := range documents {
			if err != nil {
				yield(frame.Resource{}, err)
				return
			}
			if !yield(present(d), nil) {
				return
			}
		}
	}
}
