package infratest

import (
	"io/fs"
	"testing"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Harness describes a driver to the contract.
type Harness struct {
	// VNFD and Files are a package that the driver can instantiate.
	VNFD  *vnfd.VNFD
	Files fs.FS
	// Request is a valid instantiation of the package. The VIM adds its connections.
	Request sol.InstantiateVnfRequest
	// Aspect is a scaling aspect that Request leaves below its highest scale level.
	Aspect string
	// SecondVDU is a VDU whose VNFCs can be created through another connection than those of the other VDUs; "" for a
	// driver that uses one connection for all.
	SecondVDU string
	// NoSnapshots is for a driver that refuses to take snapshots.
	NoSnapshots bool
	// KeepsIDs is for a VIM in which a recreated machine has the id of the one before, such as a pod of a StatefulSet.
	KeepsIDs bool
	// Fixed is for a package whose VNFCs cannot be scaled, in Life: the driver refuses it with this text.
	Fixed string
	// Own makes Request the one of an instance in a VIM where instances cannot have the same request, such as one in
	// which the request gives names; nil for all others.
	Own func(vim VIM, r sol.InstantiateVnfRequest, instanceID string) sol.InstantiateVnfRequest
	// New returns a VIM for one test. It is closed at the end of the test.
	New func(t *testing.T) VIM
}

// VIM is a VIM that belongs to one test.
type VIM interface {
	// Infra returns the driver of a node. All its calls to the VIM MUST go through node.Call. The VIM closes the driver
	// at the end of the test.
	Infra(node *Node) lcm.Infra
	// Connections is the vimConnectionInfo of instantiations.
	Connections() map[string]sol.VimConnectionInfo
	// Second is another connection than these, for Harness.SecondVDU: to the same VIM or to another one, which is a
	// part of what the other methods are about.
	Second() sol.VimConnectionInfo
	// Contents lists everything that the VIM holds, for all instances, whether it works or not.
	Contents() []Content
	// Busy says whether the VIM still works on a request.
	Busy() bool
	// Lose deletes a machine without the driver.
	Lose(machine lcm.Resource)
	// Leave creates a resource as an instance's driver would create and lose it, and returns its id.
	Leave(instanceID string) string
	// Refuse lets the VIM reject machines with this text, until it is called with "". It returns the name of the
	// resource that the driver's error names.
	Refuse(text string) (resource string)
	// Slow sets how long the VIM takes to create a machine.
	Slow(d time.Duration)
}

// Content is an object in a VIM.
type Content struct {
	Kind string // the VIM's word, such as "servers"
	ID   string
}

// counts is the number of objects by kind.
func counts(all []Content) map[string]int {
	out := map[string]int{}
	for _, c := range all {
		out[c.Kind]++
	}
	return out
}
