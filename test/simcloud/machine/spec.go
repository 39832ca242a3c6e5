package machine

import "net/netip"

// Spec is one server as the fleet is told of it. All addresses are in 127.0.0.0/8, so that the fleet can listen there.
type Spec struct {
	// ID names the machine in every other call.
	ID string
	// Name is the server's name and, unless Hostname is set, its host name.
	Name     string
	Hostname string
	// Host is the compute host and Zone the availability zone it runs in; only reported.
	Host string
	Zone string
	// Flavor and Image are names; the numbers are what the guest sees of its hardware.
	Flavor   string
	Image    string
	VCPUs    int
	MemoryMB int
	DiskGB   int
	// FixedIPs are the addresses of the ports. FloatingIPs lead to the first of them.
	FixedIPs    []netip.Addr
	FloatingIPs []netip.Addr
	// AllowedAddressPairs are the virtual addresses that keepalived may take on this machine.
	AllowedAddressPairs []netip.Addr
	// VIPFloatingIPs maps a public address to the virtual one that it leads to, whoever holds it.
	VIPFloatingIPs map[netip.Addr]netip.Addr
	// UserData is a cloud-init document, nil for none.
	UserData []byte
	// PublicKey may log in as AdminUser; AdminUser and AdminPassword are ubuntu and ubuntu if empty.
	KeyName       string
	PublicKey     string
	AdminUser     string
	AdminPassword string
	// Metadata is only reported.
	Metadata map[string]string
	// Volumes are the attached disks.
	Volumes []Disk
}

// Disk is an attached volume.
type Disk struct {
	VolumeID string
	Device   string // "/dev/vdb"
	SizeGB   int
}

// AddressKind says how an address reaches a machine.
type AddressKind string

// The kinds of address.
const (
	Fixed       AddressKind = "fixed"        // of one of the machine's ports
	Floating    AddressKind = "floating"     // public, translated to a fixed one (Target)
	VIP         AddressKind = "vip"          // virtual: the machine may hold it
	VIPFloating AddressKind = "vip_floating" // public, translated to a virtual one (Target)
)

// Address is an address that a running machine gains or loses.
type Address struct {
	IP     netip.Addr
	Kind   AddressKind
	Target netip.Addr
}
