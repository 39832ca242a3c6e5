package openstack_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// EnvOpenrc names the file with the credentials of a running lab. Only that is asked for, not OS_AUTH_URL, which may
// belong to a cloud that is used for other work.
const EnvOpenrc = "GYBE_LAB_OPENRC"

// made is where all tests together keep what is built once; openrc is the file of the lab.
var made, openrc string

func TestMain(m *testing.M) {
	openrc = os.Getenv(EnvOpenrc)
	// Gybe would wonder about variables with its prefix that are no settings of its own.
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "GYBE_LAB_") {
			_ = os.Unsetenv(name)
		}
	}
	dir, err := os.MkdirTemp("", "gybe-lab")
	if err != nil {
		panic(err)
	}
	made = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// binaries is the folder with the compiled gybe.
var binaries = sync.OnceValues(func() (string, error) {
	cmd := exec.Command("go", "build", "-o", filepath.Join(made, "gybe"), "./cmd/gybe")
	cmd.Dir = "../../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, bytes.TrimSpace(out))
	}
	return made, nil
})

// lab is the running OpenStack.
type lab struct {
	vars  map[string]string // of its openrc
	state string            // its state directory
}

// running finds the lab, or skips the test.
func running(t *testing.T) *lab {
	t.Helper()
	if openrc == "" {
		t.Skipf(
			"%s names no running lab: nothing is tested against a real OpenStack; `make test-lab-openstack` does "+
				"(root, Debian 12)",
			EnvOpenrc,
		)
	}
	raw, err := os.ReadFile(openrc)
	require.NoError(t, err, "the lab is not there: make lab-up")
	l := &lab{vars: map[string]string{}, state: filepath.Dir(openrc)}
	for word := range strings.FieldsSeq(string(raw)) {
		if name, value, ok := strings.Cut(word, "="); ok {
			l.vars[name] = strings.Trim(value, `'"`)
		}
	}
	return l
}

// service runs service.sh, which the test needs: a lab that another script has started has none.
func (l *lab) service(t *testing.T, env []string, args ...string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(l.state, "settings")); err != nil {
		t.Skipf("the lab in %s was not started by up.sh: its services cannot be steered", l.state)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "./service.sh", args...)
	cmd.Env = append(append(os.Environ(), "GYBE_LAB_STATE="+l.state), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "service.sh %s: %s", strings.Join(args, " "), out)
}
