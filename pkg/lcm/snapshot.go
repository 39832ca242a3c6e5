package lcm

import (
	"fmt"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Snapshot is the durable VNF snapshot resource (SOL003 VnfSnapshotInfo) with what only we keep.
type Snapshot struct {
	ID      string // UUID
	Version int64  // grows with every write; the ETag
	Created time.Time
	Updated time.Time
	// PkgID is the vnfSnapshotPkgId that the NFVO has set; "" is none.
	PkgID string

	// Operation is the CREATE_SNAPSHOT that fills the resource or has filled it; "" while the resource is empty.
	Operation string
	// InstanceID is the VNF instance that the snapshot is of, which may not exist any more.
	InstanceID string
	Started    time.Time
	// Finished is the end of the operation; zero while the snapshot is not complete.
	Finished time.Time
	// Instance is the instance as the operation has found it. It holds the credentials with which the snapshot is
	// deleted: encrypted at rest, redacted in every answer.
	Instance *Instance
	UserData sol.RawPairs // userDefinedData
	// VNFCs has the resources in the VIM, by vnfcInfo id.
	VNFCs map[string]VNFCSnapshot
	// Deleting is until when a request may delete the snapshot; zero is no request.
	Deleting time.Time
}

// VNFCSnapshot is the snapshot of one VNFC.
type VNFCSnapshot struct {
	// ID is its vnfcSnapshotInfoId: unique in the snapshot, "<VDU>-<index>".
	ID string `json:"id"`
	// VNFC and Resource are the ids in vnfcInfo and vnfcResourceInfo at that time.
	VNFC     string    `json:"vnfc"`
	Resource string    `json:"resource"`
	VDU      string    `json:"vdu"`
	Index    int       `json:"index"`
	Started  time.Time `json:"started,omitzero"`
	Finished time.Time `json:"finished,omitzero"`
	// Vim is the key of the VIM connection.
	Vim string `json:"vim"`
	// Compute is what a machine's own disk became; nil for a machine that has only storages.
	Compute  *SnapshotResource `json:"compute,omitempty"`
	Storages []SnapshotStorage `json:"storages,omitempty"`
}

// SnapshotResource is a resource in the VIM that a snapshot consists of.
type SnapshotResource struct {
	Type string `json:"type"` // the VIM's name for the kind of resource
	ID   string `json:"id"`
	Name string `json:"name"`
}

// SnapshotStorage is the snapshot of one storage.
type SnapshotStorage struct {
	// Storage is the id in virtualStorageResourceInfo, and Name that of the resource in the template.
	Storage  string `json:"storage"`
	Name     string `json:"name"`
	Resource SnapshotResource
}

// SnapshotScope is the snapshot that an operation is about.
type SnapshotScope struct {
	ID string `json:"id"`
	// Version is that of the snapshot when the operation was decided.
	Version int64 `json:"version"`
	// VNFCs are those to which a REVERT_TO_SNAPSHOT reverts the VNFCs of the scope, in the same order.
	VNFCs []VNFCSnapshot `json:"vnfcs,omitempty"`
}

// SnapshotDocument is the document of a snapshot. Its Details contain links, so they are made when it is presented.
type SnapshotDocument struct {
	Document
	// Content is the JSON of vnfSnapshot without vnfInstance; nil while the snapshot is not complete, and in a document
	// of a Query.Brief.
	Content []byte
	// Instance is the JSON of vnfInstance without links; nil without Content.
	Instance []byte
	// InstanceID is "" while the snapshot is not complete.
	InstanceID string
}

// SnapshotEffect is what a tick changes in the snapshot of its operation.
type SnapshotEffect struct {
	VNFCs map[string]VNFCSnapshot // added, or replaced by id
	// Finished is the end of the operation that has filled the snapshot; zero for any other tick.
	Finished time.Time
	// Release makes the snapshot an empty one again.
	Release bool
}

// Changes says whether there is anything to store.
func (e SnapshotEffect) Changes() bool { return len(e.VNFCs) > 0 || e.Release || !e.Finished.IsZero() }

// SnapshotID is the snapshot that an operation creates or reverts to; "" for any other operation.
func (o *Operation) SnapshotID() string {
	if o.Scope == nil || o.Scope.Snapshot == nil {
		return ""
	}
	return o.Scope.Snapshot.ID
}

// RecordSnapshot stores the snapshot of a VNFC with the operation's snapshot when the tick commits.
func (w *Execution) RecordSnapshot(s VNFCSnapshot) {
	if w.whole != nil {
		w.whole.RecordSnapshot(s)
		return
	}
	if w.effects.Snapshot.VNFCs == nil {
		w.effects.Snapshot.VNFCs = map[string]VNFCSnapshot{}
	}
	w.effects.Snapshot.VNFCs[s.VNFC] = s
}

// SnapshotSource is the part of an instance that a snapshot keeps: what clients see of it, and what is needed to delete
// the snapshot.
func (i *Instance) SnapshotSource() *Instance {
	out := *i
	out.Params, out.PreviousVims, out.SSHKey, out.Protection, out.Assembled = "", nil, nil, nil, nil
	return &out
}

// ComputeIndex is the index of a VNFC among those of its VDU; false when the inventory does not have its machine.
func (i *Instance) ComputeIndex(vnfc string) (int, bool) {
	for _, r := range i.Inventory {
		if r.VNFC == vnfc && (r.Kind == KindCompute || r.Kind == KindContainer) {
			return r.Index, true
		}
	}
	return 0, false
}

// VNFCSnapshotID is the id of the snapshot of a VNFC.
func VNFCSnapshotID(vdu string, index int) string { return fmt.Sprintf("%s-%d", vdu, index) }

// SnapshotInUse returns the CodeConflict error of a request that an operation with the snapshot forbids.
func SnapshotInUse(id, opID string, t sol.LcmOperationType, state sol.LcmOperationStateType) *Error {
	e := ActiveConflict(opID, t, state)
	e.Title = "VNF snapshot is in use"
	e.Detail = fmt.Sprintf("operation %s (%s), which is %s, uses the VNF snapshot %s", opID, t, state, id)
	return e
}

// SnapshotChanged returns the CodeConflict error of a request that has seen another version of a snapshot.
func SnapshotChanged(id string) *Error {
	return Errorf(CodeConflict, "the VNF snapshot %s has just been changed, or is being deleted", id).
		WithHint("read it, and send the request again if it still makes sense")
}
