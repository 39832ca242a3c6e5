package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// instanceTable shows an instance to a person: what it is, then its parts as tables.
func (a *app) instanceTable(w io.Writer, i *sol.VnfInstance, p *gybeapi.Protection) {
	pairs := []string{
		"id", i.ID, "name", i.VnfInstanceName, "description", i.VnfInstanceDescription,
		"state", string(i.InstantiationState), "protection", protectionText(p),
		"product", strings.TrimSpace(i.VnfProvider + " " + i.VnfProductName + " " + i.VnfSoftwareVersion),
		"vnfd", i.VnfdID + " version " + i.VnfdVersion,
		"metadata", compact(i.Metadata), "extensions", compact(i.Extensions), "properties",
		compact(i.VnfConfigurableProperties),
	}
	if info := i.InstantiatedVnfInfo; info != nil {
		var scale []string
		for _, s := range info.ScaleStatus {
			scale = append(scale, s.AspectID+": "+scaleText(s, info.MaxScaleLevels))
		}
		pairs = append(
			pairs, "flavour", info.FlavourID, "vnf state", string(info.VnfState), "scale", strings.Join(scale, ", "),
		)
	}
	fields(w, a.paint, pairs...)
	if info := i.InstantiatedVnfInfo; info != nil {
		a.instantiatedTable(w, info, member(i) == "pod")
	}
	if len(i.VimConnectionInfo) > 0 {
		t := table{head: []string{"VIM", "TYPE", "ENDPOINT", "PROJECT"}}
		for _, key := range slices.Sorted(maps.Keys(i.VimConnectionInfo)) {
			v := i.VimConnectionInfo[key]
			t.add(key, v.VimType, text(v.InterfaceInfo["endpoint"]), text(v.AccessInfo["project"]))
		}
		printline(w)
		t.write(w, a.paint)
	}
}

func (a *app) instantiatedTable(w io.Writer, info *sol.InstantiatedVnfInfo, pods bool) {
	if len(info.VnfcResourceInfo) > 0 {
		resource := "SERVER"
		if pods {
			resource = "POD"
		}
		t := table{head: []string{"VNFC", "VDU", "STATE", resource, "FLAVOR", "ZONE"}}
		for _, r := range info.VnfcResourceInfo {
			id, state := "", ""
			for _, c := range info.VnfcInfo {
				if c.VnfcResourceInfoID == r.ID {
					id, state = c.ID, string(c.VnfcState)
				}
			}
			t.add(cmp.Or(id, r.ID), r.VduID, state, r.ComputeResource.ResourceID, text(r.Metadata["flavor"]), r.ZoneID)
		}
		slices.SortFunc(
			t.rows, func(x, y []string) int { return cmp.Or(cmp.Compare(x[1], y[1]), cmp.Compare(x[0], y[0])) },
		)
		t.dropEmpty("FLAVOR", "ZONE")
		printline(w)
		t.write(w, a.paint)
	}
	if len(info.ExtCpInfo) > 0 {
		t := table{head: []string{"EXTERNAL CP", "CPD", "CONFIG", "ADDRESSES"}}
		for _, cp := range info.ExtCpInfo {
			t.add(cp.ID, cp.CpdID, cp.CpConfigID, addresses(cp.CpProtocolInfo))
		}
		printline(w)
		t.write(w, a.paint)
	}
	if len(info.VirtualStorageResourceInfo) > 0 {
		t := table{head: []string{"STORAGE", "DESCRIPTOR", "RESOURCE"}}
		for _, s := range info.VirtualStorageResourceInfo {
			t.add(s.ID, s.VirtualStorageDescID, s.StorageResource.ResourceID)
		}
		printline(w)
		t.write(w, a.paint)
	}
}

// scaleText says how far an aspect is scaled.
func scaleText(s sol.ScaleInfo, limits []sol.ScaleInfo) string {
	for _, l := range limits {
		if l.AspectID == s.AspectID {
			return fmt.Sprintf("%d of %d", s.ScaleLevel, l.ScaleLevel)
		}
	}
	return strconv.Itoa(s.ScaleLevel)
}

// addresses lists what a connection point answers to.
func addresses(infos []sol.CpProtocolInfo) string {
	var out []string
	for _, info := range infos {
		if info.IpOverEthernet == nil {
			continue
		}
		for _, ip := range info.IpOverEthernet.IpAddresses {
			out = append(out, ip.Addresses...)
		}
	}
	return strings.Join(out, " ")
}

// text shows a value of an open object.
func text(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}
