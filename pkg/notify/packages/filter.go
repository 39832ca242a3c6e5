package packages

import (
	"encoding/json"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Names of attributes that only messages about packages have.
const (
	AttrOperationalState = "operationalState"
	AttrUsageState       = "usageState"
	AttrVnfmInfo         = "vnfmInfo"
)

// pointers are the places of attributes in a request to subscribe.
var pointers = map[string]string{
	notify.AttrType: "/filter/notificationTypes", notify.AttrPackage: "/filter/vnfPkgId",
	notify.AttrVnfd: "/filter/vnfdId", notify.AttrProduct: "/filter/vnfProductsFromProviders",
	AttrOperationalState: "/filter/operationalState", AttrUsageState: "/filter/usageState",
	AttrVnfmInfo: "/filter/vnfmInfo",
}

// types are the notifications that there are.
var types = []sol.PackageNotificationType{sol.NotificationPackageOnboarding, sol.NotificationPackageChange}

// parse makes conditions of a PkgmNotificationsFilter. An empty list restricts nothing. The states restrict
// notifications of changes, so a filter that names one and no types does not select those of onboarding.
func parse(raw json.RawMessage) (notify.Filter, error) {
	var f sol.PkgmNotificationsFilter
	if raw != nil {
		if err := json.Unmarshal(raw, &f); err != nil {
			return nil, lcm.Errorf(lcm.CodeUnprocessable, "the filter cannot be read: %w", err)
		}
	}
	if err := check(&f); err != nil {
		return nil, err
	}
	ofChanges := len(f.OperationalState)+len(f.UsageState) > 0
	var out notify.Filter
	for _, t := range types {
		switch {
		case len(f.NotificationTypes) > 0 && !slices.Contains(f.NotificationTypes, t):
			continue
		case len(f.NotificationTypes) == 0 && ofChanges && t != sol.NotificationPackageChange:
			continue
		}
		c := notify.Clause{notify.AttrType: {string(t)}}
		add(c, notify.AttrPackage, f.VnfPkgID)
		add(c, notify.AttrVnfd, f.VnfdID)
		add(c, notify.AttrProduct, notify.Products(f.VnfProductsFromProviders))
		add(c, AttrVnfmInfo, f.VnfmInfo)
		if t == sol.NotificationPackageChange {
			add(c, AttrOperationalState, f.OperationalState)
			add(c, AttrUsageState, f.UsageState)
		}
		out = append(out, c)
	}
	return out, nil
}

// check rejects what only notifications of changes have, in a filter for others.
func check(f *sol.PkgmNotificationsFilter) error {
	if len(f.NotificationTypes) == 0 || slices.Contains(f.NotificationTypes, sol.NotificationPackageChange) {
		return nil
	}
	var bad []lcm.InvalidParam
	for name, given := range map[string]int{
		notify.AttrPackage: len(f.VnfPkgID), AttrOperationalState: len(f.OperationalState),
		AttrUsageState: len(f.UsageState),
	} {
		if given > 0 {
			bad = append(bad, lcm.InvalidParam{
				Pointer: pointers[name], Detail: "only notifications of changes have it, and notificationTypes does " +
					"not name " + string(sol.NotificationPackageChange),
			})
		}
	}
	return lcm.Unprocessable(bad...)
}

// add adds an attribute that has values, each once.
func add[T ~string](to notify.Clause, name string, values []T) {
	texts := make([]string, len(values))
	for n, v := range values {
		texts[n] = string(v)
	}
	slices.Sort(texts)
	if len(texts) > 0 {
		to[name] = slices.Compact(texts)
	}
}
