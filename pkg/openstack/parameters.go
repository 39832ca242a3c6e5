package openstack

import (
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/tacker"
)

// Options implements lcm.Infra.
func (d *Driver) Options(r lcm.Request) (lcm.Options, error) { return tacker.Options(r) }

// Lasting implements lcm.Infra.
func (d *Driver) Lasting(params sol.KeyValuePairs) sol.KeyValuePairs { return tacker.Lasting(params) }
