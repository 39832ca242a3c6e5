package openstack

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

func (j *job) changePackage(context.Context) error {
	return lcm.Errorf(lcm.CodeUnprocessable, "operation %s is not supported", j.w.Op.Type)
}

func (j *job) restorePackage(context.Context) error {
	return lcm.Errorf(lcm.CodeUnprocessable, "operation %s is not supported", j.w.Op.Type)
}
