package cli_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/cmd/gybe/cli"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/secret"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/store"
	"github.com/gybe-nfv/gybe/test/devpg"
)

func TestSecretsCommandsRotateTheKeysOfADatabase(t *testing.T) {
	t.Parallel()
	url, path := devpg.TestURL(t), filepath.Join(t.TempDir(), "secret.key")
	pool := devpg.Pool(t, url)
	run := func(want int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		code := cli.Run(t.Context(), append(append([]string{"secrets"}, args...), "--database-url", url,
			"--set", "secrets.key_file="+path), cli.Env{Stdout: &out, Stderr: &out})
		require.Equal(t, want, code, out.String())
		return out.String()
	}
	run(cli.ExitFailed, "status") // there is no key file

	ring, err := secret.LoadOrCreate(path)
	require.NoError(t, err)
	old := ring.Primary()
	node, err := store.New(t.Context(), pool, ring, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	vim := lcm.Vim{
		ID: uuid.NewString(), Name: "v", Created: time.Now(), Updated: time.Now(),
		Connection: sol.VimConnectionInfo{VimType: "T", AccessInfo: sol.KeyValuePairs{"password": "s3cret"}},
	}
	require.NoError(t, node.Of(lcm.Principal{}).SaveVim(t.Context(), vim))
	read := func() {
		t.Helper()
		v, err := node.Of(lcm.Principal{}).Vim(t.Context(), vim.ID)
		require.NoError(t, err)
		require.Equal(t, "s3cret", v.Connection.AccessInfo["password"])
	}

	require.Contains(t, run(cli.ExitOK, "rotate"), "does not seal yet")
	require.Contains(t, run(cli.ExitOK, "activate"), "seals from now on; "+old+" still opens")
	require.Contains(t, run(cli.ExitConflict, "remove", old), "1 values are sealed with the key "+old)
	require.Contains(t, run(cli.ExitOK, "status"), "next: gybe secrets reencrypt")
	out := run(cli.ExitOK, "reencrypt")
	require.Contains(t, out, "sealed 1 values with the key")
	require.Contains(t, out, "next: gybe secrets remove "+old)
	read() // by a node that has the old keys in its memory
	var counts []struct {
		Key, Role string
		Values    int
	}
	require.NoError(t, json.Unmarshal([]byte(run(cli.ExitOK, "status", "-o", "json")), &counts))
	require.Len(t, counts, 2)
	require.Equal(t, "seals", counts[0].Role)
	require.Equal(t, 1, counts[0].Values)
	require.Contains(t, run(cli.ExitConflict, "remove", counts[0].Key), "is the one that seals")
	run(cli.ExitOK, "remove", old)
	require.NotContains(t, run(cli.ExitOK, "status"), old)
	require.Contains(t, run(cli.ExitOK, "rotate", "--activate"), strings.TrimSpace(counts[0].Key)+" still opens")
	read()
}

// TestSecretsStatusWarnsOfAnExposedKey: until the key is replaced.
func TestSecretsStatusWarnsOfAnExposedKey(t *testing.T) {
	t.Parallel()
	url, path := devpg.TestURL(t), filepath.Join(t.TempDir(), "secret.key")
	pool := devpg.Pool(t, url)
	ring, err := secret.LoadOrCreate(path)
	require.NoError(t, err)
	_, err = store.New(t.Context(), pool, ring, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	run := func(args ...string) (stdout, stderr string) {
		t.Helper()
		var out, errs bytes.Buffer
		code := cli.Run(t.Context(), append(append([]string{"secrets"}, args...), "--database-url", url,
			"--set", "secrets.key_file="+path), cli.Env{Stdout: &out, Stderr: &errs})
		require.Equal(t, cli.ExitOK, code, errs.String())
		return out.String(), errs.String()
	}
	_, errs := run("status")
	require.Empty(t, errs)
	require.NoError(t, os.Chmod(path, 0o644))
	for range 2 { // the first one corrects the mode
		_, errs = run("status")
		require.Contains(t, errs, "all users of a machine could read the key "+ring.Primary())
		require.Contains(t, errs, "gybe secrets rotate, gybe secrets activate, gybe secrets reencrypt, "+
			"gybe secrets remove "+ring.Primary())
	}
	out, _ := run("status", "-o", "json")
	var counts []struct {
		Exposed *struct{ Mode string }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &counts))
	require.Equal(t, "-rw-r--r--", counts[0].Exposed.Mode)

	run("rotate", "--activate")
	run("reencrypt")
	run("remove", ring.Primary())
	_, errs = run("status")
	require.Empty(t, errs)
}
