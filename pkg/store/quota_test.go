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
		return lcm.ProjectQuota{Instances: 2 + requests + limit, Packages: 1 + limit, Operations: limit}
	})
	for what, add := range map[string]func(n int) error{
		"VNF instances": func(int) error { return b.InsertInstance(t.Context(), instance(), nil) },
		"VNF packages": func(int) error {
			return b.packages().InsertPackage(t.Context(), &vnfpkg.Package{
				ID: uuid.NewString(), OnboardingState: sol.PackageOnboardingStateCreated,
				OperationalState: sol.PackageOperationalStateDisabled,
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
	require.Equal(t, lcm.ProjectQuota{Instances: bounds.Instances, Packages: bounds.Packages, Operations: limit}, used)
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
