package openstack

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Preview implements lcm.Infra.
func (d *Driver) Preview(_ context.Context, r lcm.Request) (*lcm.Preview, error) {
	return nil, lcm.Errorf(lcm.CodeUnprocessable, "operation %s is not supported", r.Type)
}
