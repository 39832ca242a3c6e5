package lcm

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Instance is the durable VNF instance (SOL003 VnfInstance) with what only we keep.
type Instance struct {
	ID      string // UUID
	Version int64  // grows with every write; the ETag
	// Fingerprint is the store's: by it a tick knows that the instance is the stored one. Only Claim sets it.
	Fingerprint []byte `json:"-"`
	Created     time.Time
	Updated     time.Time

	Name        string
	Description string

	VnfdID          string
	VnfPkgID        string
	Provider        string
	ProductName     string
	SoftwareVersion string
	VnfdVersion     string

	State sol.InstantiationState

	// Protection forbids requests that delete machines; nil is none. Only Records.SetProtection changes it: every other
	// write leaves the stored one as it is.
	Protection *Protection `json:",omitempty"`

	// VimConnections holds credentials; it is encrypted at rest and redacted in every answer.
	VimConnections         map[string]sol.VimConnectionInfo
	ConfigurableProperties sol.RawPairs
	Metadata               sol.RawPairs
	Extensions             sol.RawPairs

	// Params are the additionalParams of the instantiation, with those of a later change of flavour or package over
	// them, so that other operations need not repeat them. They may hold secrets: encrypted at rest, never shown. ""
	// while NOT_INSTANTIATED.
	Params sol.RawPairs
	// PreviousVims are the VimConnections of the last instantiation, kept after its end so that leftovers can be found;
	// encrypted at rest, never shown.
	PreviousVims map[string]sol.VimConnectionInfo `json:"FormerVims"`

	// Assets are those that the NFVO has granted for the instance's package; nil for none.
	Assets *VimAssets `json:",omitempty"`

	// SSHKey was created for the instance's machines because the request has no credentials; nil for most instances,
	// and while there are no machines. Encrypted at rest, its private part never shown.
	SSHKey *SSHKey

	// SecretNames are the names of members that hold secrets, besides those whose names show it (redact.New).
	SecretNames []string

	// HoldsResources says that the VIM may hold resources of the instance: set before an instantiation makes
	// the first of them, cleared only when everything is seen to be gone. Such an instance cannot be deleted.
	HoldsResources bool
	// PrimaryResource is the name of the instance's primary resource in the VIM (of OpenStack: the stack) if another
	// VNFM has given it; "" is the name that the infra driver gives, and while there are no resources.
	PrimaryResource string `json:",omitempty"`
	// Unobserved is the id of the operation that ended without an inventory, "" when there is none: Instantiated and
	// Inventory may be out of date. The next admission that depends on them repeats the inventory.
	Unobserved string
	// Assembled is the stack that a user-data class of the package has made; nil for all others, and while there are no
	// resources. It may hold secrets: encrypted at rest, never shown.
	Assembled *AssembledStack `json:",omitempty"`
	// Instantiated is nil until the first instantiation finishes its inventory. Its VNFCs are listed in the order in
	// which scaling in takes them away: those of a VDU with the highest index first, or as the VIM takes them.
	Instantiated *sol.InstantiatedVnfInfo
	// Inventory is what the VIM had at the last inventory, richer than Instantiated: mgmt drivers
	// find node addresses, hosts and zones here.
	Inventory []Resource
}

// VNFC returns the vnfcInfo and vnfcResourceInfo with this vnfcInfo id; false when there is none.
func (i *Instance) VNFC(id string) (sol.VnfcInfo, sol.VnfcResourceInfo, bool) {
	if i.Instantiated == nil {
		return sol.VnfcInfo{}, sol.VnfcResourceInfo{}, false
	}
	for _, c := range i.Instantiated.VnfcInfo {
		if c.ID != id {
			continue
		}
		for _, r := range i.Instantiated.VnfcResourceInfo {
			if r.ID == c.VnfcResourceInfoID {
				return c, r, true
			}
		}
	}
	return sol.VnfcInfo{}, sol.VnfcResourceInfo{}, false
}

// Resource is one VIM resource of a VNF instance, as the infra driver last saw it.
type Resource struct {
	// Name is the resource's name in the template (a VDU, CP, storage or link name, or any other HOT name).
	Name string `json:"name"`
	// Kind says what it is in terms that all VIMs share, Type in the VIM's own. The infra driver sets both.
	Kind Kind   `json:"kind,omitempty"`
	Type string `json:"type"`
	ID   string `json:"id"` // id in the VIM
	// Vim is the key of the connection that the resource was created through; "" is the primary one.
	Vim string `json:"vim,omitempty"`
	// VNFC is the vnfcInfo id of the VNFC it belongs to; empty for a resource of the whole VNF.
	VNFC string `json:"vnfc,omitempty"`
	// VDU and Index place the VNFC: the Index-th VNFC (from 0) of the VDU.
	VDU   string `json:"vdu,omitempty"`
	Index int    `json:"index,omitempty"`
	// Addresses are the resource's own: a port's fixed addresses, a floating IP's address.
	Addresses []Address `json:"addresses,omitempty"`
	// Host and Zone are those of a server; the host is only told to administrators of the VIM.
	Host string `json:"host,omitempty"`
	Zone string `json:"zone,omitempty"`
	// Status is the VIM's own word, e.g. ACTIVE, ERROR or in-use, or StatusNotFound.
	Status string `json:"status,omitempty"`
	// Flavour and Image are what a server, or the image a volume, was made from, as the VIM has them.
	Flavour string `json:"flavour,omitempty"`
	Image   string `json:"image,omitempty"`
	// Size of a volume in GiB, and the device it is for its server, e.g. /dev/vdb; "" while it is not attached.
	Size    int       `json:"size,omitempty"`
	Device  string    `json:"device,omitempty"`
	Created time.Time `json:"created,omitzero"`
}

// StatusNotFound is the status of a resource that a VIM names and does not have.
const StatusNotFound = "NOT_FOUND"

// Address is an IP address of a resource.
type Address struct {
	IP       string `json:"ip"`
	MAC      string `json:"mac,omitempty"`
	Subnet   string `json:"subnet,omitempty"`  // subnet id
	Network  string `json:"network,omitempty"` // network id
	Floating bool   `json:"floating,omitempty"`
}

// Vim is a registered VIM: one that an operator named, or a cluster that an instance made.
type Vim struct {
	ID          string // UUID
	Version     int64  // the store counts the changes
	Name        string // unique
	Description string
	// Owner is the instance that made it, or "" for one that an operator registered.
	Owner      string
	Connection sol.VimConnectionInfo
	// Previous are connections that Connection has replaced, the oldest first (Reconnect).
	Previous []sol.VimConnectionInfo
	Default  bool
	Created  time.Time
	Updated  time.Time
}

// PrimaryVim returns the connection that holds the instance's own resources, with its key: the first by key that does
// not belong to a cluster the instance itself made. Connections that are selected for single VDUs come last.
func PrimaryVim(conns map[string]sol.VimConnectionInfo) (string, sol.VimConnectionInfo, bool) {
	found := ""
	for _, k := range slices.Backward(slices.Sorted(maps.Keys(conns))) {
		c := conns[k]
		if _, own := c.Extra[ExtraOwner]; own {
			continue
		}
		if had, ok := conns[found]; !ok || c.Extra[ExtraVDUs] == nil || had.Extra[ExtraVDUs] != nil {
			found = k
		}
	}
	c, ok := conns[found]
	return found, c, ok
}

// OwnVim returns the connection to the VIM of a type that the instance itself has made; false when there is none.
func (i *Instance) OwnVim(vimType string) (sol.VimConnectionInfo, bool) {
	for _, k := range slices.Sorted(maps.Keys(i.VimConnections)) {
		c := i.VimConnections[k]
		if owner, _ := c.Extra[ExtraOwner].(string); owner == i.ID && c.VimType == vimType {
			return c, true
		}
	}
	return sol.VimConnectionInfo{}, false
}

// ExtraOwner is the key in VimConnectionInfo.extra that marks a VIM made by a VNF instance; its value is the instance
// id.
const ExtraOwner = "gybe.vnfInstanceId"

// UnsupportedVim is the answer to a vimType without a driver. It names those that have one: requests for other
// interfaces call them "openstack" and "kubernetes".
func UnsupportedVim(vimType string) string {
	return fmt.Sprintf("vimType %q is not supported; that of OpenStack is ETSINFV.OPENSTACK_KEYSTONE.V_3, that of "+
		"Kubernetes ETSINFV.KUBERNETES.V_1, that of Helm ETSINFV.HELM.V_3", vimType)
}
