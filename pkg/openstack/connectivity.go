package openstack

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

func (j *job) changeConnectivity(context.Context) error {
	return lcm.Errorf(lcm.CodeUnprocessable, "operation %s is not supported", j.w.Op.Type)
}
