package process_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gybe-nfv/gybe/pkg/process"
)

// TestMain lets the test binary play a node that inherits a descriptor, and reports what it sees.
func TestMain(m *testing.M) {
	if os.Getenv("GYBE_PROCESS_TEST") == "" {
		os.Exit(m.Run())
	}
	if err := process.CloseOnExec(); err != nil {
		panic(err)
	}
	if err := process.HideMemory(); err != nil {
		panic(err)
	}
	cmd := exec.Command("ls", "/proc/self/fd")
	out, err := cmd.CombinedOutput()
	if err != nil {
		panic(err)
	}
	var core unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &core); err != nil {
		panic(err)
	}
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stdout, "child:", strings.Fields(string(out)), "core:", core.Cur, core.Max, "dumpable:", dumpable)
	os.Exit(0)
}

// TestNodeProtectsItself: programs that a node starts inherit none of the descriptors that the node inherited, and its
// memory is not dumped.
func TestNodeProtectsItself(t *testing.T) {
	t.Parallel()
	inherited, err := os.CreateTemp(t.TempDir(), "inherited")
	require.NoError(t, err)
	defer inherited.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "GYBE_PROCESS_TEST=1")
	cmd.ExtraFiles = []*os.File{inherited, inherited}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	// The fourth descriptor is the directory that ls reads.
	require.Equal(t, "child: [0 1 2 3] core: 0 0 dumpable: 0\n", string(out))
}
