package store

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/secret"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
	"github.com/gybe-nfv/gybe/test/devpg"
)

// described is a table with its description.
type described struct {
	// others are the columns that the description leaves out: statements name them.
	others []string
	// columns are the names of the description's columns that are in the table.
	columns func() []string
	// roundTrip writes a row with a value in every field, and reads it again.
	roundTrip func(*testing.T, *Store, pgx.Tx)
}

// describe makes the tests of a description. Fields that keep no value of their own are set by adjust.
func describe[T any](d *table[T], adjust func(*T), others ...string) described {
	kept := slices.DeleteFunc(slices.Clone(d.columns), func(c column[T]) bool { return c.expr != "" })
	names := func() (out []string) {
		for _, c := range kept {
			out = append(out, c.name)
		}
		return out
	}
	return described{others: others, columns: names, roundTrip: func(t *testing.T, s *Store, tx pgx.Tx) {
		t.Helper()
		want := new(T)
		fill(reflect.ValueOf(want).Elem(), 0)
		if adjust != nil {
			adjust(want)
		}
		e, err := d.encode(s, want, d.every)
		require.NoError(t, err)
		var values []any
		var places []string
		for n, c := range d.columns {
			if c.expr == "" {
				values = append(values, e.values[n])
				places = append(places, place(len(values)))
			}
		}
		_, err = tx.Exec(t.Context(), "CREATE TEMP TABLE "+d.name+" AS SELECT * FROM public."+d.name+" WITH NO DATA")
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), "INSERT INTO "+d.name+" ("+strings.Join(names(), ", ")+") VALUES ("+
			strings.Join(places, ", ")+")", values...)
		require.NoError(t, err)
		selection := d.selected()
		rows, err := tx.Query(t.Context(), "SELECT "+selection.list+" FROM "+d.name+" "+d.alias)
		got, err := selection.one(s, rows, err)
		require.NoError(t, err)
		require.Equal(t, want, got, "a field of %T has no column", want)
	}}
}

var tables = map[string]described{
	"vnf_instance": describe(&instances, nil, "project"),
	"vnf_lcm_op_occ": describe(&operations, func(o *lcm.Operation) {
		o.Type, o.State = sol.LcmOperationInstantiate, sol.LcmOperationStateProcessing
	}, "project", "job_id"),
	"vim":          describe(&vims, nil, "project"),
	"vnf_snapshot": describe(&snapshots, nil, "project"),
	"vnf_package": describe(&packages, func(p *vnfpkg.Package) {
		p.UsageState = sol.PackageUsageStateNotInUse
	}, "job_id"),
	"lcm_op_phase": describe(&phases, nil, "op_id", "seq"),
	"lcm_op_step":  describe(&steps, nil, "op_id"),
	"event":        describe(&feedEvents, nil),
	"outbox": describe(&messages, nil, "seq", "fanned_out", "project", "vnfd_id", "provider", "product_name",
		"software_version", "vnfd_version", "instance_name", "operation", "operation_state",
		"api", "subject", "attributes", "tx", "audience", "project_attributes"),
}

// plain are the tables whose rows have no description: few columns, in one or two statements.
var plain = []string{
	"audit", "vnf_package_model", "instance_lease", "node", "secret_check", "ssh_host_key", "subscription",
	"subscription_key", "subscriber", "delivery", "request_key",
}

func TestDescriptionsHaveEveryColumnOfTheSchema(t *testing.T) {
	t.Parallel()
	pool := devpg.New(t)
	rows, err := pool.Query(t.Context(), `SELECT table_name, array_agg(column_name::text) FROM information_schema.columns
		WHERE table_schema = 'public' AND table_name NOT LIKE 'river%' AND table_name NOT LIKE 'goose%' GROUP BY table_name`)
	require.NoError(t, err)
	schema := map[string][]string{}
	var name string
	var columns []string
	_, err = pgx.ForEachRow(rows, []any{&name, &columns}, func() error {
		schema[name] = slices.Clone(columns)
		return nil
	})
	require.NoError(t, err)
	require.ElementsMatch(t, slices.Concat(plain, slices.Collect(maps.Keys(tables))), slices.Collect(maps.Keys(schema)))
	for name, d := range tables {
		require.ElementsMatch(t, slices.Concat(d.columns(), d.others), schema[name], name)
	}
}

func TestDescriptionsKeepEveryField(t *testing.T) {
	t.Parallel()
	pool := devpg.New(t)
	ring, err := secret.Parse([]byte(secret.Generate()))
	require.NoError(t, err)
	s, err := New(t.Context(), pool, ring, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	for name, d := range tables {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tx, err := pool.Begin(t.Context())
			require.NoError(t, err)
			defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
			d.roundTrip(t, s, tx)
		})
	}
}

// fill gives every field a value that a column of its kind can hold. It goes one level into structs and pointers.
func fill(v reflect.Value, depth int) {
	switch field := v.Addr().Interface().(type) {
	case *time.Time:
		*field = time.Date(2026, 11, 22, 1, 2, 3, 4000, time.UTC)
		return
	case *json.RawMessage:
		*field = json.RawMessage(`{"a": 1}`)
		return
	case *sol.KeyValuePairs:
		*field = sol.KeyValuePairs{"a": "b"}
		return
	case *sol.RawPairs:
		*field = `{"a":"b"}`
		return
	case *[]byte:
		*field = []byte("bytes")
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(uuid.NewString())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint64:
		v.SetUint(7)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), reflect.Zero(v.Type().Elem()))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth)
	case reflect.Struct:
		for n := range v.NumField() {
			if depth < 2 && v.Type().Field(n).Tag.Get("json") != "-" || depth == 0 {
				fill(v.Field(n), depth+1)
			}
		}
	default:
		if depth < 2 { // a field of the row, not of a document in it
			panic("no value for a field of the type " + v.Type().String())
		}
	}
}
