package lcm

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Adopter is an Infra that can work on with resources that another VNFM has created. Its methods change nothing in the
// VIM.
type Adopter interface {
	Infra
	// Locate finds the primary resource of an instance that another VNFM has managed, and sets what the instance
	// remembers of it (PrimaryResource, Assembled). It returns CodeConflict, and the resource as far as it is known,
	// when there is none, or when its state does not allow an operation.
	Locate(ctx context.Context, w *Execution, known KnownResources) (*PrimaryResource, error)
	// Drift compares the resources of an instance that has its inventory with those that the next operation would ask
	// the VIM for if it left the VNF as it is. Checks are empty.
	Drift(ctx context.Context, w *Execution) (*Preview, error)
}

// KnownResources are the resources of an instance that its VNFM names.
type KnownResources struct {
	// Primary is the id of the primary resource; "" when it is not named.
	Primary string
	// Machines are the ids of the servers.
	Machines []string
	// Version is the version of the interface that the VNFM has created the instance through: 1 or 2.
	Version int
}

// PrimaryResource is the resource that holds the others of an instance, such as a stack.
type PrimaryResource struct {
	Name, ID string
	Status   string // the VIM's word
}

// AdoptInventory takes the inventory of an instance that another VNFM has managed. w is the execution of an INSTANTIATE
// operation whose request says how the instance is made, and is not stored. levels are the scale levels by aspect.
func AdoptInventory(ctx context.Context, infra Infra, w *Execution, levels map[string]int) error {
	if err := infra.Inventory(ctx, w); err != nil {
		return err
	}
	if err := w.settle(nil); err != nil {
		return err
	}
	status := w.Instance.Instantiated.ScaleStatus
	for n := range status {
		status[n].ScaleLevel = levels[status[n].AspectID]
	}
	w.nameDefinitions()
	return nil
}

// ClusterAdopter is a MgmtDriver whose instances are clusters. It can take over a cluster that the driver of another
// VNFM has made.
type ClusterAdopter interface {
	MgmtDriver
	// AdoptCluster looks at the machines of an instance that has its inventory, and at the cluster. It changes nothing
	// on them, and stores nothing. known are the connections that the other VNFM has; one that the cluster accepts is
	// preferred. The error is CodeUnprocessable with pointers (below /additionalParams), or CodeConflict for machines
	// that cannot be logged in to.
	AdoptCluster(
		ctx context.Context, i *Instance, f *vnfd.Flavour, known []sol.VimConnectionInfo,
	) (*AdoptedCluster, error)
}

// AdoptedCluster is a cluster that has been looked at.
type AdoptedCluster struct {
	// Key is the key of Vim's connection in the instance's vimConnectionInfo. Vim is nil when no access to the cluster
	// has been found.
	Key      string
	Vim      *Vim
	Name     string // of the VIM
	Endpoint string
	Nodes    int // that the cluster has
	// HostKeys are the keys of the machines, by vnfcInfo id.
	HostKeys map[string]HostKey
	Warnings []string
}

// HostKey is the public SSH key of a machine.
type HostKey struct {
	Type string // such as ssh-ed25519
	Key  []byte // in the wire format of RFC 4253 clause 6.6
}

// Adoption is an instance that another VNFM has managed, as it is stored: all or nothing.
type Adoption struct {
	Instance *Instance
	Vim      *Vim // that the instance is, such as a Kubernetes cluster; nil for most
	HostKeys map[string]HostKey
	Messages []Message
}
