package store_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/filter"
)

// stored is a document as a client sees it.
type stored struct {
	id   string
	json any
}

// documents reads what a list yields, following the places where searches end.
func documents[D any](
	t *testing.T, q lcm.Query, of func(*D) *lcm.Document, list func(lcm.Query) iter.Seq2[*D, error],
) (out []stored) {
	t.Helper()
	for {
		again := false
		for d, err := range list(q) {
			require.NoError(t, err)
			doc := of(d)
			if again = doc.Brief == nil; again {
				q.After = doc.ID
				break
			}
			dec := json.NewDecoder(strings.NewReader(string(doc.Brief)))
			dec.UseNumber()
			var v any
			require.NoError(t, dec.Decode(&v))
			out = append(out, stored{doc.ID, v})
		}
		if !again {
			return out
		}
	}
}

func (b *bundle) instanceDocuments(t *testing.T, q lcm.Query) []stored {
	t.Helper()
	return documents(
		t, q, func(d *lcm.InstanceDocument) *lcm.Document { return &d.Document },
		func(q lcm.Query) iter.Seq2[*lcm.InstanceDocument, error] { return b.InstanceDocuments(t.Context(), q) },
	)
}

func (b *bundle) operationDocuments(t *testing.T, q lcm.Query) []stored {
	t.Helper()
	return documents(
		t, q, func(d *lcm.OperationDocument) *lcm.Document { return &d.Document },
		func(q lcm.Query) iter.Seq2[*lcm.OperationDocument, error] {
			return b.OperationDocuments(t.Context(), q)
		},
	)
}

// textsOfTests are values of texts that are easy to confuse.
var textsOfTests = []string{"", "a", "A", "b", "a b", "é", "50%", `x_y\z`, "'; --", "a,b", "10", "9"}

// TestEveryColumnIsComparedAsOnTheDocument sends every operator for every column with many values to the database, and
// compares the result with the evaluation of the filter on the JSON.
func TestEveryColumnIsComparedAsOnTheDocument(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.raw = true // rows are changed by the test
	states := []sol.LcmOperationStateType{"STARTING", "COMPLETED", "FAILED_TEMP", "FAILED"}
	for n, text := range textsOfTests {
		i, op := b.admit(t)
		_, err := b.pool.Exec(t.Context(), `UPDATE vnf_instance SET name = $2, description = $3, provider = $2, product_name = $3,
			software_version = $2, vnfd_version = $3, vnfd_id = $2, state = $4, version = version + 1 WHERE id = $1`,
			i.ID, text, textsOfTests[len(textsOfTests)-1-n], []string{"INSTANTIATED", "NOT_INSTANTIATED"}[n%2])
		require.NoError(t, err)
		_, err = b.pool.Exec(t.Context(), `UPDATE vnf_lcm_op_occ SET state = $2, cancel = $3, automatic = $4, started = started + $5,
			state_entered = state_entered - $5, type = $6, granted = nullif($7, 'null')::jsonb, version = version + 1 WHERE id = $1`,
			op.ID, states[n%4], []string{"", "GRACEFUL", "FORCEFUL"}[n%3], n%5 == 0, time.Duration(n)*time.Second,
			[]string{"INSTANTIATE", "HEAL"}[n%2], []string{"null", `{"id":""}`, `{"id":"a"}`, `{"id":"b"}`}[n%4])
		require.NoError(t, err)
	}
	compare(t, lcm.InstanceColumns, b.instanceDocuments)
	compare(t, lcm.OperationColumns, b.operationDocuments)
}

func compare(t *testing.T, columns filter.Columns, read func(*testing.T, lcm.Query) []stored) {
	t.Helper()
	all := read(t, lcm.Query{})
	require.Len(t, all, len(textsOfTests))
	ops := []filter.Op{
		filter.Eq, filter.Neq, filter.Gt, filter.Lt, filter.Gte, filter.Lte, filter.In, filter.Nin,
		filter.Cont, filter.Ncont,
	}
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		values := map[string]bool{uuid.NewString(): true}
		if columns[name] == filter.Text {
			for _, v := range append([]string{"COMPLETED", "HEAL", "nothing", "-"}, textsOfTests...) {
				values[v] = true
			}
		}
		for _, d := range all {
			object, ok := d.json.(map[string]any)
			require.True(t, ok)
			if v, ok := object[name]; ok {
				values[fmt.Sprint(v)] = true
				values[strings.ToUpper(fmt.Sprint(v))] = true
			}
		}
		matched := 0
		given := slices.Sorted(maps.Keys(values))
		for _, op := range ops {
			for n, v := range given {
				e := filter.Expr{Op: op, Path: filter.Path{{Name: name}}, Values: []string{v}}
				if op.Multi() {
					e.Values = append(e.Values, given[(n*7+1)%len(given)])
				}
				matched += compareOne(t, columns, e, all, read)
			}
		}
		require.Positive(t, matched, name)
	}
}

// compareOne evaluates one expression in both ways, if the database takes it.
func compareOne(
	t *testing.T, columns filter.Columns, e filter.Expr, all []stored, read func(*testing.T, lcm.Query) []stored,
) int {
	t.Helper()
	f := filter.Filter{Exprs: []filter.Expr{e}}
	pushed, _ := f.Split(columns)
	name := e.Path[0].Name
	if pushed == nil || columns[name] != filter.Text && (e.Op == filter.Cont || e.Op == filter.Ncont) ||
		columns[name] == filter.Truth && e.Op.Ordered() { // filter.Check rejects these
		return 0
	}
	var want, got []string
	for _, d := range all {
		if f.Match(d.json) {
			want = append(want, d.id)
		}
	}
	for _, d := range read(t, lcm.Query{Where: pushed}) {
		got = append(got, d.id)
	}
	require.Equal(t, want, got, "%s", f)
	return len(got)
}

// TestSearchEndsAfterWindowsAndGoesOn: a condition without an index does not read the whole list for one request.
func TestSearchEndsAfterWindowsAndGoesOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.raw = true
	_, op := b.admit(t)
	_, err := b.pool.Exec(t.Context(), `INSERT INTO vnf_lcm_op_occ (id, instance_id, type, state, state_entered, started, updated,
			version, params, phase, deadline, rendered_brief, rendered_version, rendered_format, project)
		SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, o.instance_id, 'HEAL', 'COMPLETED', o.state_entered,
			o.started + n * interval '1 second', o.updated, 1, o.params, '', o.deadline, o.rendered_brief, o.rendered_version,
			o.rendered_format, o.project
		FROM vnf_lcm_op_occ o, generate_series(1, 35000) n WHERE o.id = $1`, op.ID)
	require.NoError(t, err)
	where := func(text string) []filter.Expr {
		f, err := filter.Parse(text)
		require.NoError(t, err)
		return f.Exprs
	}
	read := func(q lcm.Query) (ids []string, end string) {
		for d, err := range b.OperationDocuments(t.Context(), q) {
			require.NoError(t, err)
			if d.Brief == nil {
				return ids, d.ID
			}
			ids = append(ids, d.ID)
		}
		return ids, ""
	}
	last := func(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

	var ids []string
	var end string
	requests := 0
	for q := (lcm.Query{Where: where("(cont,id,-000000034)"), Limit: 5, Brief: true}); ids == nil; q.After = end {
		ids, end = read(q)
		requests++
		require.True(t, ids != nil || end > q.After, "each request goes on")
	}
	require.Greater(t, requests, 1, "no request reads all rows")
	require.Equal(t, []string{last(34_000), last(34_001), last(34_002), last(34_003), last(34_004)}, ids)
	require.Empty(t, end)
	ids, end = read(lcm.Query{Where: where("(cont,id,-000000000999)"), Limit: 2, Brief: true})
	require.Equal(t, []string{last(999)}, ids)
	require.NotEmpty(t, end)
	ids, end = read(lcm.Query{Where: where("(eq,id," + last(34_999) + ");(cont,id,9)"), Limit: 5, Brief: true})
	require.Equal(t, []string{last(34_999)}, ids, "an index finds it")
	require.Empty(t, end)

	// Two conditions of which each has an index: one of them is searched among the rows of the other.
	for _, text := range []string{
		"(eq,operation,HEAL);(eq,operationState,STARTING)", "(eq,operationState,STARTING);(eq,operation,HEAL)",
	} {
		ids, end = read(lcm.Query{Where: where(text), Limit: 5, Brief: true})
		require.Empty(t, ids, text)
		require.Empty(t, end, "%s: one operation has this state", text)
	}
	healing := where("(eq,operation,HEAL);(neq,operationState,COMPLETED)")
	ids, end = read(lcm.Query{Where: healing, Limit: 5, Brief: true})
	require.Empty(t, ids)
	require.NotEmpty(t, end, "no request reads all operations of a type")
	_, err = b.pool.Exec(t.Context(), "UPDATE vnf_lcm_op_occ SET state_entered = started WHERE type = 'HEAL'")
	require.NoError(t, err)
	entered := func(n int) string {
		at := op.Started.Add(time.Duration(n) * time.Second)
		return "(gt,stateEnteredTime," + at.UTC().Format(time.RFC3339Nano) + ")"
	}
	ids, end = read(lcm.Query{Where: where(entered(34_997)), Limit: 5, Brief: true})
	require.Equal(t, []string{last(34_998), last(34_999), last(35_000)}, ids, "few have entered their state so late")
	require.Empty(t, end)
	ids, end = read(lcm.Query{
		Where: where(entered(32_000) + ";(eq,operationState,COMPLETED)"), Limit: 2, Brief: true, After: last(33_000),
	})
	require.Equal(t, []string{last(33_001), last(33_002)}, ids)
	require.Empty(t, end)
	ids, end = read(lcm.Query{Where: where(entered(20_000)), Limit: 5, Brief: true})
	require.True(t, end != "" || len(ids) > 0, "no request reads the list up to the first row that matches")
	ids, end = read(lcm.Query{Where: where("(in,operation,SCALE,TERMINATE)"), Limit: 5, Brief: true})
	require.Empty(t, ids)
	require.NotEmpty(t, end, "no request reads all rows for several values")
}
