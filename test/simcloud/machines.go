package simcloud

import "github.com/gybe-nfv/gybe/test/simcloud/fleet"

// The contract with the machines behind the servers lives in package fleet, below the services that call it; these are
// the same types.
type (
	// Machine describes one server to the fleet.
	Machine = fleet.Machine
	// Address is an address gained or lost by a running machine.
	Address = fleet.Address
	// Machines plays the inside of the servers.
	Machines = fleet.Machines
)

// The kinds of address a machine can gain or lose while it runs.
const (
	Fixed       = fleet.Fixed
	Floating    = fleet.Floating
	VIP         = fleet.VIP
	VIPFloating = fleet.VIPFloating
)
