package userdata

import (
	"maps"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// ExtCP finds the external virtual link that connects a CP of the VNFD: indexes into links and its extCps.
func ExtCP(links []sol.ExtVirtualLinkData, cpd string) (link, cp int, ok bool) {
	for i, l := range links {
		for j, c := range l.ExtCps {
			if c.CpdID == cpd {
				return i, j, true
			}
		}
	}
	return 0, 0, false
}

// Config returns the cpConfig entry for the CP of the VNFC with this index (-1 counts as 0). With several entries each VNFC has its own, in
// the natural order of their keys, and the last is shared by those that are left; the key is "" when there is no entry.
func Config(data sol.VnfExtCpData, index int) (string, sol.VnfExtCpConfig) {
	keys := slices.SortedFunc(maps.Keys(data.CpConfig), natural)
	if len(keys) == 0 {
		return "", sol.VnfExtCpConfig{}
	}
	k := keys[min(max(index, 0), len(keys)-1)]
	return k, data.CpConfig[k]
}

// natural orders names so that a-2 comes before a-10.
func natural(a, b string) int {
	x, i := split(strings.ReplaceAll(a, "_", "-"))
	y, j := split(strings.ReplaceAll(b, "_", "-"))
	if x == y && i != j {
		return i - j
	}
	return strings.Compare(a, b)
}
