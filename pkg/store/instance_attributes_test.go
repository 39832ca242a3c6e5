package store_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// attributeValues and paramValues are about as many values as limits.attribute and limits.params allow.
const attributeValues, paramValues = 1800, 7200

func smallValues(tb testing.TB, number int) sol.RawPairs {
	tb.Helper()
	kv := sol.KeyValuePairs{}
	for n := range number {
		kv[fmt.Sprintf("%04d", n)] = n % 10
	}
	raw, err := kv.Raw()
	require.NoError(tb, err)
	return raw
}

// storeValues stores an instance whose attributes have numbers of values.
func (b *bundle) storeValues(tb testing.TB, attribute, params int) *lcm.Instance {
	tb.Helper()
	id := b.newInstance(tb).ID
	require.NoError(tb, b.UpdateInstance(tb.Context(), id, func(i *lcm.Instance) ([]string, error) {
		i.Metadata, i.Params = smallValues(tb, attribute), smallValues(tb, params)
		i.Extensions, i.ConfigurableProperties = i.Metadata, i.Metadata
		return nil, nil
	}))
	i, err := b.Instance(tb.Context(), id)
	require.NoError(tb, err)
	require.Equal(tb, smallValues(tb, params), i.Params)
	return i
}

// admitBefore admits an operation that remembers the instance as it was.
func (b *bundle) admitBefore(tb testing.TB, id string) *lcm.Operation {
	tb.Helper()
	op := newOperation(id)
	require.NoError(tb, b.Admit(tb.Context(), op, nil, func(i *lcm.Instance) error {
		before := *i
		op.Before = &before
		return nil
	}))
	return op
}

// reads are the ways in which requests and nodes get an instance.
func (b *bundle) reads(tb testing.TB, attribute, params int) map[string]func() {
	tb.Helper()
	free, busy := b.storeValues(tb, attribute, params), b.storeValues(tb, attribute, params)
	op := b.admitBefore(tb, busy.ID)
	tick := func(description string) {
		c, cl := b.claim(tb, op.ID, "n")
		require.Equal(tb, busy.Params, c.Op.Before.Params)
		c.Instance.Description += description
		require.NoError(tb, b.CommitTick(tb.Context(), cl, lcm.Tick{Op: c.Op, Instance: c.Instance}))
	}
	return map[string]func(){
		"request": func() {
			_, err := b.Instance(tb.Context(), free.ID)
			require.NoError(tb, err)
		},
		"list": func() {
			list, err := b.Instances(tb.Context(), lcm.Query{})
			require.NoError(tb, err)
			require.Len(tb, list, 2)
		},
		"documents": func() {
			for _, err := range b.InstanceDocuments(tb.Context(), lcm.Query{}) {
				require.NoError(tb, err)
			}
		},
		"admission": func() {
			_, err := b.pool.Exec(tb.Context(), "UPDATE vnf_lcm_op_occ SET state = 'COMPLETED' WHERE id = $1",
				b.admitBefore(tb, free.ID).ID)
			require.NoError(tb, err)
		},
		"tick":                           func() { tick("") },
		"tick that changes the instance": func() { tick("x") },
	}
}

// TestInstancesAreNotDecodedToBeRead: the allocations of a read or write do not depend on the number of values in the
// attributes, and the memory of an instance is about the bytes of their texts.
func TestInstancesAreNotDecodedToBeRead(t *testing.T) { //nolint:paralleltest // it counts allocations
	few, many := setup(t), setup(t)
	few.raw, many.raw = true, true // states are changed by hand
	fewReads, manyReads := few.reads(t, 1, 1), many.reads(t, attributeValues, paramValues)
	for name := range fewReads {
		want, got := testing.AllocsPerRun(5, fewReads[name]), testing.AllocsPerRun(5, manyReads[name])
		require.InDelta(t, want, got, attributeValues/4, name)
	}

	i := many.storeValues(t, attributeValues, paramValues)
	size := len(i.Params) + len(i.Metadata) + len(i.Extensions) + len(i.ConfigurableProperties)
	held := make([]*lcm.Instance, 50)
	heap := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := heap()
	for n := range held {
		var err error
		held[n], err = many.Instance(t.Context(), i.ID)
		require.NoError(t, err)
	}
	require.Less(t, (heap()-before)/len(held), 2*size)
	runtime.KeepAlive(held)
}

// TestSealedAttributesHaveTheFormOfTheReleaseBefore: with another form, a node of the release before would find another
// fingerprint and write instances that have not changed.
func TestSealedAttributesHaveTheFormOfTheReleaseBefore(t *testing.T) {
	t.Parallel()
	type attributes struct {
		ConfigurableProperties sol.KeyValuePairs `json:"configurableProperties,omitempty"`
		Metadata               sol.KeyValuePairs `json:"metadata,omitempty"`
		Extensions             sol.KeyValuePairs `json:"extensions,omitempty"`
	}
	kv := sol.KeyValuePairs{"z": []any{1.0, 1e21, nil, map[string]any{"b": "<&>", "a": "ä\u2028"}}, "a\"b": true}
	b := setup(t)
	for _, want := range []attributes{
		{kv, kv, kv}, {nil, kv, nil}, {nil, nil, kv}, {kv, sol.KeyValuePairs{}, nil}, {nil, nil, nil},
	} {
		i := b.newInstance(t)
		require.NoError(t, b.UpdateInstance(t.Context(), i.ID, func(i *lcm.Instance) ([]string, error) {
			for to, kv := range map[*sol.RawPairs]sol.KeyValuePairs{
				&i.ConfigurableProperties: want.ConfigurableProperties, &i.Metadata: want.Metadata,
				&i.Extensions: want.Extensions,
			} {
				var err error
				*to, err = kv.Raw()
				require.NoError(t, err)
			}
			return nil, nil
		}))
		text, err := json.Marshal(want)
		require.NoError(t, err)
		var sealed []byte
		require.NoError(t, b.pool.QueryRow(
			t.Context(), "SELECT attributes FROM vnf_instance WHERE id = $1", i.ID,
		).Scan(&sealed))
		if string(text) == "{}" {
			require.Nil(t, sealed)
			continue
		}
		plain, err := b.ring.Open(sealed, "vnf_instance.attributes/"+i.ID)
		require.NoError(t, err)
		require.Equal(t, string(text), string(plain))
	}
}
