package crash_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/secret"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/store"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// send sends a request with an id and returns the status; 0 when the node dies.
func (r *real) send(method, path, body, id string) int {
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.URL+path, strings.NewReader(body))
	if err != nil {
		return 0
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Request-Id", id)
	resp, err := r.http.Transport.RoundTrip(req)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close() // not needed
	return resp.StatusCode
}

// A node dies at each write of an audited request. There is no change and no answer about a secret without an entry in
// the audit trail, and an entry without an outcome is the trace of the death.
func TestDeathInAnAuditedRequest(t *testing.T) {
	t.Parallel()
	database := devpg.TestURL(t)
	w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}), database, devpg.Pool(t, database))
	n := w.serve("one")
	g := w.newGate("audit", "vnf_package")
	packages := func() string { return w.column("SELECT count(*)::text FROM vnf_package")[0] }
	killed := 0
	for _, r := range []struct{ name, method, path, body string }{
		{"change", http.MethodPost, "/vnfpkgm/v1/vnf_packages", "{}"},
		{"secret", http.MethodGet, "/gybe/v1/vnf_instances/" + uuid.NewString() + "/kubeconfig", ""},
	} {
		for after := range deaths {
			for nth, alive := 1, false; !alive; nth++ {
				id := fmt.Sprintf("%s-%d-%v", r.name, nth, after)
				before, status := packages(), 0
				alive = !g.dies(nth, after, n.Kill, func() {
					status = n.send(r.method, r.path, r.body, id)
					_, _ = n.api.Audit(t.Context(), nil) // stores the outcome
				})
				var entries []struct{ Status *int }
				require.NoError(t, json.Unmarshal([]byte(w.column(`SELECT coalesce(json_agg(json_build_object('status',
					status)), '[]')::text FROM audit WHERE request_id = $1`, id)[0]), &entries))
				if packages() != before || status != 0 {
					require.Len(t, entries, 1, id)
				}
				if nth == 1 && !alive {
					require.Equal(t, before, packages(), id)
					require.Zero(t, status, id)
					require.Len(t, entries, map[bool]int{false: 0, true: 1}[after], id)
				}
				if alive {
					require.NotZero(t, status)
					require.Equal(t, status, *entries[0].Status)
					break
				}
				killed++
				n.restart()
			}
		}
	}
	require.Equal(t, 2*3+2*2, killed, "the entry, the change and the outcome")
}

// A node dies at each write of an upload of package content. Afterwards the package is complete, or can be uploaded
// again, and no file is left when it is deleted.
func TestDeathInAnUpload(t *testing.T) {
	t.Parallel()
	database := devpg.TestURL(t)
	w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}), database, devpg.Pool(t, database))
	n := w.serve("one")
	g := w.newGate("audit", "vnf_package", "vnf_package_model")
	killed, every := 0, 3
	if full() {
		every = 1
	}
	for after := range deaths {
		for nth, alive := 1, false; !alive; nth += every {
			p, err := n.api.CreatePackage(t.Context(), sol.CreateVnfPkgInfoRequest{})
			require.NoError(t, err)
			archive := heavy(fmt.Sprintf("upload-%d-%v", nth, after), 64<<10)
			alive = !g.dies(nth, after, n.Kill, func() {
				if n.api.UploadPackage(t.Context(), p.ID, bytes.NewReader(archive)) != nil {
					return
				}
				tick := time.NewTicker(interval)
				defer tick.Stop()
				for ; ; <-tick.C {
					info, err := n.api.Package(t.Context(), p.ID)
					if err != nil || info.OnboardingState == sol.PackageOnboardingStateOnboarded {
						break
					}
				}
				_, _ = n.api.Audit(t.Context(), nil) // stores the outcome
			})
			if !alive {
				killed++
				w.exec("UPDATE vnf_package SET upload_lease = now() - interval '1 s' WHERE upload_lease IS NOT NULL")
				n.restart()
			}
			entries := w.column("SELECT path FROM audit WHERE path LIKE '%' || $1 || '%' AND method = 'PUT'", p.ID)
			state := ""
			require.Eventually(t, func() bool {
				state = w.state(p.ID)
				return state == "CREATED" || state == "ONBOARDED"
			}, patience, interval, p.ID)
			if state == "CREATED" {
				require.NoError(t, n.api.UploadPackage(t.Context(), p.ID, bytes.NewReader(archive)))
			} else {
				require.Len(t, entries, 1)
			}
			w.onboarded(n.api, p.ID)
			require.NoError(t, n.api.UpdatePackage(t.Context(), p.ID, sol.VnfPkgInfoModifications{
				OperationalState: sol.PackageOperationalStateDisabled,
			}))
			require.NoError(t, n.api.DeletePackage(t.Context(), p.ID))
		}
	}
	t.Logf("%d deaths", killed)
	require.Greater(t, killed, 2*2)

	// Files of dead processes are removed when they are old, at the start of a node.
	n.Kill()
	content := filepath.Join(w.data, "content", "content")
	old := time.Now().Add(-30 * 24 * time.Hour)
	require.NoError(t, filepath.WalkDir(content, func(path string, _ fs.DirEntry, err error) error {
		require.NoError(t, err)
		return os.Chtimes(path, old, old)
	}))
	n.restart()
	require.Eventually(t, func() bool { return len(files(t, content)) == 0 }, patience, interval)
}

// files are the regular files below a folder.
func files(t *testing.T, folder string) (out []string) {
	t.Helper()
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			out = append(out, path)
		}
		return nil // a folder that is being removed is looked at again
	})
	return out
}

// gybe secrets reencrypt dies at a write of each kind: every value can be opened, and the next call ends the work. The
// commands rotate and activate write no row; they replace the key file by a rename.
func TestDeathInReencrypt(t *testing.T) {
	t.Parallel()
	database := devpg.TestURL(t)
	w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}), database, devpg.Pool(t, database))
	n := w.serve("one", "PGAPPNAME=bystander") // it records each new key, some time after the rotation
	keys := filepath.Join(w.data, "content", "secret.key")
	ring, err := secret.Load(keys)
	require.NoError(t, err)
	const vims = 60 // more than one transaction
	fill, err := store.New(t.Context(), w.pool, ring, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	for i := range vims {
		require.NoError(t, fill.Of(lcm.Principal{}).SaveVim(t.Context(), lcm.Vim{
			ID: uuid.NewString(), Name: fmt.Sprintf("vim-%d", i), Created: time.Now(), Updated: time.Now(),
			Connection: sol.VimConnectionInfo{
				VimType: "ETSINFV.OPENSTACK_KEYSTONE.V_3", AccessInfo: sol.KeyValuePairs{"password": "s3cret"},
			},
		}))
	}
	bin, err := binaries()
	require.NoError(t, err)
	command := func(args ...string) *exec.Cmd {
		return exec.Command(filepath.Join(bin, "gybe"), append(append([]string{"secrets"}, args...),
			"--database-url", database, "--set", "secrets.key_file="+keys)...)
	}
	run := func(args ...string) []byte {
		t.Helper()
		cmd := command(args...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		require.NoError(t, err, errs.String())
		return out
	}
	g := w.newGate("vim", "secret_check")
	for after := range deaths {
		for _, nth := range []int{1, 2, 51, vims} {
			require.False(t, g.dies(1, after, n.Kill, func() { _ = command("rotate", "--activate").Run() }))
			cmd := command("reencrypt")
			require.NoError(t, cmd.Err)
			started := make(chan struct{})
			require.True(t, g.dies(nth, after, func() {
				<-started
				_ = cmd.Process.Kill() // it is dead or waits
			}, func() {
				err := cmd.Start()
				close(started)
				if err == nil {
					_ = cmd.Wait() // it is killed
				}
			}), "write %d", nth)
			w.opened(n, vims) // by keys old and new
			run("reencrypt")
			var counts []struct {
				Role   string
				Values int
			}
			require.NoError(t, json.Unmarshal(run("status", "-o", "json"), &counts))
			require.Equal(t, "seals", counts[0].Role)
			for _, c := range counts[1:] {
				require.Zero(t, c.Values, "%+v", counts)
			}
		}
	}
	w.opened(n, vims)
}

// opened checks that a node can open the credentials of all VIMs.
func (w *world) opened(n *real, count int) {
	w.t.Helper()
	var list []gybeapi.Vim
	require.Eventually(w.t, func() bool { // a node that lacks a new key reads the file again
		var err error
		list, err = n.api.Vims(w.t.Context())
		return err == nil
	}, patience, interval)
	require.Len(w.t, list, count)
}
