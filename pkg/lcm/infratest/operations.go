package infratest

import "testing"

// Life tests the operations on a package without the death of a node, for a package that differs from the one of the
// contract in a way that the driver knows.
func Life(t *testing.T, h Harness) {
	t.Helper()
	for name, test := range map[string]func(t *testing.T, h Harness){
		"Instantiate": testInstantiate, "Scale": testScale, "Heal": testHeal, "Terminate": testTerminate,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, h)
		})
	}
}
