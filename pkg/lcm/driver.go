package lcm

import (
	"context"
	"encoding/json"
	"io/fs"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Request is what a driver may look at to say no before anything is created.
type Request struct {
	Type     sol.LcmOperationType
	Instance *Instance // with the VIM connections that the operation would use
	// VNFD, Flavour and Package are those that would hold afterwards; Previous are the present ones where they differ,
	// else nil.
	VNFD     *vnfd.VNFD
	Flavour  *vnfd.Flavour
	Package  fs.FS
	Previous *Revision
	// Params is the request body; AdditionalParams its additionalParams, decoded, over those that the instance
	// remembers.
	Params           json.RawMessage
	AdditionalParams sol.KeyValuePairs
	// Scope is what the operation is to do to the VNFCs; nil for INSTANTIATE, TERMINATE and MODIFY_INFO.
	Scope *Scope
	// Snapshot is the VNF snapshot that the request names; nil for one that names none.
	Snapshot *Snapshot
	// Templates are the infra driver's answers about the package's templates; nil when there are none.
	Templates Templates
}

// Infra drives one kind of VIM. Those of its methods that take an Execution are ticks of a phase: they observe, then
// act, return nil when the goal is reached, Wait while it is not, and keep what they must not do
// twice in steps.
type Infra interface {
	// Validate checks the request against the package without asking the VIM; it returns a
	// CodeUnprocessable error with a pointer for everything that is wrong.
	Validate(ctx context.Context, r Request) error
	// Granted checks what an NFVO's grant decides against the package, without asking the VIM and before anything is
	// made: an error says what of it would not be applied. Execution.Op has the grant.
	Granted(ctx context.Context, w *Execution) error
	// Options reads the members of the request's additionalParams that decide on the operation's scope, before there is
	// a scope. It is pure, and returns a CodeUnprocessable error with a pointer for everything that is wrong, together
	// with the other options.
	Options(r Request) (Options, error)
	// Replaces lists the vnfcInfo ids of the VNFCs whose machines the operation of a valid CHANGE_FLAVOUR or
	// CHANGE_VNFPKG request may delete and recreate, or give another disk, without those in Scope.Remove. The VIM is
	// not asked: a machine about which it is not certain is listed.
	Replaces(r Request) ([]string, error)
	// Lasting returns the additionalParams that an instance remembers for later operations: those without the members
	// that hold for one operation only. It does not change params.
	Lasting(params sol.KeyValuePairs) sol.KeyValuePairs
	// Instantiate makes all VIM resources of the instance. It MUST call Execution.Hold before it makes the first, MUST
	// adopt what a dead predecessor made, and MUST NOT do anything that can fail between creating the primary resource
	// and recording its id.
	Instantiate(ctx context.Context, w *Execution) error
	// Change carries out any other operation on an instantiated VNF: SCALE, SCALE_TO_LEVEL, CHANGE_FLAVOUR, HEAL,
	// OPERATE, CHANGE_EXT_CONN, CHANGE_VNFPKG, CREATE_SNAPSHOT and REVERT_TO_SNAPSHOT. What it has to reach is in
	// Execution.Op.Scope and the request; where it started is Execution.Op.Before.
	Change(ctx context.Context, w *Execution) error
	// Restore is the rollback of Change: the VIM's resources become again what Execution.Op.Before says, as far as they
	// can.
	Restore(ctx context.Context, w *Execution) error
	// Inventory reads what is there and sets Instance.Instantiated, Instance.Inventory, Op.ResourceChanges and
	// Op.ChangedExtConnectivity: the differences from Op.Before. It changes nothing in the VIM, and can be called in
	// any state of the operation.
	Inventory(ctx context.Context, w *Execution) error
	// Terminate deletes everything that belongs to the instance and returns nil only when it is gone.
	Terminate(ctx context.Context, w *Execution) error
	// Halt ends what the VIM is still doing for a cancelled operation, in any phase: it waits for it (GRACEFUL), or
	// makes the VIM stop first (FORCEFUL). It starts nothing new, and returns nil when the VIM does nothing for the
	// operation any more, or ErrUnchanged when the operation has not changed anything there.
	Halt(ctx context.Context, w *Execution, mode sol.CancelModeType) error
	// Preview says what the operation of a valid request would do and whether the VIM can do it. It changes nothing.
	Preview(ctx context.Context, r Request) (*Preview, error)
	// Leftovers compares the instance's inventory with what carries the instance's name or tag in the VIM. It changes
	// nothing.
	// Resources of snapshots that exist are not leftovers.
	Leftovers(ctx context.Context, i *Instance, snapshots []*Snapshot) (*Leftovers, error)
	// RemoveLeftovers deletes resources that Leftovers has reported as Extra, in the order of their dependencies, and
	// returns those that are still there with the reason. Anything that does not carry the instance's name or tag is
	// left alone.
	RemoveLeftovers(
		ctx context.Context, i *Instance, snapshots []*Snapshot, extra []Leftover,
	) ([]Leftover, error)
	// DeleteSnapshot deletes the resources of a snapshot in the VIM, also those that were not recorded before an
	// operation failed. i is the instance that the snapshot is of, or as the snapshot has it when it does not exist any
	// more. It returns nil when they are gone, Wait while they are being deleted, and CodeConflict when the instance
	// has disks that need them.
	DeleteSnapshot(ctx context.Context, s *Snapshot, i *Instance) error
	// Templates answers questions about the templates of a request's flavour; nil for a VIM without templates. The VIM
	// is not asked.
	Templates(r Request) Templates
}

// Preview is what an operation would do (package gybeapi has its JSON).
type Preview struct {
	Operation sol.LcmOperationType
	// Add, Remove, Replace and Change list resources by what would happen to them.
	Add     []PlannedResource
	Remove  []PlannedResource
	Replace []PlannedResource
	Change  []PlannedResource
	// Work is what the mgmt drivers would do, in the order of their hooks.
	Work []PlannedWork
	// Checks are what was asked of the VIM, the failed ones first.
	Checks []Check
	// Possible is false when a check failed.
	Possible bool
}

// PlannedResource is one resource of a Preview.
type PlannedResource struct {
	Type string // the VIM's name for the kind of resource
	Name string // name in the template, with the VNFC's index
	VDU  string // of a VNFC and what belongs to it
	VNFC string
	ID   string // in the VIM, of one that exists
	// Detail says in words what changes, or why.
	Detail string
	// Kind is that of the type. A driver may leave it empty if it has registered its types (RegisterKinds).
	Kind Kind
	// LosesData says that data on the resource are lost. The driver sets it for resources that change in place; of
	// those that are removed or replaced it is derived from the kind.
	LosesData bool
}

// Complete sets the kinds of the resources, and which of those that are removed or replaced lose data.
func (p *Preview) Complete() {
	for _, list := range []*[]PlannedResource{&p.Add, &p.Remove, &p.Replace, &p.Change} {
		gone := list == &p.Remove || list == &p.Replace
		for n := range *list {
			r := &(*list)[n]
			if r.Kind == "" {
				r.Kind = kinds[r.Type]
			}
			switch r.Kind { //nolint:exhaustive // the others hold no data
			case KindCompute, KindContainer, KindStorage:
				r.LosesData = r.LosesData || gone
			}
		}
	}
}

// PlannedWork is a thing that a mgmt driver would do.
type PlannedWork struct {
	Hook   Hook
	Driver string // the name that the VNFD has for it
	Detail string // in words
}

// CheckState is the outcome of a Check.
type CheckState string

// The outcomes of a Check.
const (
	CheckOK      CheckState = "OK"
	CheckWarning CheckState = "WARNING" // the VIM does not tell, or it may still fail
	CheckFailed  CheckState = "FAILED"
)

// Check is one thing that a Preview has looked up in the VIM.
type Check struct {
	State   CheckState
	Subject string // "flavour m1.small", "quota of cores"
	Detail  string
	Hint    string
}

// Leftovers are the differences between an instance's inventory and its VIM.
type Leftovers struct {
	// Extra carry the instance's name or tag in the VIM and are not in the inventory.
	Extra []Leftover
	// Missing are in the inventory and not in the VIM.
	Missing []Leftover
}

// Leftover is a resource that is on one side only.
type Leftover struct {
	Type   string // the VIM's name for the kind of resource
	ID     string
	Name   string
	Status string // the VIM's word
	// Why says how it was recognised, or why it could not be removed.
	Why string
}

// Infras finds the Infra for a vimType such as ETSINFV.OPENSTACK_KEYSTONE.V_3.
type Infras interface {
	Infra(vimType string) (Infra, bool)
}

// Grantor asks for, or decides on, the grant of an operation (SOL003 clause 9).
type Grantor interface {
	// Grant is a tick: it returns the grant, Wait while it is pending, or an error when it is refused. An operation
	// that has its grant keeps it.
	Grant(ctx context.Context, w *Execution) (*Grant, error)
}

// PackageSource brings packages that are not onboarded, such as those of an NFVO.
type PackageSource interface {
	// Bring returns nil when the principal's project has an onboarded package with this vnfdId: CodeNotFound when the
	// source does not have it either, CodeUnavailable with RetryAfter while it is on its way, CodeUnprocessable when it
	// cannot be onboarded. It returns after a few seconds.
	Bring(ctx context.Context, p Principal, vnfdID string) error
}

// Packages gives the domain the VNF packages that are onboarded.
type Packages interface {
	// Model returns the VNFD and package id of the ONBOARDED package with this vnfdId in the principal's project: a
	// CodeUnprocessable error when there is none or it is not ENABLED. It never parses YAML.
	Model(ctx context.Context, p Principal, vnfdID string) (*vnfd.VNFD, string, error)
	// VnfdID returns the vnfdId of a package that the principal's project sees: a CodeNotFound error when there is
	// none.
	VnfdID(ctx context.Context, p Principal, vnfPkgID string) (string, error)
	// ModelOf returns the VNFD of the package of an existing instance, also if it has been DISABLED: that
	// forbids new instances, not the work on old ones.
	ModelOf(ctx context.Context, vnfPkgID string) (*vnfd.VNFD, error)
	// Files returns the content of a package, rooted at the archive's root.
	Files(ctx context.Context, vnfPkgID string) (fs.FS, error)
}
