package packages

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
	"github.com/gybe-nfv/gybe/test/oracle"
)

// messages are those of a package that is onboarded, disabled and deleted.
func messages(t *testing.T) (onboarded, disabled, deleted *vnfpkg.Message) {
	t.Helper()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	before := &vnfpkg.Package{ID: "p", OnboardingState: sol.PackageOnboardingStateProcessing}
	enabled := &vnfpkg.Package{
		ID: "p", VnfdID: "v/1", OnboardingState: sol.PackageOnboardingStateOnboarded,
		OperationalState: sol.PackageOperationalStateEnabled, UsageState: sol.PackageUsageStateNotInUse,
		Onboarded: &vnfpkg.Onboarded{Provider: "Example", ProductName: "Small", VnfmInfo: []string{"Gybe"}},
	}
	off := *enabled
	off.OperationalState = sol.PackageOperationalStateDisabled
	one := func(m []*vnfpkg.Message, err error) *vnfpkg.Message {
		require.NoError(t, err)
		require.Len(t, m, 1)
		require.Equal(t, vnfpkg.AudienceProject, m[0].Audience)
		return m[0]
	}
	none := func(m []*vnfpkg.Message, err error) {
		require.NoError(t, err)
		require.Empty(t, m)
	}
	none(vnfpkg.ChangeMessages(before, before, now))
	none(vnfpkg.ChangeMessages(enabled, enabled, now)) // only user data has changed
	none(vnfpkg.DeletionMessages(before, now))         // it was not onboarded
	return one(vnfpkg.ChangeMessages(before, enabled, now)), one(vnfpkg.ChangeMessages(enabled, &off, now)),
		one(vnfpkg.DeletionMessages(&off, now))
}

// attributesOf are those that the store gives to a message.
func attributesOf(m *vnfpkg.Message) notify.Attributes {
	a := notify.Attributes{
		notify.AttrType: {string(m.Kind)}, notify.AttrVnfd: {"v/1"},
		notify.AttrProduct: notify.ProductPaths("Example", "Small", "1", "1"),
	}
	maps.Copy(a, m.Attributes)
	return a
}

func TestFiltersSelectNotifications(t *testing.T) {
	t.Parallel()
	onboarded, disabled, deleted := messages(t)
	for filter, want := range map[string][3]bool{
		``:                               {true, true, true},
		`{}`:                             {true, true, true},
		`{"vnfPkgId": ["p", "q"]}`:       {true, true, true},
		`{"vnfPkgId": ["q"]}`:            {},
		`{"vnfdId": ["v/1"]}`:            {true, true, true},
		`{"vnfdId": ["v/2"]}`:            {},
		`{"operationalState": []}`:       {true, true, true},
		`{"usageState": ["NOT_IN_USE"]}`: {false, true, true},
		`{"usageState": ["IN_USE"]}`:     {},
		`{"vnfmInfo": ["Gybe"]}`:         {true, true, true},
		`{"vnfmInfo": ["Other"]}`:        {},
		`{"operationalState": ["DISABLED"], "vnfmInfo": ["Gybe"]}`:                                               {false, true, true},
		`{"operationalState": ["ENABLED"]}`:                                                                      {},
		`{"notificationTypes": ["VnfPackageOnboardingNotification"]}`:                                            {true, false, false},
		`{"notificationTypes": ["VnfPackageChangeNotification"]}`:                                                {false, true, true},
		`{"vnfProductsFromProviders": [{"vnfProvider": "Example"}]}`:                                             {true, true, true},
		`{"vnfProductsFromProviders": [{"vnfProvider": "Other"}]}`:                                               {},
		`{"vnfProductsFromProviders": [{"vnfProvider": "Example", "vnfProducts": [{"vnfProductName": "Big"}]}]}`: {},
	} {
		var raw json.RawMessage
		if filter != "" {
			raw = json.RawMessage(filter)
		}
		f, err := API.Parse(raw)
		require.NoError(t, err, filter)
		keys, many := f.Keys(API.Name)
		require.Empty(t, many)
		for n, m := range []*vnfpkg.Message{onboarded, disabled, deleted} {
			a := attributesOf(m)
			require.Equal(t, want[n], matches(f, a), "%s %s", filter, m.Body)
			if want[n] {
				require.NotEmpty(t, intersection(keys, a.Keys(API.Name)), filter)
			}
		}
	}
	for name, filter := range map[string]string{
		"/filter/vnfPkgId":   `{"notificationTypes": ["VnfPackageOnboardingNotification"], "vnfPkgId": ["p"]}`,
		"/filter/usageState": `{"notificationTypes": ["VnfPackageOnboardingNotification"], "usageState": ["IN_USE"]}`,
		"/filter/operationalState": `{
			"notificationTypes": ["VnfPackageOnboardingNotification"], "operationalState": ["ENABLED"]}`,
	} {
		_, err := API.Parse(json.RawMessage(filter))
		require.Equal(t, lcm.CodeUnprocessable, lcm.AsError(err).Code)
		require.Equal(t, name, lcm.AsError(err).Params[0].Pointer)
	}
}

// matches evaluates a filter as the store does.
func matches(f notify.Filter, a notify.Attributes) bool {
	return slices.ContainsFunc(f, func(c notify.Clause) bool {
		for name, wanted := range c {
			if len(intersection(wanted, a[name])) == 0 {
				return false
			}
		}
		return true
	})
}

func intersection[T comparable](a, b []T) (out []T) {
	for _, x := range a {
		for _, y := range b {
			if x == y {
				out = append(out, x)
			}
		}
	}
	return out
}

func TestBodiesHaveTheLinksOfTheirVersion(t *testing.T) {
	t.Parallel()
	onboarded, disabled, deleted := messages(t)
	link := func(path string) sol.Link { return sol.Link{Href: "https://gybe" + path} }
	body := func(m *vnfpkg.Message, version string) (out map[string]any) {
		raw, err := API.Render(
			notify.Message{ID: m.ID, Kind: string(m.Kind), Body: m.Body},
			&notify.Subscription{ID: "s", Version: version}, link,
		)
		require.NoError(t, err)
		require.Empty(t, oracle.Notification(raw))
		require.NoError(t, json.Unmarshal(raw, &out))
		require.Equal(t, m.ID, out["id"])
		require.Equal(t, "s", out["subscriptionId"])
		return out
	}
	for version, prefix := range map[string]string{
		"1.2.0": "/vnfpkgm/v1", "2.1.0": "/vnfpkgm/v2", "2.4.0": "/vnfpkgm/v2",
	} {
		n := body(onboarded, version)
		require.Equal(t, "VnfPackageOnboardingNotification", n["notificationType"])
		require.Equal(t, []any{"Gybe"}, n["vnfmInfo"])
		require.Equal(t, map[string]any{
			"vnfPackage":         map[string]any{"href": "https://gybe" + prefix + "/vnf_packages/p"},
			"vnfPackageByVnfdId": map[string]any{"href": "https://gybe" + prefix + "/onboarded_vnf_packages/v%2F1"},
			"subscription":       map[string]any{"href": "https://gybe" + prefix + "/subscriptions/s"},
		}, n["_links"])
	}
	require.Equal(t, "OP_STATE_CHANGE", body(disabled, "2.4.0")["changeType"])
	require.Equal(t, "DISABLED", body(disabled, "2.4.0")["operationalState"])
	require.Equal(t, "PKG_DELETE", body(deleted, "2.4.0")["changeType"])
	require.NotContains(t, body(deleted, "2.4.0"), "operationalState")
	_, err := API.Render(notify.Message{Kind: "other"}, &notify.Subscription{}, link)
	require.Error(t, err)
}
