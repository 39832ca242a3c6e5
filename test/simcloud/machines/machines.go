// Package machines puts the fleet of simulated machines inside the simulated cloud's servers. Cloud and fleet know
// nothing of each other; this is the only place that knows both.
package machines

import (
	"context"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/machine"
)

// Adapter shows a fleet as the cloud wants it.
type Adapter struct {
	// Fleet is the fleet itself, for what only tests of machines need.
	Fleet *machine.Fleet
}

var (
	_ simcloud.Machines        = Adapter{}
	_ simcloud.MachineControl  = Adapter{}
	_ simcloud.ConsoleMachines = Adapter{}
	_ simcloud.VolumeMachines  = Adapter{}
)

// Boot implements simcloud.Machines.
func (a Adapter) Boot(ctx context.Context, m simcloud.Machine) error {
	s := machine.Spec{
		ID: m.ID, Name: m.Name, Hostname: m.Hostname, Host: m.Host, Zone: m.Zone, Flavor: m.Flavor, Image: m.Image,
		VCPUs: m.VCPUs, MemoryMB: m.MemoryMB, DiskGB: m.DiskGB, FixedIPs: m.FixedIPs, FloatingIPs: m.FloatingIPs,
		AllowedAddressPairs: m.AllowedAddressPairs, VIPFloatingIPs: m.VIPFloatingIPs, UserData: m.UserData,
		KeyName: m.KeyName, PublicKey: m.PublicKey, AdminUser: m.AdminUser, AdminPassword: m.AdminPassword, Metadata: m.Metadata,
	}
	for _, d := range m.Volumes {
		s.Volumes = append(s.Volumes, machine.Disk(d))
	}
	return a.Fleet.Boot(ctx, s) //nolint:wrapcheck // the text becomes the server's fault
}

// Delete implements simcloud.Machines.
func (a Adapter) Delete(id string) { a.Fleet.Delete(id) }

// PowerOff implements simcloud.Machines.
func (a Adapter) PowerOff(id string) { a.Fleet.PowerOff(id) }

// PowerOn implements simcloud.Machines.
func (a Adapter) PowerOn(id string) { a.Fleet.PowerOn(id) }

// Reboot implements simcloud.Machines.
func (a Adapter) Reboot(id string) { a.Fleet.Reboot(id) }

// AddAddress implements simcloud.Machines.
func (a Adapter) AddAddress(id string, ip simcloud.Address) error {
	return a.Fleet.AddAddress(id, address(ip)) //nolint:wrapcheck // logged by the cloud
}

// RemoveAddress implements simcloud.Machines.
func (a Adapter) RemoveAddress(id string, ip simcloud.Address) {
	a.Fleet.RemoveAddress(id, address(ip))
}

func address(a simcloud.Address) machine.Address {
	return machine.Address{IP: a.IP, Kind: machine.AddressKind(a.Kind), Target: a.Target}
}

// Kill implements simcloud.MachineControl.
func (a Adapter) Kill(id string) error { return a.Fleet.Kill(id) } //nolint:wrapcheck // shown as it is

// Unreachable implements simcloud.MachineControl.
func (a Adapter) Unreachable(id string, cut bool) error { return a.Fleet.Unreachable(id, cut) } //nolint:wrapcheck // shown as it is

// SetDelays implements simcloud.MachineControl.
func (a Adapter) SetDelays(d map[string]time.Duration) { a.Fleet.SetDelays(d) }

// Snapshot implements simcloud.MachineControl.
func (a Adapter) Snapshot() map[string]any { return a.Fleet.Snapshot() }

// Console implements simcloud.ConsoleMachines.
func (a Adapter) Console(id string, lines int) string { return a.Fleet.Console(id, lines) }

// AttachDisk implements simcloud.VolumeMachines.
func (a Adapter) AttachDisk(id string, d simcloud.Disk) { a.Fleet.AttachDisk(id, machine.Disk(d)) }

// DetachDisk implements simcloud.VolumeMachines.
func (a Adapter) DetachDisk(id, volumeID string) { a.Fleet.DetachDisk(id, volumeID) }

// StartTest starts a cloud whose servers are machines; both end with the test. opts.Machines is ignored.
func StartTest(tb simcloud.TB, opts simcloud.Options, inside machine.Options) (*simcloud.Cloud, *machine.Fleet) {
	tb.Helper()
	f := machine.NewFleet(context.WithoutCancel(tb.Context()), inside)
	tb.Cleanup(f.Close)
	opts.Machines = Adapter{Fleet: f}
	return simcloud.StartTest(tb, opts), f
}
