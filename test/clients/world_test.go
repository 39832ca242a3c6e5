package clients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/app"
	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/oracle"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/stack"
)

type obj = map[string]any

// world is a node, a simulated cloud, and the openstack command of this machine.
type world struct {
	t       *testing.T
	cloud   *simcloud.Cloud
	url     string
	api     *client.Client // for waiting; everything else is done with the command
	dir     string         // the working folder of the command
	program string
}

// start starts a node without authentication, or skips the test if the machine has no openstack command.
func start(t *testing.T) *world {
	t.Helper()
	program, err := exec.LookPath("openstack")
	if err == nil {
		err = exec.CommandContext(t.Context(), "/usr/bin/python3", "-c", "import tackerclient").Run()
	}
	if err != nil {
		t.Skip("NOT RUN: the openstack client is not installed, so it was not tried: " +
			"apt-get install python3-openstackclient python3-tackerclient")
	}
	w := &world{t: t, cloud: simcloud.StartTest(t, simcloud.Options{}), dir: t.TempDir(), program: program}
	cfg := config.Default()
	cfg.DatabaseURL, cfg.Listen, cfg.DebugListen, cfg.DataDir = devpg.TestURL(t), "127.0.0.1:0", "", t.TempDir()
	node, err := app.New(t.Context(), cfg, app.Options{
		Log: slog.New(slog.DiscardHandler), SkipPreload: true, WrapAPI: oracle.Handler(t),
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- node.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	<-node.Ready()
	w.url = node.URL()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	w.api, err = client.New(w.url, &http.Client{Transport: transport})
	require.NoError(t, err)
	return w
}

// try runs a command line as a user types it after "openstack", without quoting, and returns both outputs.
func (w *world) try(line string) (out, errs string, err error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Minute)
	defer cancel()
	args := append([]string{"--os-auth-type", "none", "--os-endpoint", w.url}, strings.Fields(line)...)
	cmd := exec.CommandContext(ctx, w.program, args...)
	cmd.Dir = w.dir
	cmd.Env = []string{"HOME=" + w.dir, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	w.t.Logf("$ openstack %s\n%s%s", line, &stdout, &stderr)
	return stdout.String(), stderr.String(), err
}

// run runs a command that works, and returns its output without spaces around it.
func (w *world) run(line string) string {
	w.t.Helper()
	out, errs, err := w.try(line)
	require.NoError(w.t, err, errs)
	return strings.TrimSpace(out)
}

// refused runs a command that does not work, and requires a text in its message.
func (w *world) refused(line string, texts ...string) {
	w.t.Helper()
	out, errs, err := w.try(line)
	require.Error(w.t, err, out)
	for _, text := range texts {
		require.Contains(w.t, out+errs, text)
	}
	require.NotContains(w.t, errs, "Traceback")
}

// show runs a command that prints one object, and returns its rows.
func (w *world) show(line string) obj {
	w.t.Helper()
	var rows obj
	require.NoError(w.t, json.Unmarshal([]byte(w.run(line+" -f json")), &rows))
	return rows
}

// list runs a command that prints a list.
func (w *world) list(line string) []obj {
	w.t.Helper()
	var rows []obj
	require.NoError(w.t, json.Unmarshal([]byte(w.run(line+" -f json")), &rows))
	return rows
}

// write writes a file into the working folder of the command.
func (w *world) write(name string, content any) {
	w.t.Helper()
	raw, ok := content.(string)
	if !ok {
		text, err := json.Marshal(content)
		require.NoError(w.t, err)
		raw = string(text)
	}
	require.NoError(w.t, os.WriteFile(filepath.Join(w.dir, name), []byte(raw), 0o600))
}

// plain builds the package test/packages/plain in the working folder.
func (w *world) plain() {
	w.t.Helper()
	require.NoError(w.t, stack.BuildPackage(w.t.Context(), "../packages/plain", filepath.Join(w.dir, "plain.zip")))
}

// columns are the first column of a table, without empty cells.
func columns(table string) []string {
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^\| (\S.*?) +\|`).FindAllStringSubmatch(table, -1) {
		names = append(names, m[1])
	}
	return names
}

// text reads a row with a text.
func text(t *testing.T, rows obj, name string) string {
	t.Helper()
	s, ok := rows[name].(string)
	require.True(t, ok, "%s in %v", name, rows)
	return s
}
