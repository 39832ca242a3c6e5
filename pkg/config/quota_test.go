package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

func TestQuotaOfAProjectOverridesThatOfAll(t *testing.T) {
	t.Parallel()
	cfg, _, err := config.Load(config.Source{
		Env: []string{
			"GYBE_DATABASE_URL=postgres://h/d", "GYBE_LIMITS_QUOTA_INSTANCES=7",
			"GYBE_LIMITS_QUOTA_PROJECTS=lab:instances=50,a:b:package_bytes=2MiB,lab:packages=0,lab:snapshots=3",
		},
	})
	require.NoError(t, err)
	all := config.Default().Limits.Quota.Of("x")
	require.Positive(t, all.Instances)
	require.Positive(t, all.PackageBytes)
	require.Positive(t, all.Snapshots)
	all.Instances = 7
	require.Equal(t, all, cfg.Limits.Quota.Of("default"))
	require.Equal(t, lcm.ProjectQuota{
		Instances: 50, Operations: all.Operations, PackageBytes: all.PackageBytes, Snapshots: 3,
	}, cfg.Limits.Quota.Of("lab"))
	require.Equal(t, int64(2<<20), cfg.Limits.Quota.Of("a:b").PackageBytes)
}

func TestQuotaSettingsAreChecked(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"lab":             "is not PROJECT:NAME=VALUE",
		"instances=5":     "is not PROJECT:NAME=VALUE",
		"lab:instances=x": `"x" is not a number`,
		"lab:vims=1":      "is not one of instances",
	} {
		cfg := config.Default()
		cfg.DatabaseURL, cfg.Limits.Quota.Projects = "postgres://h/d", []string{entry}
		require.ErrorContains(t, cfg.Validate(), want, entry)
	}
	cfg := config.Default()
	cfg.DatabaseURL, cfg.Limits.Quota.Packages = "postgres://h/d", -1
	require.ErrorContains(t, cfg.Validate(), "limits.quota.packages")
	cfg.Limits.Quota.Packages, cfg.Limits.Quota.Snapshots = 0, -1
	require.ErrorContains(t, cfg.Validate(), "limits.quota.snapshots")
}
