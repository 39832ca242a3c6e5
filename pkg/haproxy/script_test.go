package haproxy_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// The script runs as root on users' machines.
func TestScriptIsSound(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("shellcheck"); err != nil {
		t.Skip("SKIPPED: shellcheck is not installed")
	}
	out, err := exec.CommandContext(t.Context(), "shellcheck", "activate.sh").CombinedOutput()
	require.NoError(t, err, string(out))
}
