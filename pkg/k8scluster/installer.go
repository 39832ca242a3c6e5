package k8scluster

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// The titles of an Installer's steps, as users see them.
const (
	titlePrepare = "prepare node"
	titleInit    = "initialise cluster"
	titleJoin    = "join node"
	titleInstall = "install node" // what a legacy script does in one run
	titleRefresh = "refresh node"
	titleDetach  = "detach leaving masters"
	titleUpgrade = "upgrade node"
	titleNetwork = "upgrade network"
)

// Installer makes machines the nodes of a cluster. Everything else that is done to a cluster is the Cluster's. Its
// methods do durable steps, or work inside a step of the caller: they can be called again after a crash at any point,
// and then do only what is missing.
type Installer interface {
	// Prepare installs on a machine what it needs before it can become a node. It does not need a cluster.
	Prepare(ctx context.Context, n node) error
	// Init makes the first master a cluster of one node.
	Init(ctx context.Context, n node) error
	// Join makes a machine a node of the cluster. Masters MUST join one after the other: etcd takes one new member at a
	// time.
	Join(ctx context.Context, n node) error
	// Refresh tells a node, inside the step s, which nodes there are now.
	Refresh(ctx context.Context, s *lcm.Step, n node) error
	// Detach takes masters that will leave the cluster, inside the step s, out of a master's load balancer. It is used
	// only with the trait detaches.
	Detach(ctx context.Context, s *lcm.Step, n node) error
	// Upgrade brings a node that is drained, inside the step s, to another version of Kubernetes.
	Upgrade(ctx context.Context, s *lcm.Step, n node, to version) error
	// UpgradeNetwork brings the pods' network to the version that is wanted now, through a master. It does nothing when
	// the cluster has it.
	UpgradeNetwork(ctx context.Context, n node) error
	// JoinSecrets makes what a node needs to join, at most once per tick. The result is never stored.
	JoinSecrets() (joinSecrets, error)
	// Traits are the differences between installers that their callers have to respect.
	Traits() traits
}

// traits are properties of an Installer.
type traits struct {
	// mastersFirst says that no worker may be installed before all masters have joined.
	mastersFirst bool
	// detaches says that load balancers go on sending requests to a master that no longer belongs to etcd, whose API
	// server accepts connections and does not answer: it has to be taken out of them before.
	detaches bool
	// namesEndpoint says that the API server's certificate contains the endpoint's external address.
	namesEndpoint bool
	// upgrades says that nodes can be brought to another version of Kubernetes.
	upgrades bool
}

// joinSecrets is what a node needs to join a cluster.
type joinSecrets struct {
	token, caHash, certKey string
}

// newInstaller makes the Installer for a package's script.
func newInstaller(ctx context.Context, s *session, script installScript) (Installer, error) {
	if script.phased() {
		return newPhased(ctx, s, script), nil
	}
	return newLegacy(ctx, s, script)
}
