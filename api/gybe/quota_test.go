package gybe_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

func TestQuotasShowTheUseOfTheProject(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Store.Limit(func(string) lcm.ProjectQuota {
		return lcm.ProjectQuota{Instances: 7, PackageBytes: 100, Snapshots: 3}
	})
	got, err := b.client.Quotas(t.Context())
	require.NoError(t, err)
	require.Positive(t, got.Packages.Used)
	require.Equal(t, &gybeapi.Quotas{
		Project: lcm.DefaultProject, Instances: gybeapi.QuotaUse{Limit: 7},
		PackageBytes: gybeapi.QuotaUse{Limit: 100}, Packages: got.Packages,
		Snapshots: gybeapi.QuotaUse{Limit: 3},
	}, got)
}
