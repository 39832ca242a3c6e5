package parallel_test

import (
	"flag"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/parallel"
)

func TestMain(m *testing.M) {
	parallel.Allow(parallel.Several)
	os.Exit(m.Run())
}

// TestAllowRaisesTheDefaultOnly: the number of a user is kept, the number of CPUs is not.
func TestAllowRaisesTheDefaultOnly(t *testing.T) {
	n := flag.Lookup("test.parallel")
	before := n.Value.String()
	t.Cleanup(func() { require.NoError(t, n.Value.Set(before)) })
	if runtime.GOMAXPROCS(0) < parallel.Several {
		require.Equal(t, "4", before, "TestMain has raised it")
	}
	require.NoError(t, n.Value.Set("3"))
	parallel.Allow(parallel.Several)
	require.Equal(t, "3", n.Value.String())
}
