package render

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/redact"
)

// snapshot is sol.VnfSnapshot with members that are encoded already.
type snapshot struct {
	ID                 string                 `json:"id"`
	VnfInstanceID      string                 `json:"vnfInstanceId"`
	CreationStartedAt  *time.Time             `json:"creationStartedAt,omitempty"`
	CreationFinishedAt *time.Time             `json:"creationFinishedAt,omitempty"`
	VnfdID             string                 `json:"vnfdId"`
	VnfInstance        json.RawMessage        `json:"vnfInstance"`
	VnfcSnapshots      []sol.VnfcSnapshotInfo `json:"vnfcSnapshots"`
	UserDefinedData    sol.RawPairs           `json:"userDefinedData,omitempty"`
}

// Snapshot makes the document of a VNF snapshot. One that is not complete has no content. Its id is that of the
// resource: there is one for each.
func Snapshot(s *lcm.Snapshot) (*lcm.SnapshotDocument, error) {
	brief, err := json.Marshal(sol.VnfSnapshotInfo{ID: s.ID, VnfSnapshotPkgID: s.PkgID})
	if err != nil {
		return nil, err
	}
	d := &lcm.SnapshotDocument{Document: lcm.Document{ID: s.ID, Version: s.Version, Updated: s.Updated, Brief: brief}}
	if s.Finished.IsZero() {
		return d, nil
	}
	d.InstanceID = s.InstanceID
	if s.Instance == nil { // of a brief list
		return d, nil
	}
	i, err := Instance(s.Instance)
	if err != nil {
		return nil, err
	}
	out := snapshot{
		ID: s.ID, VnfInstanceID: s.InstanceID, CreationStartedAt: instant(s.Started),
		CreationFinishedAt: instant(s.Finished), VnfdID: s.Instance.VnfdID, VnfInstance: Join(i.Brief, i.Details),
		VnfcSnapshots: []sol.VnfcSnapshotInfo{},
	}
	for _, c := range slices.SortedFunc(maps.Values(s.VNFCs), func(a, b lcm.VNFCSnapshot) int {
		return strings.Compare(a.ID, b.ID)
	}) {
		out.VnfcSnapshots = append(out.VnfcSnapshots, vnfcSnapshot(c))
	}
	if out.UserDefinedData, err = redact.New(s.Instance.SecretNames...).NamedRaw(s.UserData); err != nil {
		return nil, err
	}
	d.Details, err = json.Marshal(struct {
		VnfSnapshot snapshot `json:"vnfSnapshot"`
	}{out})
	return d, err
}

func vnfcSnapshot(c lcm.VNFCSnapshot) sol.VnfcSnapshotInfo {
	out := sol.VnfcSnapshotInfo{
		ID: c.ID, VnfcInstanceID: c.VNFC, VnfcResourceInfoID: c.Resource, CreationStartedAt: instant(c.Started),
		CreationFinishedAt: instant(c.Finished),
	}
	if c.Compute != nil {
		out.ComputeSnapshotResource = handleOf(c.Vim, *c.Compute)
	}
	for _, s := range c.Storages {
		out.StorageSnapshotResources = append(out.StorageSnapshotResources, sol.StorageSnapshotResource{
			StorageResourceID: s.Storage, StorageSnapshotResource: handleOf(c.Vim, s.Resource),
		})
	}
	return out
}

func handleOf(vim string, r lcm.SnapshotResource) *sol.ResourceHandle {
	return &sol.ResourceHandle{VimConnectionID: vim, ResourceID: r.ID, VimLevelResourceType: r.Type}
}

// instant is nil for the zero time.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
