package store_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// TestWhatCodeOfPackagesHasMadeIsKept: the next node that claims the operation finds the stack that a class has made
// and what a script has left.
func TestWhatCodeOfPackagesHasMadeIsKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i, op := b.admit(t)
	c, cl := b.claim(t, op.ID, "n")
	require.Nil(t, c.Op.ScriptData)
	require.Nil(t, c.Instance.Assembled)
	made := &lcm.AssembledStack{
		Operation: op.ID, Template: canary, Files: map[string]string{"a.yaml": canary},
		Parameters: map[string]any{"nfv": map[string]any{"VDU": canary}},
	}
	c.Op.ScriptData, c.Instance.Assembled = json.RawMessage(`{"k":"`+canary+`"}`), made
	require.NoError(t, b.CommitTick(t.Context(), cl, lcm.Tick{Op: c.Op, Instance: c.Instance}))

	c, _ = b.claim(t, op.ID, "m")
	require.JSONEq(t, `{"k":"`+canary+`"}`, string(c.Op.ScriptData))
	require.Equal(t, made, c.Instance.Assembled)
	stored, err := b.Instance(t.Context(), i.ID)
	require.NoError(t, err)
	require.Equal(t, made, stored.Assembled)
}
