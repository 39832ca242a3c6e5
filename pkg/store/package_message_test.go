package store_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/notify/packages"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/store"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
)

// subscribeToPackages stores a subscription to notifications about packages, and returns its id.
func (b *bundle) subscribeToPackages(tb testing.TB, filter string) string {
	tb.Helper()
	s := &notify.Subscription{
		ID: uuid.NewString(), API: packages.API.Name, Version: "2.4.0", Created: now(), Callback: "http://192.0.2.1/",
		Filter: json.RawMessage(filter),
	}
	var err error
	s.Conditions, err = packages.API.Parse(s.Filter)
	require.NoError(tb, err)
	_, err = b.insert(tb, s, false, 1_000_000)
	require.NoError(tb, err)
	return s.ID
}

// told lists what a subscription got: the change, or the type of another notification.
func (b *bundle) told(tb testing.TB, subscription string) string {
	tb.Helper()
	b.fanOut(tb)
	var out string
	require.NoError(tb, b.pool.QueryRow(tb.Context(), `SELECT coalesce(string_agg(CASE
			WHEN m.kind = 'VnfPackageOnboardingNotification' THEN 'ONBOARDED' WHEN m.body->>'changeType' = 'PKG_DELETE' THEN 'DELETED'
			ELSE m.body->>'operationalState' END, ' ' ORDER BY d.seq), '')
		FROM delivery d JOIN outbox m ON m.id = d.message_id WHERE d.subscription_id = $1`, subscription).Scan(&out))
	return out
}

// events lists the events about packages that a project sees.
func (b *bundle) packageEvents(tb testing.TB, project string) string {
	tb.Helper()
	found, err := b.Events(tb.Context(), store.EventQuery{Project: project})
	require.NoError(tb, err)
	var out []string
	for _, e := range found {
		if strings.HasPrefix(e.Kind, "package") {
			out = append(out, e.Kind+strings.ReplaceAll(string(e.Body), " ", ""))
		}
	}
	return strings.Join(out, "\n")
}

// TestNotificationsFollowTheVisibilityOfAPackage: a package of the project default is onboarded, shared, used by blue,
// disabled, withdrawn, enabled, shared once more and deleted. The subscribers of blue and green hear of it while they
// see it, and their filters see only the use by their own project.
func TestNotificationsFollowTheVisibilityOfAPackage(t *testing.T) {
	t.Parallel()
	own := setup(t)
	projects := map[string]*bundle{"own": own, "blue": own.of("blue"), "green": own.of("green")}
	ids := map[string]string{}
	for name, b := range projects {
		ids[name] = b.subscribeToPackages(t, `{}`)
		ids[name+" used"] = b.subscribeToPackages(t, `{"usageState": ["IN_USE"]}`)
		ids[name+" vnfd"] = b.subscribeToPackages(t, `{"vnfdId": ["v"]}`)
		ids[name+" other vnfd"] = b.subscribeToPackages(t, `{"vnfdId": ["w"]}`)
		ids[name+" deletion"] = b.subscribeToPackages(t, `{"operationalState": ["DISABLED"], "vnfmInfo": ["Gybe"]}`)
	}
	id := own.newPackage(t)
	change := func(f func(*vnfpkg.Package)) {
		t.Helper()
		_, err := own.packages().UpdatePackage(
			t.Context(), id, func(p *vnfpkg.Package, _ time.Time) error { f(p); return nil },
		)
		require.NoError(t, err)
	}
	share := func(shared bool) func(*vnfpkg.Package) { return func(p *vnfpkg.Package) { p.Shared = shared } }
	turn := func(to sol.PackageOperationalState) func(*vnfpkg.Package) {
		return func(p *vnfpkg.Package) { p.OperationalState = to }
	}
	require.Empty(t, own.told(t, ids["own"]))
	change(func(p *vnfpkg.Package) {
		p.OnboardingState, p.OperationalState = sol.PackageOnboardingStateOnboarded, sol.PackageOperationalStateEnabled
		p.VnfdID = "v"
		p.Onboarded = &vnfpkg.Onboarded{
			Provider: "a", ProductName: "b", SoftwareVersion: "c", VnfdVersion: "d", VnfmInfo: []string{"Gybe"},
		}
	})
	require.Empty(t, own.told(t, ids["blue"]), "it is not shared")
	require.Empty(t, own.packageEvents(t, "blue"))
	change(share(true))
	i := unstored(id)
	require.NoError(t, projects["blue"].InsertInstance(t.Context(), i, nil))
	change(turn(sol.PackageOperationalStateDisabled))
	require.NoError(t, projects["blue"].DeleteInstance(t.Context(), i.ID, nil, nil))
	change(share(false))
	change(turn(sol.PackageOperationalStateEnabled))
	change(turn(sol.PackageOperationalStateDisabled))
	change(share(true))
	_, err := own.packages().DeletePackage(t.Context(), id, func(*vnfpkg.Package) error { return nil })
	require.NoError(t, err)

	others := "ONBOARDED DISABLED DELETED ONBOARDED DISABLED DELETED"
	for name, want := range map[string]string{
		"own": "ONBOARDED DISABLED ENABLED DISABLED DELETED", "blue": others, "green": others,
		"own used": "DISABLED", "blue used": "DISABLED", "green used": "",
		"own vnfd": "ONBOARDED DISABLED ENABLED DISABLED DELETED", "blue vnfd": others, "green vnfd": others,
		"own other vnfd": "", "blue other vnfd": "", "green other vnfd": "",
		"own deletion": "DISABLED DISABLED DELETED", "green deletion": "DISABLED DELETED DISABLED DELETED",
	} {
		require.Equal(t, want, own.told(t, ids[name]), name)
	}

	// The same for followers of events.
	onboarded := `package.state{"onboardingState":"ONBOARDED","operationalState":`
	require.Equal(t, strings.Join([]string{
		onboarded + `"ENABLED"}`, onboarded + `"DISABLED"}`, `package.deleted{}`, onboarded + `"DISABLED"}`,
		`package.deleted{}`,
	}, "\n"), own.packageEvents(t, "green"))
	require.Equal(t, 1, strings.Count(own.packageEvents(t, own.Project()), "package.deleted"))
	rows, err := own.pool.Query(t.Context(), "SELECT DISTINCT tx::text::bigint FROM event WHERE package_id = $1", id)
	require.NoError(t, err)
	transactions, err := pgx.CollectRows(rows, pgx.RowTo[uint64])
	require.NoError(t, err)
	for name, want := range map[string]int{"own": 5, "blue": 6, "green": 6} {
		found, err := projects[name].MessagesOf(t.Context(), transactions)
		require.NoError(t, err)
		about := 0
		for _, m := range found {
			if m.API == packages.API.Name {
				about++
			}
		}
		require.Equal(t, want, about, name)
	}
}
