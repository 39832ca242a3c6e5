package migrations_test

import (
	"testing"

	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/devpg"
)

func TestTheJobTablesAreThoseOfTheLinkedRiver(t *testing.T) {
	t.Parallel()
	m, err := rivermigrate.New(riverpgxv5.New(devpg.New(t)), nil)
	require.NoError(t, err)
	have, err := m.ExistingVersions(t.Context())
	require.NoError(t, err)
	require.Len(t, have, len(m.AllVersions()), "a newer River needs a new step of ours")
}
