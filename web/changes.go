package web

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/redact"
)

// scopeOf says what an operation is to do to the VNFCs. names are those of VNFCs by id.
func scopeOf(op *lcm.Operation, names map[string]string) []pair {
	s := op.Scope
	if s == nil {
		return nil
	}
	var out []pair
	add := func(name, value string) {
		if value != "" {
			out = append(out, pair{name, value})
		}
	}
	if s.Whole {
		add("Recreates", "the whole VNF; everything is deleted first")
	}
	add("Works on", namesOf(s.VNFCs, names))
	add("Adds", counted(s.Add))
	add("Removes", namesOf(s.Remove, names))
	add("Resulting flavour", s.Flavour)
	add("Resulting scale levels", counted(s.ScaleLevels))
	add("Resulting VNFCs", counted(s.Counts))
	return out
}

// namesOf lists VNFCs by name; those that are gone have only their id.
func namesOf(ids []string, names map[string]string) string {
	out := make([]string, len(ids))
	for n, id := range ids {
		out[n] = cmp.Or(names[id], id)
	}
	return strings.Join(out, ", ")
}

// counted lists numbers by name.
func counted(m map[string]int) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k+": "+strconv.Itoa(m[k]))
	}
	return strings.Join(out, ", ")
}

// changeRow is one thing that an operation did.
type changeRow struct {
	Change, Kind, Name, ID, Resource, Detail string
}

// changesOf lists what an operation did to resources and external connectivity.
func changesOf(op *lcm.Operation, names map[string]string) []changeRow {
	var out []changeRow
	if c := op.ResourceChanges; c != nil {
		for _, v := range c.AffectedVnfcs {
			out = append(out, changeRow{
				words(v.ChangeType), "VNFC", cmp.Or(names[v.ID], v.VduID), v.ID, v.ComputeResource.ResourceID,
				strings.Trim(amount(v.AddedStorageResourceIds, "storage added", "storages added")+", "+
					amount(v.RemovedStorageResourceIds, "storage removed", "storages removed"), ", "),
			})
		}
		for _, v := range c.AffectedVirtualLinks {
			out = append(out, changeRow{
				words(v.ChangeType), "Virtual link", v.VnfVirtualLinkDescID, v.ID,
				v.NetworkResource.ResourceID, amount(v.VnfLinkPortIds, "port", "ports"),
			})
		}
		for _, v := range c.AffectedExtLinkPorts {
			out = append(out, changeRow{
				words(v.ChangeType), "External port", "", v.ID, v.ResourceHandle.ResourceID, "of " + v.ExtCpInstanceID,
			})
		}
		for _, v := range c.AffectedVirtualStorages {
			out = append(out, changeRow{
				words(v.ChangeType), "Storage", v.VirtualStorageDescID, v.ID, v.StorageResource.ResourceID, "",
			})
		}
	}
	for _, v := range op.ChangedExtConnectivity {
		var points []string
		for _, cp := range v.CurrentVnfExtCpData {
			points = append(points, cp.CpdID)
		}
		out = append(out, changeRow{
			"Modified", "External link", strings.Join(points, ", "), v.ID,
			v.ResourceHandle.ResourceID, amount(v.ExtLinkPorts, "port now", "ports now"),
		})
	}
	return out
}

// amount counts what has no name worth showing; "" for none.
func amount[T any](things []T, one, many string) string {
	if len(things) == 0 {
		return ""
	}
	return plural(len(things), one, many)
}

// attributesOf lists the attributes of the instance that an operation changed, without secrets.
func attributesOf(op *lcm.Operation) []pair {
	r := redact.New(op.SecretNames...)
	return slices.Concat(leaves(r.Changes(op.ChangedInfo), r), leaves(op.Modifications, r))
}

// leaves lists the values in a type of the standard.
func leaves(v any, r redact.Redactor) []pair {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	var kv sol.KeyValuePairs
	if json.Unmarshal(raw, &kv) != nil {
		return nil
	}
	return flatten(kv, r)
}
