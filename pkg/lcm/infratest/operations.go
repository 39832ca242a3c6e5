package infratest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Life tests the operations on a package without the death of a node, for a package that differs from the one of the
// contract in a way that the driver knows.
func Life(t *testing.T, h Harness) {
	t.Helper()
	scale := testScale
	if h.Fixed != "" {
		scale = testScaleRefused
	}
	for name, test := range map[string]func(t *testing.T, h Harness){
		"Instantiate": testInstantiate, "Scale": scale, "Heal": testHeal, "Terminate": testTerminate,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, h)
		})
	}
}

// testScaleRefused: a request to scale is rejected at its aspect, and nothing is changed.
func testScaleRefused(t *testing.T, h Harness) {
	t.Helper()
	v := newVNF(t, h, h.New(t))
	v.instantiate()
	before := v.vim.Contents()
	a := v.admission(sol.LcmOperationScale, sol.ScaleVnfRequest{Type: sol.ScaleTypeOut, AspectID: h.Aspect})
	e := lcm.AsError(v.driver.Validate(t.Context(), v.request(a)))
	require.NotNil(t, e)
	require.Equal(t, lcm.CodeUnprocessable, e.Code)
	require.Len(t, e.Params, 1)
	require.Equal(t, "/aspectId", e.Params[0].Pointer)
	require.Contains(t, e.Params[0].Detail, h.Fixed)
	require.ElementsMatch(t, before, v.vim.Contents())
}
