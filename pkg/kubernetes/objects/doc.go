// Package objects works with the objects of a Kubernetes cluster without knowledge of their kinds: it reads manifests,
// brings them into the order of their dependencies, applies them with server-side apply, says whether they are ready
// and why not, compares, lists and deletes them.
//
// It uses the REST client of pkg/kubernetes and reads from the discovery documents only those of the API groups that
// the objects have. The discovery and dynamic clients of client-go read all groups and bring the OpenAPI parser with
// them.
package objects

// The marks of the objects of a VNF instance.
const (
	// LabelInstance is the label that says to which VNF instance an object belongs; the value is the id of the
	// instance.
	LabelInstance = "gybe.io/vnf-instance"
	// AnnotationVDU is the annotation with the vduId of the VDU that an object realises.
	AnnotationVDU = "gybe.io/vdu"
	// FieldManager is the field manager of server-side apply if Options names no other.
	FieldManager = "gybe"
)
