package lcm

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// OperationKind is one kind of lifecycle operation. Routes, links, the plan route, the client, the CLI, hooks, the
// state machine and the documentation derive from its rows, so that a new operation is one new row
// (docs/how-to/add-an-operation.md).
type OperationKind struct {
	Type sol.LcmOperationType
	// Path is the task resource of a VNF instance that starts the operation; "" is a PATCH of the instance itself.
	Path string
	// Hook is the operation's name in the interface Vnflcm of a VNFD (SOL001). The mgmt drivers' hooks are <Hook>_start
	// and <Hook>_end, and those of the rollback <Hook>_rollback_start and <Hook>_rollback_end.
	Hook string
	// Requires is the state that the instance must have; "" is any.
	Requires sol.InstantiationState
	// VIM says that the operation works on resources in the VIM.
	VIM bool
	// NeedsGrant says that a grant is asked for in STARTING. Other operations start in PROCESSING.
	NeedsGrant bool
	// CanRollBack says that a rollback exists. What an operation removes for good cannot be restored, so that a scaling
	// operation that removes VNFCs cannot be rolled back either.
	CanRollBack bool
	// Scales says that the operation leads to other scale levels.
	Scales bool
	// NewRevision says that the operation leads to another flavour or package: the drivers of the previous revision
	// check it, too.
	NewRevision bool
	// Deletes says which machines the operation always deletes. Others delete those that its scope names.
	Deletes Deletion
	// Unchecked says that drivers have no part in the admission.
	Unchecked bool

	// Body is the zero value of the request's type.
	Body any
	// Decode makes the task of a request body.
	Decode func(raw json.RawMessage) (Task, error)
	// Phases returns what the operation runs, without grant and hooks. infra is nil when VIM is false.
	Phases func(infra Infra) Phases

	// Link sets the operation's link of an instance; nil when the standard has none.
	Link func(links *sol.VnfInstanceLinks, link *sol.Link)
	// Offered says whether a VNF of this VNFD with one of these deployment flavours has the operation; nil is always.
	Offered func(v *vnfd.VNFD, of []vnfd.Flavour) bool
	// NotInstantiated is the hint for an instance that is not instantiated; nil is the usual one.
	NotInstantiated func(i *Instance) string
}

// Deletion says which machines a kind of operation always deletes.
type Deletion string

// The values of Deletion.
const (
	DeletesNone  Deletion = ""
	DeletesAll   Deletion = "all"
	DeletesVNFCs Deletion = "vnfcs" // those in Scope.VNFCs, or all if the scope is the whole VNF
)

// Phases is what an operation runs, without grant and hooks.
type Phases struct {
	Processing []Phase // their failure is FAILED_TEMP
	Rollback   []Phase // run in ROLLING_BACK
	// Completed and RolledBack set the instance's attributes when the operation ends that way; may be nil.
	Completed  func(w *Execution) error
	RolledBack func(w *Execution) error
}

// Method is the HTTP method of the request that starts the operation.
func (k *OperationKind) Method() string {
	if k.Path == "" {
		return "PATCH"
	}
	return "POST"
}

// Hooks returns the hooks that run before and after the operation.
func (k *OperationKind) Hooks() (start, end Hook) {
	return Hook(k.Hook + "_start"), Hook(k.Hook + "_end")
}

// RollbackHooks returns the hooks that run before and after the operation's rollback.
func (k *OperationKind) RollbackHooks() (start, end Hook) {
	return Hook(k.Hook + "_rollback_start"), Hook(k.Hook + "_rollback_end")
}

// Request returns a pointer to a new value of the request's type.
func (k *OperationKind) Request() any { return reflect.New(reflect.TypeOf(k.Body)).Interface() }

// Instantiates says whether the operation makes the instance's first resources.
func (k *OperationKind) Instantiates() bool {
	return k.Requires == sol.InstantiationStateNotInstantiated
}

// operationKinds holds the rows by type. It is complete after initialisation and does not change then.
var operationKinds = map[sol.LcmOperationType]*OperationKind{}

// RegisterOperation adds a kind of operation. It MUST be called from init functions only; a type that exists already is
// a panic.
func RegisterOperation(k OperationKind) {
	if _, ok := operationKinds[k.Type]; ok {
		panic("lcm: operation " + string(k.Type) + " is registered twice")
	}
	operationKinds[k.Type] = &k
}

// OperationKinds lists the kinds of operations by type.
func OperationKinds() []*OperationKind {
	out := make([]*OperationKind, 0, len(operationKinds))
	for _, k := range operationKinds {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b *OperationKind) int { return strings.Compare(string(a.Type), string(b.Type)) })
	return out
}

// OperationKindOf returns the kind of an operation type, or CodeUnprocessable when it is not supported.
func OperationKindOf(t sol.LcmOperationType) (*OperationKind, error) {
	if k, ok := operationKinds[t]; ok {
		return k, nil
	}
	return nil, Errorf(CodeUnprocessable, "operation %s is not supported", t)
}

// kindOf returns the kind of an operation type; the zero OperationKind allows nothing.
func kindOf(t sol.LcmOperationType) *OperationKind {
	if k, ok := operationKinds[t]; ok {
		return k
	}
	return &OperationKind{Type: t}
}

// Task is a request to do something with an instance, in the form that all kinds of requests have in common.
type Task struct {
	Kind *OperationKind
	// Raw is the body as sent.
	Raw json.RawMessage
	// Connections is the vimConnectionInfo of the request.
	Connections map[string]sol.VimConnectionInfo
	// VnfdID and VnfPkgID name the package that the instance is to change to; "" is none.
	VnfdID, VnfPkgID string
	// SnapshotID names the VNF snapshot that the task fills or uses; "" is none.
	SnapshotID string
	// NeedsUnused says that the task is rejected while other instances have resources in a VIM that the instance has
	// made.
	NeedsUnused bool
	// IfVersion is the version that If-Match names; nil is any.
	IfVersion *int64
	// Decide looks at an instance and states what the operation does to it: it fills the admission, or returns an error
	// that states what forbids the operation. It MUST be pure: it is called again with the instance locked when the
	// instance has changed.
	Decide func(a *Admission) error
}

// ParseTask makes the task of a request body.
func ParseTask(t sol.LcmOperationType, raw json.RawMessage) (Task, error) {
	k, ok := operationKinds[t]
	if !ok {
		return Task{}, Unprocessable(InvalidParam{"/operation", fmt.Sprintf("operation %s is not supported", t)})
	}
	task, err := k.Decode(raw)
	task.Kind, task.Raw = k, raw
	return task, err
}

// decodes makes OperationKind.Decode from a function that takes the decoded request.
func decodes[T any](task func(req T) Task) func(json.RawMessage) (Task, error) {
	return func(raw json.RawMessage) (Task, error) {
		var req T
		if err := json.Unmarshal(raw, &req); err != nil {
			return Task{}, Errorf(CodeInvalid, "the request of the operation is malformed: %w", err)
		}
		return task(req), nil
	}
}

// changePhases returns the phases of an operation that changes an instantiated VNF.
func changePhases(infra Infra) Phases {
	return Phases{
		Processing: []Phase{{Name: "infra", Run: infra.Change}, inventoryPhase(PhaseInventory, infra)},
		Rollback: []Phase{
			{Name: "rollback_infra", Run: infra.Restore}, inventoryPhase(PhaseRollbackInventory, infra),
		},
		Completed:  func(w *Execution) error { return changed(w, infra) },
		RolledBack: restored,
	}
}
