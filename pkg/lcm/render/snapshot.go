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

// snapshot is sol.VnfSnapshot without vnfInstance, and with members that are encoded already.
type snapshot struct {
	ID                 string                 `json:"id"`
	VnfInstanceID      string                 `json:"vnfInstanceId"`
	CreationStartedAt  *time.Time             `json:"creationStartedAt,omitempty"`
	CreationFinishedAt *time.Time             `json:"creationFinishedAt,omitempty"`
	VnfdID             string                 `json:"vnfdId"`
	VnfcSnapshots      []sol.VnfcSnapshotInfo `json:"vnfcSnapshots"`
	UserDefinedData    sol.RawPairs           `json:"userDefinedData,omitempty"`
}

// Snapshot makes the document of a VNF snapshot. One that is not complete has no content. Its id is that of the
// resource: there is one for each. It has no Details: SnapshotDetails makes them with the links.
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
	d.Instance = Join(i.Brief, i.Details)
	out := snapshot{
		ID: s.ID, VnfInstanceID: s.InstanceID, CreationStartedAt: instant(s.Started),
		CreationFinishedAt: instant(s.Finished), VnfdID: s.Instance.VnfdID, VnfcSnapshots: []sol.VnfcSnapshotInfo{},
	}
	for _, c := range slices.SortedFunc(maps.Values(s.VNFCs), func(a, b lcm.VNFCSnapshot) int {
		return strings.Compare(a.ID, b.ID)
	}) {
		out.VnfcSnapshots = append(out.VnfcSnapshots, vnfcSnapshot(c))
	}
	if out.UserDefinedData, err = redact.New(s.Instance.SecretNames...).NamedRaw(s.UserData); err != nil {
		return nil, err
	}
	d.Content, err = json.Marshal(out)
	return d, err
}

// SnapshotDetails makes the Details of a document: the attribute vnfSnapshot, in which vnfInstance has links, as v3.7.1
// of SOL003 requires (clause 5.5.2.2). They are nil for a document without content.
func SnapshotDetails(d *lcm.SnapshotDocument, links []byte) []byte {
	if d.Content == nil {
		return nil
	}
	instance := Join(d.Instance, member("_links", links))
	return member("vnfSnapshot", Join(d.Content, member("vnfInstance", instance)))
}

// member makes a JSON object with one member.
func member(name string, value []byte) []byte {
	return slices.Concat([]byte(`{"`+name+`":`), value, []byte{'}'})
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
