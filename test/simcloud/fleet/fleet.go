// Package fleet is the contract between the simulated cloud and the machines behind its servers. It stands apart so
// that both sides can import it; users see the same names in package simcloud.
package fleet

import (
	"context"
	"net/netip"
	"time"
)

// Machine describes one server to the fleet that plays its inside. All addresses lie in the cloud's loopback block,
// so a fleet can really listen on them.
type Machine struct {
	// ID is the Nova server id (UUID); every other call names the machine by it.
	ID string
	// Name is the server's name, and the machine's host name unless Hostname is set.
	Name string
	// Hostname is what Nova derives from the name (lower case, only letters, digits and dashes).
	Hostname string
	// Host is the compute host and Zone the availability zone the scheduler chose.
	Host string
	Zone string
	// Flavor and Image are names; VCPUs, MemoryMB and DiskGB come from the flavor.
	Flavor   string
	Image    string
	VCPUs    int
	MemoryMB int
	DiskGB   int
	// FixedIPs are the addresses of the server's ports, in port order.
	FixedIPs []netip.Addr
	// FloatingIPs are the public addresses associated with those ports at boot; later changes arrive through
	// AddAddress and RemoveAddress.
	FloatingIPs []netip.Addr
	// AllowedAddressPairs are the single addresses the ports may also use: the virtual IPs that keepalived moves
	// between machines. Several machines carry the same one; the fleet decides who holds it.
	AllowedAddressPairs []netip.Addr
	// VIPFloatingIPs maps a public address to the virtual IP it leads to. The machine that holds the virtual IP answers
	// there.
	VIPFloatingIPs map[netip.Addr]netip.Addr
	// UserData is the decoded cloud-init document, nil without one.
	UserData []byte
	// PublicKey is the OpenSSH text of the key that opens the login of the image, empty without one.
	PublicKey string
	// AdminUser and AdminPassword open the login of the image (ubuntu/ubuntu unless the image says otherwise).
	AdminUser     string
	AdminPassword string
	// Metadata is the server's metadata.
	Metadata map[string]string
	// Volumes are the attached disks, in attachment order; later ones arrive through the optional VolumeMachines.
	Volumes []Disk
	// RootVolume is the Cinder id of the volume that the machine boots from; without one it has a disk of its own.
	RootVolume string
	// Content is what the image holds, nil for an image that did not come from a machine of the fleet. A root volume
	// that a machine has used before keeps its own content.
	Content Content
}

// Content is what is on a disk. Only the fleet that has made it looks into it. It does not change, may be given to any
// number of machines and volumes, and lives as long as it is referred to. nil is a disk that nothing has written.
type Content any

// Disk is one attached volume as the machine sees it.
type Disk struct {
	// VolumeID is the Cinder id, Device the guest's name for it ("/dev/vdb"), SizeGB its size.
	VolumeID string
	Device   string
	SizeGB   int
}

// AddressKind says how an address reaches a machine.
type AddressKind string

// The kinds of address a machine can gain or lose while it runs.
const (
	// Fixed is an address of one of the machine's own ports.
	Fixed AddressKind = "fixed"
	// Floating is a public address translated to a fixed one (Target).
	Floating AddressKind = "floating"
	// VIP is a virtual address that the machine may hold, together with others.
	VIP AddressKind = "vip"
	// VIPFloating is a public address translated to a virtual one (Target): it follows the holder.
	VIPFloating AddressKind = "vip_floating"
)

// Address is an address gained or lost by a running machine.
type Address struct {
	IP   netip.Addr
	Kind AddressKind
	// Target is the fixed or virtual address behind a floating one; the zero Addr for the other kinds.
	Target netip.Addr
}

// Machines plays the inside of the servers. The cloud calls it from many goroutines at once, but never two calls for
// the same machine at the same time. Calls must return quickly (bind listeners, then return): what takes time
// inside a guest goes on by itself. A call for an unknown id is ignored.
type Machines interface {
	// Boot starts a machine. It is called once per machine (again after Delete when the server is rebuilt), just
	// before the server is shown as ACTIVE; an error turns the server to ERROR with that text as its fault, except
	// that an error that wraps syscall.EADDRINUSE is tried again for 30 s. ctx bounds the call, not the machine.
	Boot(ctx context.Context, m Machine) error
	// Delete stops the machine and forgets it, disk included; its addresses are free when Delete returns.
	Delete(id string)
	// PowerOff stops every process at once (os-stop, host failure) and unbinds the addresses; the disk stays.
	PowerOff(id string)
	// PowerOn boots a machine that was powered off.
	PowerOn(id string)
	// Reboot is PowerOff followed by PowerOn.
	Reboot(id string)
	// AddAddress and RemoveAddress follow floating IPs, interfaces and address pairs of a running machine.
	AddAddress(id string, a Address) error
	RemoveAddress(id string, a Address)
}

// MachineControl is optional: what the control API (/sim/machines/…, /sim/timing) can do to a fleet beyond Machines.
type MachineControl interface {
	// Kill is a power cut without Nova knowing: all processes end, addresses are unbound, the disk stays.
	Kill(id string) error
	// Unreachable cuts (true) or restores (false) the machine's network while its processes go on.
	Unreachable(id string, cut bool) error
	// SetDelays sets how long simulated steps inside machines take, by step name ("boot", "apt-get", "kubeadm init"…).
	// Steps that are not named keep their delay; zero takes a step's delay away.
	SetDelays(delays map[string]time.Duration)
	// Snapshot returns what GET /sim/state shows for machines: a JSON-able value per machine id.
	Snapshot() map[string]any
}

// ConsoleMachines is optional: the serial console as os-getConsoleOutput returns it (cloud-init prints SSH host key
// fingerprints there). A negative or zero lines means all.
type ConsoleMachines interface {
	Console(id string, lines int) string
}

// VolumeMachines is optional: volumes attached to or detached from a running machine.
type VolumeMachines interface {
	AttachDisk(id string, d Disk)
	DetachDisk(id, volumeID string)
}

// DiskMachines is optional: disks that become images and other volumes.
type DiskMachines interface {
	// CopyDisk returns the content of a machine's root disk now, running or not.
	CopyDisk(id string) Content
	// CopyVolume returns the content of a volume now, attached or not; FillVolume gives it to a new volume.
	CopyVolume(volumeID string) Content
	FillVolume(volumeID string, c Content)
	// DropVolume is called when a volume is gone.
	DropVolume(volumeID string)
}

// None is the fleet of a cloud whose servers have no inside: everything succeeds and nothing listens.
type None struct{}

var _ Machines = None{}

// Boot does nothing.
func (None) Boot(context.Context, Machine) error { return nil }

// Delete does nothing.
func (None) Delete(string) {}

// PowerOff does nothing.
func (None) PowerOff(string) {}

// PowerOn does nothing.
func (None) PowerOn(string) {}

// Reboot does nothing.
func (None) Reboot(string) {}

// AddAddress does nothing.
func (None) AddAddress(string, Address) error { return nil }

// RemoveAddress does nothing.
func (None) RemoveAddress(string, Address) {}
