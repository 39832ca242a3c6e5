package crash_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// A node dies at each write of upload_from_uri: the request, the attempts of the download, of which the first one is
// interrupted, the publication, and the onboarding. Afterwards the download goes on to its end without a user, unless
// the request was never accepted; then it can be sent again. The content is complete, and no file is left on the disk
// when the package is deleted.
func TestDeathInADownload(t *testing.T) {
	t.Parallel()
	database := devpg.TestURL(t)
	w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}), database, devpg.Pool(t, database))
	var archives sync.Map // by path
	origin := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		found, _ := archives.Load(r.URL.Path)
		archive, ok := found.([]byte)
		if !ok {
			rw.WriteHeader(http.StatusNotFound)
			return
		}
		rw.Header().Set("ETag", `"a"`)
		if r.Header.Get("Range") != "" {
			http.ServeContent(rw, r, "", time.Time{}, bytes.NewReader(archive))
			return
		}
		rw.Header().Set("Content-Length", strconv.Itoa(len(archive)))
		_, _ = rw.Write(archive[:len(archive)/2]) // the connection breaks here
	}))
	t.Cleanup(origin.Close)
	n := w.serve("one")
	content := filepath.Join(w.data, "content", "content")
	g := w.newGate("audit", "vnf_package", "vnf_package_model")
	killed, sentAgain := 0, 0
	for after := range deaths {
		for nth, alive := 1, false; !alive; nth++ {
			p, err := n.api.CreatePackage(t.Context(), sol.CreateVnfPkgInfoRequest{})
			require.NoError(t, err)
			path := "/" + p.ID
			archive := heavy(fmt.Sprintf("download-%d-%v", nth, after), 64<<10)
			archives.Store(path, archive)
			request := sol.UploadVnfPackageFromUriRequest{AddressInformation: origin.URL + path}
			accepted := false
			alive = !g.dies(nth, after, n.Kill, func() {
				if n.api.UploadPackageFrom(t.Context(), p.ID, request) != nil {
					return
				}
				accepted = true
				for {
					info, err := n.api.Package(t.Context(), p.ID)
					if err != nil || info.OnboardingState == sol.PackageOnboardingStateOnboarded {
						break
					}
				}
				_, _ = n.api.Audit(t.Context(), nil) // stores the outcome
			})
			if !alive {
				killed++
				n.restart()
			}
			if w.state(p.ID) == "CREATED" {
				require.False(t, accepted, "death %d, after %v", nth, after)
				sentAgain++
				require.NoError(t, n.api.UploadPackageFrom(t.Context(), p.ID, request))
			}
			require.Eventually(t, func() bool {
				state := w.state(p.ID)
				return state != "UPLOADING" && state != "PROCESSING"
			}, patience, interval)
			w.onboarded(n.api, p.ID)
			stored, err := n.api.PackageContent(t.Context(), p.ID)
			require.NoError(t, err)
			got, err := io.ReadAll(stored)
			require.NoError(t, errors.Join(err, stored.Close()))
			require.True(t, bytes.Equal(archive, got), "death %d, after %v", nth, after)
			require.Equal(t, []string{"0"}, w.column("SELECT count(*)::text FROM vnf_package WHERE source IS NOT NULL"))
			require.NoError(t, n.api.UpdatePackage(t.Context(), p.ID, sol.VnfPkgInfoModifications{
				OperationalState: sol.PackageOperationalStateDisabled,
			}))
			require.NoError(t, n.api.DeletePackage(t.Context(), p.ID))
		}
	}
	t.Logf("%d deaths, the request was sent again %d times", killed, sentAgain)
	require.GreaterOrEqual(t, killed, 2*8, "two attempts, three states, an attempt to onboard, the model, the result")
	require.Positive(t, sentAgain)
	require.Less(t, sentAgain, killed/2)

	// Files of dead processes are removed when they are old, at the start of a node.
	n.Kill()
	old := time.Now().Add(-30 * 24 * time.Hour)
	require.NoError(t, filepath.WalkDir(content, func(path string, _ fs.DirEntry, err error) error {
		require.NoError(t, err)
		return os.Chtimes(path, old, old)
	}))
	n.restart()
	require.Eventually(t, func() bool { return len(files(t, content)) == 0 }, patience, interval)
}
