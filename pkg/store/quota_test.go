package store_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/store"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
)

// TestQuotaIsNotExceededByParallelRequests lets many requests of a project arrive at once.
func TestQuotaIsNotExceededByParallelRequests(t *testing.T) {
	t.Parallel()
	const limit, requests = 5, 16
	b := setup(t)
	first := b.newInstance(t)
	instance := func() *lcm.Instance {
		i := *first
		i.ID = uuid.NewString()
		return &i
	}
	var idle []*lcm.Instance
	for range requests + 1 {
		i := instance()
		require.NoError(t, b.InsertInstance(t.Context(), i, nil))
		idle = append(idle, i)
	}
	b.Limit(func(project string) lcm.ProjectQuota {
		require.Equal(t, lcm.DefaultProject, project)
		return lcm.ProjectQuota{
			Instances: 2 + requests + limit, Packages: 1 + limit, Operations: limit, Snapshots: limit,
		}
	})
	for what, add := range map[string]func(n int) error{
		"VNF instances": func(int) error { return b.InsertInstance(t.Context(), instance(), nil) },
		"VNF packages": func(int) error {
			return b.packages().InsertPackage(t.Context(), &vnfpkg.Package{
				ID: uuid.NewString(), OnboardingState: sol.PackageOnboardingStateCreated,
				OperationalState: sol.PackageOperationalStateDisabled,
			})
		},
		"VNF snapshots": func(int) error {
			now := time.Now()
			return b.InsertSnapshot(t.Context(), &lcm.Snapshot{
				ID: uuid.NewString(), Version: 1, Created: now, Updated: now,
			})
		},
		"active operations": func(n int) error {
			return b.Admit(t.Context(), newOperation(idle[n].ID), nil, ok)
		},
	} {
		var done sync.WaitGroup
		var added atomic.Int64
		for n := range requests {
			done.Go(func() {
				err := add(n)
				if err == nil {
					added.Add(1)
					return
				}
				e := lcm.AsError(err)
				if e.Code != lcm.CodeForbidden {
					t.Errorf("%s: %v", what, err)
				}
			})
		}
		done.Wait()
		require.Equal(t, int64(limit), added.Load(), what)
		require.ErrorContains(t, add(requests), what+" are in use", what)
		require.ErrorContains(t, add(requests), "quota of project default: ", what)
	}
	bounds, used, err := b.QuotaUse(t.Context())
	require.NoError(t, err)
	require.Equal(t, lcm.ProjectQuota{
		Instances: bounds.Instances, Packages: bounds.Packages, Operations: limit, Snapshots: limit,
	}, used)
}

// TestADeletedSnapshotMakesRoom fills the quota of one project; the other one has its own.
func TestADeletedSnapshotMakesRoom(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Limit(func(string) lcm.ProjectQuota { return lcm.ProjectQuota{Snapshots: 2} })
	other := b.Of(lcm.Principal{Project: "other"})
	add := func(of *store.Records) (string, error) {
		now := time.Now()
		n := &lcm.Snapshot{ID: uuid.NewString(), Version: 1, Created: now, Updated: now}
		return n.ID, of.InsertSnapshot(t.Context(), n)
	}
	first, err := add(b.Records)
	require.NoError(t, err)
	_, err = add(b.Records)
	require.NoError(t, err)
	_, err = add(b.Records)
	require.ErrorContains(t, err, "quota of project default: 2 of 2 VNF snapshots are in use")
	require.Contains(t, lcm.AsError(err).Hint, "limits.quota")
	_, err = add(other)
	require.NoError(t, err)

	require.NoError(t, b.EndSnapshotDeletion(t.Context(), first, true))
	_, err = add(b.Records)
	require.NoError(t, err)
}

func TestQuotaOfPackageBytes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Limit(func(string) lcm.ProjectQuota { return lcm.ProjectQuota{PackageBytes: 100} })
	add := func(size int64) error {
		p := &vnfpkg.Package{
			ID: uuid.NewString(), OnboardingState: sol.PackageOnboardingStateCreated,
			OperationalState: sol.PackageOperationalStateDisabled,
		}
		require.NoError(t, b.packages().InsertPackage(t.Context(), p))
		_, err := b.packages().UpdatePackage(t.Context(), p.ID, func(p *vnfpkg.Package, _ time.Time) error {
			p.Content = &vnfpkg.Content{Digest: uuid.NewString(), Size: size}
			return nil
		})
		return err
	}
	require.NoError(t, add(60))
	require.ErrorContains(t, add(41), "quota of project default: 60 of 100 bytes of VNF packages are in use")
	require.NoError(t, add(40))
}
