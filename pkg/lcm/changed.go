package lcm

import (
	"maps"
	"reflect"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// changedInfo lists the attributes of an instance that differ from before, with their new values (SOL003 clause
// 5.5.2.12). Objects hold only the members that differ; one that is gone is null. It returns nil when nothing differs.
// The package's attributes are changedPackage's.
func changedInfo(before, now *Instance) (*sol.VnfInfoModifications, error) {
	m := sol.VnfInfoModifications{
		VnfInstanceName:        other(before.Name, now.Name),
		VnfInstanceDescription: other(before.Description, now.Description),
	}
	for _, p := range []struct {
		to          *sol.KeyValuePairs
		before, now sol.RawPairs
	}{
		{&m.VnfConfigurableProperties, before.ConfigurableProperties, now.ConfigurableProperties},
		{&m.Metadata, before.Metadata, now.Metadata},
		{&m.Extensions, before.Extensions, now.Extensions},
	} {
		var err error
		if *p.to, err = differenceOfRaw(p.before, p.now); err != nil {
			return nil, err
		}
	}
	for _, key := range sortedKeys(now.VimConnections) {
		if c := now.VimConnections[key]; !reflect.DeepEqual(before.VimConnections[key], c) {
			if m.VimConnectionInfo == nil {
				m.VimConnectionInfo = map[string]sol.VimConnectionInfo{}
			}
			m.VimConnectionInfo[key] = c
		}
	}
	if now.Instantiated != nil {
		for _, c := range now.Instantiated.VnfcInfo {
			old, _, had := before.VNFC(c.ID)
			if d := difference(old.VnfcConfigurableProperties, c.VnfcConfigurableProperties); had && d != nil {
				m.VnfcInfoModifications = append(
					m.VnfcInfoModifications, sol.VnfcInfoModifications{ID: c.ID, VnfcConfigurableProperties: d},
				)
			}
		}
	}
	return orNil(m), nil
}

// changedPackage lists the attributes that come from the package and differ from before.
func changedPackage(before, now *Instance) sol.ModificationsTriggeredByVnfPkgChange {
	return sol.ModificationsTriggeredByVnfPkgChange{
		VnfdID:             other(before.VnfdID, now.VnfdID),
		VnfProvider:        other(before.Provider, now.Provider),
		VnfProductName:     other(before.ProductName, now.ProductName),
		VnfSoftwareVersion: other(before.SoftwareVersion, now.SoftwareVersion),
		VnfdVersion:        other(before.VnfdVersion, now.VnfdVersion),
	}
}

// other is the new value if it differs, else "".
func other(before, now string) string {
	if before == now {
		return ""
	}
	return now
}

// orNil is a pointer to v, or nil for its zero value.
func orNil[T any](v T) *T {
	if reflect.ValueOf(v).IsZero() {
		return nil
	}
	return &v
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
