package cli

import (
	"io"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// choices are what can be done with an operation now.
func choices(l *sol.VnfLcmOpOccLinks) string {
	if l == nil {
		return ""
	}
	var out []string
	for _, c := range []struct {
		verb string
		link *sol.Link
	}{{"cancel", l.Cancel}, {"retry", l.Retry}, {"rollback", l.Rollback}, {"fail", l.Fail}} {
		if c.link != nil {
			out = append(out, c.verb)
		}
	}
	return strings.Join(out, ", ")
}

// changesTable shows what an operation did: to resources, external connectivity and attributes of the instance.
func (a *app) changesTable(w io.Writer, op *sol.VnfLcmOpOcc) {
	t := table{head: []string{"CHANGE", "KIND", "DESCRIPTOR", "ID", "RESOURCE", "DETAIL"}}
	if c := op.ResourceChanges; c != nil {
		for _, v := range c.AffectedVnfcs {
			t.add(string(v.ChangeType), "VNFC", v.VduID, v.ID, v.ComputeResource.ResourceID,
				listed("storages added", v.AddedStorageResourceIds)+listed(
					"storages removed", v.RemovedStorageResourceIds,
				))
		}
		for _, v := range c.AffectedVirtualLinks {
			t.add(string(v.ChangeType), "virtual link", v.VnfVirtualLinkDescID, v.ID, v.NetworkResource.ResourceID,
				listed("ports", v.VnfLinkPortIds))
		}
		for _, v := range c.AffectedExtLinkPorts {
			t.add(string(v.ChangeType), "external port", "", v.ID, v.ResourceHandle.ResourceID,
				listed("connection point", []string{v.ExtCpInstanceID}))
		}
		for _, v := range c.AffectedVirtualStorages {
			t.add(string(v.ChangeType), "storage", v.VirtualStorageDescID, v.ID, v.StorageResource.ResourceID, "")
		}
	}
	for _, v := range op.ChangedExtConnectivity {
		var points []string
		for _, cp := range v.CurrentVnfExtCpData {
			points = append(points, cp.CpdID)
		}
		t.add("NOW", "external link", "", v.ID, v.ResourceHandle.ResourceID, listed("connection points", points))
	}
	if len(t.rows) > 0 {
		printline(w)
		t.write(w, a.paint)
	}
	changed := []string{"changed attributes", "", "changed by the package", ""}
	if op.ChangedInfo != nil {
		changed[1] = compact(op.ChangedInfo)
	}
	if op.ModificationsTriggeredByVnfPkgChange != nil {
		changed[3] = compact(op.ModificationsTriggeredByVnfPkgChange)
	}
	if changed[1]+changed[3] != "" {
		printline(w)
		fields(w, a.paint, changed...)
	}
}

// listed is a name with ids, "" without ids; a following one is set off.
func listed(name string, ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return name + " " + strings.Join(ids, " ") + " "
}
