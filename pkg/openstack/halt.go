package openstack

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Halt implements lcm.Infra.
func (d *Driver) Halt(context.Context, *lcm.Work, sol.CancelModeType) error { return nil }
