package kubeapi

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// anotherObject refuses to delete an object whose uid is not the wanted one. The real server names the kind here, not
// the resource.
func anotherObject(r Resource, name, want string, have any) error {
	return apierrors.NewConflict(schema.GroupResource{Group: r.Group, Resource: r.Kind}, name, fmt.Errorf(
		"the UID in the precondition (%s) does not match the UID in record (%v). "+
			"The object might have been deleted and then recreated", want, have))
}

// updateOfAnother refuses to update an object whose uid is not the one in the body.
func updateOfAnother(r Resource, name, want string, have any) error {
	return apierrors.NewConflict(r.GroupResource(), name, fmt.Errorf(
		"%s: UID in precondition: %s, UID in object meta: %v", "Precondition failed", want, have,
	))
}
