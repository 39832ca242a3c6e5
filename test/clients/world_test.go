package clients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/app"
	gybe "github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/oracle"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/stack"
)

type obj = map[string]any

// world is a node, a simulated cloud, and the openstack command of this machine.
type world struct {
	t      *testing.T
	cloud  *simcloud.Cloud
	url    string
	api    *gybe.Client // for waiting; everything else is done with the command
	dir    string       // the working folder of the command
	client *commands
	// login are the options with which the client logs in, and env its environment.
	login []string
	env   map[string]string
}

// start starts a node without authentication, or skips the test if the machine has no openstack command.
func start(t *testing.T) *world {
	t.Helper()
	return startWith(t, simcloud.StartTest(t, simcloud.Options{}), nil)
}

// startWith is start with a cloud. change may be nil.
func startWith(t *testing.T, cloud *simcloud.Cloud, change func(*config.Config)) *world {
	t.Helper()
	c, err := client()
	if err != nil {
		t.Skip("NOT RUN: the openstack client is not installed, so it was not tried: " +
			"apt-get install python3-openstackclient python3-tackerclient")
	}
	w := &world{t: t, cloud: cloud, dir: t.TempDir(), client: c}
	cfg := config.Default()
	cfg.DatabaseURL, cfg.Listen, cfg.DebugListen, cfg.DataDir = devpg.TestURL(t), "127.0.0.1:0", "", t.TempDir()
	if change != nil {
		change(&cfg)
	}
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
	w.login = []string{"--os-auth-type", "none", "--os-endpoint", w.url}
	w.env = map[string]string{"HOME": w.dir, "PATH": os.Getenv("PATH"), "LANG": "C.UTF-8"}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	w.api, err = gybe.New(w.url, &http.Client{Transport: transport})
	require.NoError(t, err)
	return w
}

// arguments are those of a command line as a user types it after "openstack", without quoting.
func (w *world) arguments(line string) []string {
	return append(slices.Clip(w.login), strings.Fields(line)...)
}

// try runs a command line, and returns both outputs.
func (w *world) try(line string) (out, errs string, err error) {
	w.t.Helper()
	out, errs, code := w.call(w.arguments(line), w.env)
	w.t.Logf("$ openstack %s\n%s%s", line, out, errs)
	if code != 0 {
		err = fmt.Errorf("exit code %d", code)
	}
	return out, errs, err
}

// program is try with the program /usr/bin/openstack in place of the client that was imported before.
func (w *world) program(line string) (out, errs string, err error) {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), "/usr/bin/openstack", w.arguments(line)...)
	cmd.Dir = w.dir
	for name, value := range w.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// run runs a command that works, and returns its output without spaces around it.
func (w *world) run(line string) string {
	w.t.Helper()
	out, errs, err := w.try(line)
	require.NoError(w.t, err, errs)
	note(line, true)
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
	note(line, false)
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
