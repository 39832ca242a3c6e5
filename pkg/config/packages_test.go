package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/config"
)

func TestPackagesAreNotRequiredToBeSigned(t *testing.T) {
	t.Parallel()
	cfg, _, err := config.Load(config.Source{Set: []string{"database_url=" + database}})
	require.NoError(t, err)
	require.Equal(t, config.SignaturesWarn, cfg.Packages.Signatures)
	cfg, _, err = config.Load(config.Source{
		Set: []string{"database_url=" + database, "packages.signatures=require"},
		Env: []string{"GYBE_PACKAGES_TRUST_FILES=/etc/gybe/a.pem,/etc/gybe/b.pem"},
	})
	require.NoError(t, err)
	require.Equal(t, []string{"/etc/gybe/a.pem", "/etc/gybe/b.pem"}, cfg.Packages.TrustFiles)
}

func TestMistakesInPackages(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		set  []string
		want string
	}{
		{[]string{"packages.signatures=maybe"}, `packages.signatures: "maybe" is not one of require, warn, off`},
		{[]string{"packages.signatures=require"}, "no certificate is trusted"},
		{[]string{"packages.trust_dir=trust"}, `packages.trust_dir: "trust" is not an absolute path`},
		{[]string{"packages.trust_files=a.pem"}, `packages.trust_files: "a.pem" is not an absolute path`},
	} {
		_, _, err := config.Load(config.Source{Set: append(tc.set, "database_url="+database)})
		require.ErrorContains(t, err, tc.want)
	}
}
