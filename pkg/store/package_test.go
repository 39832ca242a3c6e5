package store_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg/vnfpkgtest"
)

func TestThePackageStoreKeepsItsContract(t *testing.T) {
	t.Parallel()
	vnfpkgtest.TestStore(t, func(t *testing.T) vnfpkgtest.Harness {
		t.Helper()
		b := setup(t)
		last := map[string]int64{}
		added := func(kind string) func(t *testing.T) []string {
			return func(t *testing.T) []string {
				t.Helper()
				type row struct {
					ID      int64
					Package string
				}
				rows, err := b.pool.Query(
					t.Context(),
					"SELECT id, args->>'package_id' FROM river_job WHERE kind = $2 AND id > $1 ORDER BY id",
					last[kind], kind,
				)
				require.NoError(t, err)
				jobs, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
				require.NoError(t, err)
				var ids []string
				for _, j := range jobs {
					last[kind], ids = j.ID, append(ids, j.Package)
				}
				return ids
			}
		}
		return vnfpkgtest.Harness{
			Stores: b, Store: b.packages(), Jobs: added("vnfpkg.onboard"), Downloads: added("vnfpkg.download"),
			Refer: func(t *testing.T, p *vnfpkg.Package) {
				t.Helper()
				require.NoError(t, b.InsertInstance(t.Context(), unstored(p.ID), nil))
			},
		}
	})
}

// TestSourceOfADownloadIsSealed: the database does not have its credentials, and an event tells the progress.
func TestSourceOfADownloadIsSealed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.newPackage(t)
	d := vnfpkg.Download{Token: uuid.NewString()}
	_, err := b.packages().UpdatePackage(t.Context(), id, func(p *vnfpkg.Package, _ time.Time) error {
		p.OnboardingState, p.Download = sol.PackageOnboardingStateUploading, &d
		p.Source = &sol.UploadVnfPackageFromUriRequest{AddressInformation: "https://a?sig=s3cret", Password: "s3cret"}
		return nil
	})
	require.NoError(t, err)
	var row string
	require.NoError(t, b.pool.QueryRow(
		t.Context(),
		"SELECT encode(source, 'escape') || row_to_json(p)::text FROM vnf_package p WHERE id = $1", id,
	).Scan(&row))
	require.NotContains(t, row, "s3cret")
	d.Received, d.Total = 7, 9
	require.NoError(t, b.packages().SaveDownload(t.Context(), id, d))
	var body string
	require.NoError(t, b.pool.QueryRow(
		t.Context(), "SELECT body FROM event WHERE package_id = $1 ORDER BY tx DESC, seq DESC LIMIT 1", id,
	).Scan(&body))
	require.JSONEq(t, `{"onboardingState": "UPLOADING", "operationalState": "DISABLED", "usageState": "NOT_IN_USE",
		"received": 7, "total": 9}`, body)
}

// TestChangesOfPackagesAreInTheOutbox: each is written with the change, and with what filters match.
func TestChangesOfPackagesAreInTheOutbox(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.newPackage(t)
	change := func(f func(*vnfpkg.Package)) {
		_, err := b.packages().UpdatePackage(
			t.Context(), id, func(p *vnfpkg.Package, _ time.Time) error { f(p); return nil },
		)
		require.NoError(t, err)
	}
	change(func(p *vnfpkg.Package) {
		p.OnboardingState, p.OperationalState = sol.PackageOnboardingStateOnboarded, sol.PackageOperationalStateEnabled
		p.VnfdID = "v"
		p.Onboarded = &vnfpkg.Onboarded{Provider: "a", ProductName: "b", SoftwareVersion: "c", VnfdVersion: "d"}
	})
	change(func(p *vnfpkg.Package) { p.UserDefinedData = sol.KeyValuePairs{"x": "y"} })
	change(func(p *vnfpkg.Package) { p.OperationalState = sol.PackageOperationalStateDisabled })
	_, err := b.packages().DeletePackage(t.Context(), id, func(*vnfpkg.Package) error { return nil })
	require.NoError(t, err)
	rows, err := b.pool.Query(t.Context(), `SELECT coalesce(body->>'changeType', kind) || ' ' || (attributes->>'operationalState')
		FROM outbox WHERE api = 'vnfpkgm' AND subject = $1 AND project = 'default' AND vnfd_id = 'v' AND provider = 'a'
			AND product_name = 'b' AND software_version = 'c' AND vnfd_version = 'd' ORDER BY seq`, id)
	require.NoError(t, err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{
		`VnfPackageOnboardingNotification ["ENABLED"]`, `OP_STATE_CHANGE ["DISABLED"]`, `PKG_DELETE ["DISABLED"]`,
	}, found)
}

// newPackage stores a package for instances to refer to.
func (b *bundle) newPackage(tb testing.TB) string {
	tb.Helper()
	p := &vnfpkg.Package{
		ID: uuid.NewString(), OnboardingState: sol.PackageOnboardingStateCreated,
		OperationalState: sol.PackageOperationalStateDisabled, UsageState: sol.PackageUsageStateNotInUse,
	}
	require.NoError(tb, b.packages().InsertPackage(tb.Context(), p))
	return p.ID
}

func TestAnInstanceAndTheDeletionOfItsPackageExcludeEachOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 20 {
		id := b.newPackage(t)
		i := unstored(id)
		var inserted, deleted error
		var wg sync.WaitGroup
		wg.Go(func() { inserted = b.InsertInstance(t.Context(), i, nil) })
		wg.Go(func() {
			_, deleted = b.packages().DeletePackage(t.Context(), id, func(*vnfpkg.Package) error { return nil })
		})
		wg.Wait()
		if inserted == nil {
			requireCode(t, lcm.CodeConflict, deleted)
			continue
		}
		requireCode(t, lcm.CodeUnprocessable, inserted)
		require.NoError(t, deleted)
	}
}

func TestOnlyAPackageThatIsProcessedNamesAJob(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.newPackage(t)
	named := func() int { return b.count(t, "SELECT count(job_id) FROM vnf_package WHERE id = $1", id) }
	set := func(s sol.PackageOnboardingState) {
		_, err := b.packages().UpdatePackage(t.Context(), id, func(p *vnfpkg.Package, _ time.Time) error {
			p.OnboardingState = s
			return nil
		})
		require.NoError(t, err)
	}
	require.Zero(t, named())
	set(sol.PackageOnboardingStateProcessing)
	require.Equal(t, 1, named())
	set(sol.PackageOnboardingStateProcessing)
	require.Equal(t, 1, named(), "the job stays")
	require.Equal(t, 1, b.count(t, "SELECT count(*) FROM river_job"))
	set(sol.PackageOnboardingStateCreated)
	require.Zero(t, named())
}

func TestPackagesTellTheirStates(t *testing.T) {
	t.Parallel()
	b := setup(t)
	feed := b.runFeed(t)
	start, err := b.LastEvent(t.Context())
	require.NoError(t, err)
	id := b.newPackage(t)
	_, err = b.packages().DeletePackage(
		context.WithoutCancel(t.Context()), id, func(*vnfpkg.Package) error { return nil },
	)
	require.NoError(t, err)
	events := read(t.Context(), t, feed.Follow(t.Context(), feedOfPackage(start, id)), 2)
	require.Equal(t, []string{"package.state", "package.deleted"}, kinds(events))
	require.JSONEq(t, `{"onboardingState":"CREATED","operationalState":"DISABLED","usageState":"NOT_IN_USE"}`,
		string(events[0].Body))
}
