package store

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/devpg"
)

// notSealed are the columns of bytes that hold no sealed values of the ring's primary key.
var notSealed = []string{
	"vnf_instance.fingerprint", "ssh_host_key.key", "subscription.fingerprint",
	"secret_check.sealed", // one for each key; ForgetKey deletes it
}

// A column that Reencrypt leaves out would be lost with the old key.
func TestReencryptKnowsEveryColumnOfBytes(t *testing.T) {
	t.Parallel()
	rows, err := devpg.New(t).Query(t.Context(), `SELECT table_name || '.' || column_name FROM information_schema.columns
		WHERE table_schema = 'public' AND data_type = 'bytea' AND table_name NOT LIKE 'river%'`)
	require.NoError(t, err)
	schema, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	known := notSealed
	for _, c := range sealedColumns {
		known = append(known, c[0]+"."+c[1])
	}
	require.ElementsMatch(t, schema, known)
	require.Greater(t, len(sealedColumns), 10)
}
