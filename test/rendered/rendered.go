// Package rendered checks that the public JSON stored with instances and operations is the one that their rows give.
// Tests of every kind of write call it when they end.
package rendered

import (
	"bytes"
	"context"
	"iter"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/render"
	"github.com/gybe-nfv/gybe/pkg/store"
)

// Check fails the test if the stored JSON of a row is not valid or differs from what package render makes of the row.
// Nothing may write to the database at this time.
func Check(tb testing.TB, s *store.Store, pool *pgxpool.Pool) {
	tb.Helper()
	ctx := context.WithoutCancel(tb.Context()) // it also runs after the test
	for _, table := range []string{"vnf_instance", "vnf_lcm_op_occ"} {
		stale := texts(ctx, tb, pool, "SELECT to_jsonb(t)::text FROM "+table+` t
			WHERE rendered_version IS DISTINCT FROM version OR rendered_format IS DISTINCT FROM `+strconv.Itoa(render.Format))
		require.Empty(tb, stale, "the JSON in %s is not that of the row's version", table)
	}
	for _, project := range texts(
		ctx, tb, pool, "SELECT project FROM vnf_instance UNION SELECT project FROM vnf_lcm_op_occ",
	) {
		records := s.In(lcm.Principal{Project: project})
		checkInstances(ctx, tb, records)
		checkOperations(ctx, tb, records)
	}
}

func checkInstances(ctx context.Context, tb testing.TB, records lcm.Records) {
	tb.Helper()
	list, err := records.Instances(ctx, lcm.Query{})
	require.NoError(tb, err)
	stored := Instances(tb, records.InstanceDocuments(ctx, lcm.Query{}))
	require.Len(tb, stored, len(list))
	for n, i := range list {
		fresh, err := render.Instance(i)
		require.NoError(tb, err)
		equal(tb, &fresh.Document, &stored[n].Document)
		require.Equal(tb, fresh, stored[n])
	}
}

func checkOperations(ctx context.Context, tb testing.TB, records lcm.Records) {
	tb.Helper()
	list, err := records.Operations(ctx, lcm.Query{})
	require.NoError(tb, err)
	stored := Operations(tb, records.OperationDocuments(ctx, lcm.Query{}))
	require.Len(tb, stored, len(list))
	for n, op := range list {
		fresh, err := render.Operation(op)
		require.NoError(tb, err)
		equal(tb, &fresh.Document, &stored[n].Document)
		require.Equal(tb, fresh, stored[n])
	}
}

// Instances copies the documents of a list.
func Instances(tb testing.TB, list iter.Seq2[*lcm.InstanceDocument, error]) []*lcm.InstanceDocument {
	tb.Helper()
	return collect(tb, list, func(d *lcm.InstanceDocument) *lcm.Document {
		d.Params = bytes.Clone(d.Params)
		return &d.Document
	})
}

// Operations copies the documents of a list.
func Operations(tb testing.TB, list iter.Seq2[*lcm.OperationDocument, error]) []*lcm.OperationDocument {
	tb.Helper()
	return collect(tb, list, func(d *lcm.OperationDocument) *lcm.Document { return &d.Document })
}

func collect[D any](tb testing.TB, list iter.Seq2[*D, error], document func(*D) *lcm.Document) (out []*D) {
	tb.Helper()
	for d, err := range list {
		require.NoError(tb, err)
		kept := *d
		doc := document(&kept)
		doc.Brief, doc.Details = bytes.Clone(doc.Brief), bytes.Clone(doc.Details)
		out = append(out, &kept)
	}
	return out
}

// equal compares the JSON of two documents, and removes it.
func equal(tb testing.TB, fresh, stored *lcm.Document) {
	tb.Helper()
	require.JSONEq(tb, string(fresh.Brief), string(stored.Brief))
	require.Equal(tb, fresh.Details == nil, stored.Details == nil)
	if fresh.Details != nil {
		require.JSONEq(tb, string(fresh.Details), string(stored.Details))
	}
	*fresh, *stored = lcm.Document{ID: fresh.ID, Version: fresh.Version, Updated: fresh.Updated},
		lcm.Document{ID: stored.ID, Version: stored.Version, Updated: stored.Updated}
}

// texts collects the only column of a query.
func texts(ctx context.Context, tb testing.TB, pool *pgxpool.Pool, query string) []string {
	tb.Helper()
	rows, err := pool.Query(ctx, query)
	require.NoError(tb, err)
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(tb, err)
	return out
}
