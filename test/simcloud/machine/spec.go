package machine

import "github.com/gybe-nfv/gybe/test/simcloud/fleet"

// The fleet plays the machines that the cloud describes; these are the cloud's own types.
type (
	// Spec describes one machine.
	Spec = fleet.Machine
	// Disk is an attached volume.
	Disk = fleet.Disk
	// Address is an address that a running machine gains or loses.
	Address = fleet.Address
)

// The kinds of address.
const (
	Fixed       = fleet.Fixed
	Floating    = fleet.Floating
	VIP         = fleet.VIP
	VIPFloating = fleet.VIPFloating
)

var (
	_ fleet.Machines        = (*Fleet)(nil)
	_ fleet.MachineControl  = (*Fleet)(nil)
	_ fleet.ConsoleMachines = (*Fleet)(nil)
	_ fleet.VolumeMachines  = (*Fleet)(nil)
	_ fleet.DiskMachines    = (*Fleet)(nil)
)
