package lcm

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/filter"
)

// Stores gives each principal its Records. The request side has no other way to the store.
type Stores interface {
	In(p Principal) Records
}

// Records is the request side of the store: the instances, operations and VIMs of a project. Every method is one
// transaction that also writes the event rows of the change; methods that change an operation's state write its
// notification too. What belongs to another project does not exist.
type Records interface {
	// InsertInstance stores a new instance, with its outbox message.
	InsertInstance(ctx context.Context, i *Instance, m []Message) error
	// AdoptInstance stores an instance that another VNFM has managed, with the VIM that it is, the keys of its machines
	// and its outbox message. CodeConflict when an instance has its id.
	AdoptInstance(ctx context.Context, a Adoption) error
	// Instance returns CodeNotFound when there is none.
	Instance(ctx context.Context, id string) (*Instance, error)
	// Instances lists in order of id.
	Instances(ctx context.Context, q Query) ([]*Instance, error)
	// InstanceDocument and InstanceDocuments return the same as clients see it; InstanceValidator only the version.
	// A document of a list is valid until the next one is read; an error ends the list.
	InstanceDocument(ctx context.Context, id string) (*InstanceDocument, error)
	InstanceDocuments(ctx context.Context, q Query) iter.Seq2[*InstanceDocument, error]
	InstanceValidator(ctx context.Context, id string) (Validator, error)
	// SetProtection protects an instance, or removes its protection if p is nil. An active operation or lease does not
	// matter. The version of the instance grows, so that an admission that has read it before decides again.
	SetProtection(ctx context.Context, id string, p *Protection) error
	// DeleteInstance deletes one that is NOT_INSTANTIATED, is not protected, and has no active operation or lease, else
	// CodeConflict;
	// with ifVersion it is CodePrecondition when the version differs.
	DeleteInstance(ctx context.Context, id string, ifVersion *int64, m []Message) error

	// UpdateInstance locks the instance, refuses with CodeConflict when an operation or a lease is active, calls
	// change, and stores the instance as that left it. change returns the vnfcInfo ids of VNFCs whose machines are
	// gone, so that their host keys are forgotten. change MUST NOT call the VIM: it runs in a transaction.
	UpdateInstance(ctx context.Context, id string, change func(*Instance) (gone []string, err error)) error

	// Lease gives the caller the right to work on an instance without an operation. purpose says what for, to a request
	// that is refused because of it. It returns CodeConflict when an operation or another lease is active.
	Lease(ctx context.Context, id, purpose string) (*Lease, error)
	// RenewLease lets a lease last LeaseTime from now; CodeConflict when it has expired.
	RenewLease(ctx context.Context, l *Lease) error
	// EndLease ends a lease and stores the instance as change leaves it; nil changes nothing. It returns CodeConflict,
	// and stores nothing, when the lease has expired.
	EndLease(ctx context.Context, l *Lease, change func(*Instance)) error

	// Admit locks the instance, calls check on it in the transaction, refuses with CodeConflict when an
	// operation or a lease is active, and stores the operation as it is then, its message, its job and the instance as
	// check left it: all or nothing. check may be called again.
	Admit(ctx context.Context, op *Operation, m []Message, check func(*Instance) error) error
	// Operation returns CodeNotFound when there is none.
	Operation(ctx context.Context, id string) (*Operation, error)
	// Operations lists, newest last.
	Operations(ctx context.Context, q Query) ([]*Operation, error)
	// OperationDocument and OperationDocuments return the same as clients see it; OperationValidator only the version.
	OperationDocument(ctx context.Context, id string) (*OperationDocument, error)
	OperationDocuments(ctx context.Context, q Query) iter.Seq2[*OperationDocument, error]
	OperationValidator(ctx context.Context, id string) (Validator, error)
	// Steer applies a user's event: in one transaction it locks the operation, calls change, which sets the new
	// state and returns the messages, stores it with a job when it is Running, and bumps the epoch so that
	// a node that still works on it is fenced. change also gets the
	// protection of the instance, which does not change until the event is stored.
	Steer(
		ctx context.Context, id string, change func(*Operation, *Protection) ([]Message, error),
	) (*Operation, error)
	// Actions returns the actions on operations, by id; those that do not exist or have none are absent.
	Actions(ctx context.Context, opIDs []string) (map[string][]Action, error)
	// Progress returns the phases and steps of an operation in the order they began.
	Progress(ctx context.Context, opID string) ([]PhaseRecord, []StepRecord, error)

	// InsertSnapshot stores a new, empty snapshot.
	InsertSnapshot(ctx context.Context, s *Snapshot) error
	// Snapshot returns CodeNotFound when there is none.
	Snapshot(ctx context.Context, id string) (*Snapshot, error)
	// SnapshotDocument and SnapshotDocuments return the same as clients see it; SnapshotValidator only the version.
	SnapshotDocument(ctx context.Context, id string) (*SnapshotDocument, error)
	SnapshotDocuments(ctx context.Context, q Query) iter.Seq2[*SnapshotDocument, error]
	SnapshotValidator(ctx context.Context, id string) (Validator, error)
	// Snapshots lists in order of id; a brief list has no Instance, UserData and VNFCs.
	Snapshots(ctx context.Context, q Query) ([]*Snapshot, error)
	// SetSnapshotPkg sets the vnfSnapshotPkgId and returns the snapshot; CodePrecondition when ifVersion differs.
	SetSnapshotPkg(ctx context.Context, id, pkgID string, ifVersion *int64) (*Snapshot, error)
	// BeginSnapshotDeletion keeps operations from using a snapshot for a time, and returns it. CodeConflict when an
	// active operation uses it, or another request deletes it; CodePrecondition when ifVersion differs.
	BeginSnapshotDeletion(ctx context.Context, id string, last time.Duration, ifVersion *int64) (*Snapshot, error)
	// EndSnapshotDeletion deletes a snapshot whose resources are gone, or else lets operations use it again.
	EndSnapshotDeletion(ctx context.Context, id string, gone bool) error

	// Vims lists registered VIMs by name; Vim finds one by id or returns CodeNotFound.
	Vims(ctx context.Context) ([]Vim, error)
	Vim(ctx context.Context, id string) (*Vim, error)
	// SaveVim inserts or replaces by id; CodeConflict when the name is another's.
	SaveVim(ctx context.Context, v Vim) error
	// ChangeVim replaces a VIM that still has the version of v; CodeConflict when it has another one or is gone, and
	// when the name is another's. A VIM that becomes the default one takes the place of the previous one.
	ChangeVim(ctx context.Context, v Vim) error
	// DeleteVim forgets a VIM. CodeConflict, with the ids, while instances have connections with its id.
	DeleteVim(ctx context.Context, id string) error
	// VimUsers lists the ids of the instances that have a connection with the id of a VIM, without its owner.
	VimUsers(ctx context.Context, id string) ([]string, error)
}

// Ledger is the engine side of the store: it knows all projects, and every write is fenced by a claim.
type Ledger interface {
	Journal

	// Claim makes node the owner of a Running operation: epoch + 1. CodeNotFound when it is gone; nil when
	// it is not Running.
	Claim(ctx context.Context, opID, node string) (*Claimed, error)
	// CommitTick stores the outcome of a tick, fenced by c.
	CommitTick(ctx context.Context, c Claim, t Tick) error
	// CheckClaim returns ErrFenced when c is not the newest claim. A tick that waits asks it before it goes on.
	CheckClaim(ctx context.Context, c Claim) error
}

// VimRegistry finds registered VIMs for the work on an operation.
type VimRegistry interface {
	// RegisteredVims returns connections to the VIMs with these ids that are registered in the project of an instance,
	// by id. The id of an instance stands for the cluster that it has made, which is there under both ids. VIMs that do
	// not exist in the project are absent.
	RegisteredVims(ctx context.Context, instanceID string, ids []string) (map[string]sol.VimConnectionInfo, error)
}

// Query bounds a list.
type Query struct {
	After      string // id after which to start, "" = from the beginning
	Limit      int    // number of rows, 0 = all
	InstanceID string // operations of one instance only
	// States limits operations to these states.
	States []sol.LcmOperationStateType
	// Where are expressions on InstanceColumns or OperationColumns that have to hold. A list of documents ends early if
	// it had to read many rows for them, see Document.
	Where []filter.Expr
	// Brief leaves out what is large or sealed: of instances VimConnections, ConfigurableProperties, Metadata,
	// Extensions, Instantiated, Inventory, Params, PreviousVims, Assembled and SSHKey; of operations Params,
	// ResourceChanges, ChangedInfo, ChangedExtConnectivity and Modifications.
	Brief bool
}

// InstanceColumns are the attributes of instances on which the store evaluates expressions.
var InstanceColumns = filter.Columns{
	"id": filter.Text, "vnfInstanceName": filter.Text, "vnfInstanceDescription": filter.Text, "vnfdId": filter.Text,
	"vnfProvider": filter.Text, "vnfProductName": filter.Text, "vnfSoftwareVersion": filter.Text,
	"vnfdVersion": filter.Text, "instantiationState": filter.Text,
}

// OperationColumns are the attributes of operations on which the store evaluates expressions.
var OperationColumns = filter.Columns{
	"id": filter.Text, "vnfInstanceId": filter.Text, "operationState": filter.Text, "operation": filter.Text,
	"startTime": filter.Instant, "stateEnteredTime": filter.Instant, "isAutomaticInvocation": filter.Truth,
	"isCancelPending": filter.Truth, "cancelMode": filter.Text, "grantId": filter.Text,
}

// Claimed is what a node needs to work on an operation.
type Claimed struct {
	Op       *Operation
	Instance *Instance
	// Phase is the record of Op.Phase, nil when it has not begun.
	Phase *PhaseRecord
	// Renewed are the keys of connections of the instance that have new credentials of their registered VIMs (Renew).
	Renewed []string
	// ClusterGone is the id of the instance that made the cluster in which the resources of Instance were, and that was
	// terminated or deleted since then; "" for none.
	ClusterGone string
}

// Tick is the outcome of one or more phases run under a claim.
type Tick struct {
	Op       *Operation    // complete: state, phase, waiting, error, grant, changes
	Instance *Instance     // nil when the instance did not change
	Phases   []PhaseRecord // inserted or replaced by name
	Effects  Effects
	Messages []Message
}

// PhaseState is where a phase stands.
type PhaseState string

// The states of a phase.
const (
	PhaseRunning PhaseState = "RUNNING"
	PhaseWaiting PhaseState = "WAITING"
	PhaseDone    PhaseState = "DONE"
	PhaseFailed  PhaseState = "FAILED"
)

// PhaseRecord is the durable record of a phase of an operation; (operation, Name) is unique.
type PhaseRecord struct {
	Run      int        `json:"run,omitempty"` // the operation's run that it belongs to; set by the store
	Name     string     `json:"name"`
	State    PhaseState `json:"state"`
	Attempts int        `json:"attempts"` // attempts that failed, those of this retry series included
	// Failing counts consecutive failures; it decides the backoff and when to give up.
	Failing  int       `json:"failing"`
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished,omitzero"`
	Detail   string    `json:"detail,omitempty"`
	Error    *Failure  `json:"error,omitempty"`
}

// Message is a notification for the outbox: one row, fanned out to the matching subscriptions later.
type Message struct {
	ID          string // UUID; the notification's id, the same on every delivery
	Kind        string // notificationType of SOL003
	InstanceID  string
	OperationID string
	Time        time.Time
	// Body is the notification without subscriptionId and _links.
	Body json.RawMessage
}

// Clock tells the time; tests bring their own.
type Clock interface {
	Now() time.Time
}

// SystemClock is the machine's clock in UTC with the microseconds PostgreSQL keeps.
type SystemClock struct{}

// Now returns the current time.
func (SystemClock) Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
