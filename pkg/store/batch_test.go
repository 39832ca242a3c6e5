package store_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// TestListsReadLargeDocumentsInBatches: the memory of a list does not depend on the number of its rows.
func TestListsReadLargeDocumentsInBatches(t *testing.T) {
	t.Parallel()
	const (
		many  = 25
		large = 100_000 // a batch has 1 MiB
	)
	b := setup(t)
	for range many {
		i := b.newInstance(t)
		require.NoError(t, b.UpdateInstance(t.Context(), i.ID, func(i *lcm.Instance) ([]string, error) {
			i.Metadata = sol.RawPairs(`{"large":"` + strings.Repeat("x", large) + `"}`)
			return nil, nil
		}))
	}
	var all []string
	for d, err := range b.InstanceDocuments(t.Context(), lcm.Query{Brief: true}) {
		require.NoError(t, err)
		all = append(all, d.ID)
	}
	require.Len(t, all, many)

	seen := &tracer{}
	cfg := b.pool.Config()
	cfg.ConnConfig.Tracer = seen
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	traced := on(t, pool, b.ring)
	for _, tt := range []struct {
		name    string
		q       lcm.Query
		want    []string
		batches []int64
	}{
		{"all", lcm.Query{}, all, []int64{11, 11, 3}},
		{"a page", lcm.Query{Limit: 15}, all[:15], []int64{11, 4}},
		{"a page that is a batch", lcm.Query{Limit: 11}, all[:11], []int64{11}},
		{"a small page", lcm.Query{Limit: 3, After: all[1]}, all[2:5], []int64{3}},
		{"the end", lcm.Query{Limit: 100, After: all[13]}, all[14:], []int64{11, 0}},
		{"without details", lcm.Query{Brief: true}, all, []int64{many}},
	} {
		seen.rows = nil
		var got []string
		for d, err := range traced.InstanceDocuments(t.Context(), tt.q) {
			require.NoError(t, err, tt.name)
			require.Equal(t, !tt.q.Brief, strings.Contains(string(d.Details), "xxx"), tt.name)
			got = append(got, d.ID)
		}
		require.Equal(t, tt.want, got, tt.name)
		require.Equal(t, tt.batches, seen.rows, tt.name)
	}
}
