package lcm

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Operation is the durable VNF LCM operation occurrence (SOL003 VnfLcmOpOcc) with its engine state.
type Operation struct {
	ID           string // UUID
	InstanceID   string
	Type         sol.LcmOperationType
	State        sol.LcmOperationStateType
	StateEntered time.Time
	Started      time.Time
	Updated      time.Time
	Version      int64
	Automatic    bool // isAutomaticInvocation
	// Actions are the requests of users about it, the oldest first; nil for one of an earlier release.
	Actions []Action

	// Params is the request body as accepted; it may hold secrets, is encrypted at rest and redacted in answers.
	Params json.RawMessage

	// SecretNames are those of the instance and of the request (Instance.SecretNames).
	SecretNames []string

	// Phase is the name of the phase under way, "" before the first and after the last.
	Phase string
	// Run numbers the passes over the phases: a rollback, and a retry after a failed rollback, begin a new
	// one. Phase and step records belong to a run, so that a pass never takes an earlier one's work for its own.
	Run int
	// FailedIn is the state in which the operation failed last.
	FailedIn sol.LcmOperationStateType
	// Try is the number of the current try: 1 at admission, one more with every retry and rollback. A driver that
	// finds a failure of an earlier try begins again; one of this try it reports.
	Try int
	// Cancel is the mode in which the user has asked to cancel it; "" without a request, and again after it is
	// cancelled.
	Cancel sol.CancelModeType
	// Epoch is the fence: it grows with every claim.
	Epoch int64
	// Node is the id of the node that claimed it last.
	Node string
	// Waiting says what the current phase waits for, in words for the user; "" when it is working.
	Waiting string
	// Deadline is the time after which the operation fails instead of going on.
	Deadline time.Time

	Grant *Grant
	// GrantHref is the URI of the grant at the NFVO; "" without an NFVO.
	GrantHref string
	// GrantParams are the additionalParams of the grant. They may hold secrets and are encrypted at rest.
	GrantParams sol.KeyValuePairs

	// ScriptData is what a script of the package has left for scripts of later hooks of the operation (JSON); nil for
	// none. It may hold secrets and is encrypted at rest, and never shown.
	ScriptData json.RawMessage `json:",omitempty"`

	// VnfPkgID is the package that CHANGE_VNFPKG, or MODIFY_INFO with a vnfdId, takes the instance to; "" for any other
	// operation and when it has ended. Until then neither it nor the package that the instance had can be deleted.
	VnfPkgID string

	// Scope and Before are decided at admission, with the instance locked, and do not change.
	Scope *Scope
	// Before is the instance as it was then; nil for INSTANTIATE and when the operation has ended. Differences are
	// counted from it, and a rollback leads back to it. It holds credentials and is encrypted at rest. The Store fills
	// it in Claim only.
	Before *Instance
	// VimKey is the VimKey of the instance's primary connection, "" without one. The admission sets it, and a grant
	// that brings the connection (Execution.Share).
	VimKey string

	Error                  *Failure
	ResourceChanges        *sol.ResourceChanges
	ChangedInfo            *sol.VnfInfoModifications
	ChangedExtConnectivity []sol.ExtVirtualLinkInfo
	// Modifications are those that a change of the package brought about.
	Modifications *sol.ModificationsTriggeredByVnfPkgChange
}

// Kind returns the operation's row in the table of operations.
func (o *Operation) Kind() *OperationKind { return kindOf(o.Type) }

// Scope is what an operation is to do to the VNFCs of an instance.
type Scope struct {
	// Flavour is the deployment flavour that holds afterwards.
	Flavour string `json:"flavour"`
	// ScaleLevels holds the scale level of every aspect afterwards, Counts the number of VNFCs of every VDU.
	ScaleLevels map[string]int `json:"scaleLevels,omitempty"`
	Counts      map[string]int `json:"counts,omitempty"`
	// Add is the number of new VNFCs by VDU; VDUs without any are left out.
	Add map[string]int `json:"add,omitempty"`
	// Remove holds the vnfcInfo ids of the VNFCs that go, in the order in which they go.
	Remove []string `json:"remove,omitempty"`
	// Replace holds the vnfcInfo ids of the VNFCs whose machines a CHANGE_FLAVOUR or CHANGE_VNFPKG may delete and
	// recreate, or give another disk, as the infra driver expects (Infra.Replaces).
	Replace []string `json:"replace,omitempty"`
	// VNFCs holds the vnfcInfo ids that HEAL, OPERATE and CHANGE_VNFPKG are about.
	VNFCs []string `json:"vnfcs,omitempty"`
	// Whole means that a HEAL deletes and recreates everything.
	Whole bool `json:"whole,omitempty"`
	// Storages means that a HEAL of single VNFCs replaces their storages, too.
	Storages bool `json:"storages,omitempty"`
	// Fresh means that the disks of VNFCs that a HEAL recreates come from the package, also those of VNFCs that were
	// reverted to a snapshot (HookHandler.Installs).
	Fresh bool `json:"fresh,omitempty"`
	// Snapshot is the one that a CREATE_SNAPSHOT fills or a REVERT_TO_SNAPSHOT uses; nil for any other operation.
	Snapshot *SnapshotScope `json:"snapshot,omitempty"`
}

// Failure is why an operation is in FAILED_TEMP, FAILED or ROLLED_BACK (VnfLcmOpOcc.error).
type Failure struct {
	Status int            `json:"status"`
	Title  string         `json:"title,omitempty"`
	Detail string         `json:"detail"`
	Hint   string         `json:"hint,omitempty"`
	Phase  string         `json:"phase,omitempty"`
	Params []InvalidParam `json:"params,omitempty"`
}

// FailureOf makes the durable failure of an error met in a phase.
func FailureOf(err error, phase string) *Failure {
	e := AsError(err)
	return &Failure{Status: e.Status(), Title: e.Title, Detail: e.Detail, Hint: e.Hint, Phase: phase, Params: e.Params}
}

// Reason is why the operation has failed, as users see it. The hint says what to do about the operation, so it is left
// out where nothing can be done: while it goes on, and when it has ended but for one that came to nothing before it
// began, whose request may be sent again.
func (o *Operation) Reason() *Failure {
	began := o.State != sol.LcmOperationStateRolledBack || o.FailedIn != sol.LcmOperationStateStarting
	if o.Error == nil || o.State == sol.LcmOperationStateFailedTemp || !began {
		return o.Error
	}
	out := *o.Error
	out.Hint = ""
	return &out
}

// Active says whether the operation still holds its instance: at most one per instance does.
// FAILED_TEMP counts, as the standard forbids another operation until it is resolved.
func Active(s sol.LcmOperationStateType) bool { return slices.Contains(ActiveStates, s) }

// Running says whether a node has work to do for an operation in this state.
func Running(s sol.LcmOperationStateType) bool { return slices.Contains(RunningStates, s) }

// Grant is what the NFVO (or the local grantor) allowed: where VNFCs go and which VIM assets they use.
type Grant struct {
	ID string `json:"id"`
	// Zones holds the granted zone by VDU, or by VNFC where they differ: the key is then "<VDU>-<index>", and goes
	// first. What is absent goes where the VIM likes. Only VNFCs that the operation adds are granted a zone.
	Zones map[string]string `json:"zones,omitempty"`
	// OtherZones may be taken, in this order, where a granted zone has no room; nil = none may.
	OtherZones []string `json:"otherZones,omitempty"`
	// Images and Flavours hold VIM ids or names by VNFD node name; absent = as the VNFD says.
	Images   map[string]string `json:"images,omitempty"`
	Flavours map[string]string `json:"flavours,omitempty"`
	// ExtVirtualLinks and ExtManagedVirtualLinks take precedence over those of the request.
	ExtVirtualLinks        []sol.ExtVirtualLinkData        `json:"extVirtualLinks,omitempty"`
	ExtManagedVirtualLinks []sol.ExtManagedVirtualLinkData `json:"extManagedVirtualLinks,omitempty"`
	// Assets are those that the grant named for the package; nil when it named none.
	Assets *VimAssets `json:"assets,omitempty"`
	// New holds the ids of the definitions of the resources that the operation adds (DefinitionID, DefinitionOf); only
	// an NFVO's grant has them.
	New []string `json:"new,omitempty"`
}

// VimAssets are the flavours and images that an NFVO provides in the VIM for a package: ids or names by VNFD node name.
type VimAssets struct {
	Flavours map[string]string `json:"flavours,omitempty"`
	Images   map[string]string `json:"images,omitempty"`
}

// AdditionalParams returns the additionalParams of the operation's request.
func (o *Operation) AdditionalParams() (sol.KeyValuePairs, error) { return decodeParams(o.Params) }

// decodeParams decodes the additionalParams of any request body.
func decodeParams(raw json.RawMessage) (sol.KeyValuePairs, error) {
	var body struct {
		AdditionalParams sol.KeyValuePairs `json:"additionalParams"`
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return nil, fmt.Errorf("decode additionalParams: %w", err)
	}
	return body.AdditionalParams, nil
}
