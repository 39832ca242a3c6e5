package infratest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// surviveDeaths runs an operation many times, each time with a node that dies at another moment. admit prepares the
// operation. The outcome is always that of an undisturbed run.
func surviveDeaths(t *testing.T, h Harness, admit func(v *vnf)) {
	t.Helper()
	undisturbed := newVNF(t, h, h.New(t))
	admit(undisturbed)
	undisturbed.start(death{})
	undisturbed.complete()
	want := counts(undisturbed.vim.Contents())
	var deaths []death
	for n := range undisturbed.node.changesMade() {
		deaths = append(deaths, death{change: n + 1}, death{change: n + 1, after: true})
	}
	for n := range undisturbed.node.writes {
		deaths = append(deaths, death{write: n + 1, after: n%2 == 0})
	}

	for _, d := range deaths {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			v := newVNF(t, h, h.New(t))
			empty := v.vim.Contents()
			admit(v)
			v.start(d)
			v.complete()
			if d.change > 0 { // the number of writes depends on how long the VIM takes
				require.Equal(t, 1, v.deaths)
			}
			require.Equal(t, want, counts(v.vim.Contents()), "a repeated call adopts what exists")
			if v.instance.State == sol.InstantiationStateInstantiated {
				v.requireInventory()
				v.terminate()
			}
			if v.snapshot != nil && v.snapshot.Operation != "" {
				require.NoError(t, v.deleteSnapshot())
			}
			require.ElementsMatch(t, empty, v.vim.Contents())
		})
	}
}

func testInstantiateSurvivesDeath(t *testing.T, h Harness) {
	t.Helper()
	surviveDeaths(t, h, func(v *vnf) { v.admitInstantiate() })
}

func testScaleSurvivesDeath(t *testing.T, h Harness) {
	t.Helper()
	surviveDeaths(t, h, func(v *vnf) {
		v.instantiate()
		v.admitScale(sol.ScaleTypeOut)
	})
}

func testHealSurvivesDeath(t *testing.T, h Harness) {
	t.Helper()
	surviveDeaths(t, h, func(v *vnf) {
		v.instantiate()
		vnfc := v.instance.Instantiated.VnfcInfo[0].ID
		v.vim.Lose(v.machine(vnfc))
		v.admit(sol.LcmOperationHeal, sol.HealVnfRequest{VnfcInstanceID: []string{vnfc}})
	})
}

func testWholeHealSurvivesDeath(t *testing.T, h Harness) {
	t.Helper()
	surviveDeaths(t, h, func(v *vnf) {
		v.instantiate()
		v.admit(sol.LcmOperationHeal, sol.HealVnfRequest{AdditionalParams: sol.KeyValuePairs{"all": true}})
	})
}

func testTerminateSurvivesDeath(t *testing.T, h Harness) {
	t.Helper()
	surviveDeaths(t, h, func(v *vnf) {
		v.instantiate()
		v.admitTerminate()
	})
}
