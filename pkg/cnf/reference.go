package cnf

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gybe-nfv/gybe/pkg/kubernetes/objects"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// typeOf is the type of an object in an inventory, as kubectl writes it: Kind.version.group.
func typeOf(apiVersion, kind string) string {
	group, version, ok := strings.Cut(apiVersion, "/")
	if !ok {
		return kind + "." + apiVersion
	}
	return kind + "." + version + "." + group
}

// idOf is the id of an object in an inventory: namespace/name, or the name of an object without a namespace.
func idOf(r objects.Ref) string {
	if r.Namespace == "" {
		return r.Name
	}
	return r.Namespace + "/" + r.Name
}

// refIn is the object of an entry of an inventory; false for pods of VNFCs.
func refIn(r lcm.Resource) (objects.Ref, bool) { return refAt(r.Type, r.ID) }

// refAt is the reverse of typeOf and idOf.
func refAt(typ, id string) (objects.Ref, bool) {
	kind, rest, ok := strings.Cut(typ, ".")
	if !ok {
		return objects.Ref{}, false
	}
	version, group, hasGroup := strings.Cut(rest, ".")
	ref := objects.Ref{APIVersion: version, Kind: kind, Name: id}
	if hasGroup {
		ref.APIVersion = group + "/" + version
	}
	if ns, name, ok := strings.Cut(id, "/"); ok {
		ref.Namespace, ref.Name = ns, name
	}
	return ref, true
}

// controls says that an owner is the controller that has made the object.
func controls(o metav1.OwnerReference) bool { return o.Controller != nil && *o.Controller }
