package crash_test

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg/vnfpkgtest"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// heavy is a small package with a large file, so that reading it takes a moment.
func heavy(vnfd string, size int) []byte {
	files := vnfpkgtest.Files(vnfd)
	big := make([]byte, size)
	src := rand.NewChaCha8([32]byte{1})
	_, _ = src.Read(big)
	files["Files/images/node.img"] = string(big)
	return vnfpkgtest.Zip(files)
}

func (w *world) state(id string) string {
	w.t.Helper()
	return w.column("SELECT onboarding_state FROM vnf_package WHERE id = $1", id)[0]
}

func (w *world) onboarded(api *client.Client, id string) {
	w.t.Helper()
	var p *sol.VnfPkgInfo
	require.Eventually(w.t, func() bool {
		var err error
		p, err = api.Package(w.t.Context(), id)
		require.NoError(w.t, err)
		return p.OnboardingState == sol.PackageOnboardingStateOnboarded || p.OnboardingFailureDetails != nil
	}, patience, interval)
	require.Equal(w.t, sol.PackageOnboardingStateOnboarded, p.OnboardingState, "%+v", p.OnboardingFailureDetails)
}

// A node is killed while it reads a package that it has accepted: another one reads it. The table of the models is
// locked, so that the first node cannot come to the end.
func TestKillWhileAPackageIsRead(t *testing.T) {
	t.Parallel()
	database := devpg.TestURL(t)
	w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}), database, devpg.Pool(t, database))
	a := w.serve("one")
	p, err := a.api.CreatePackage(t.Context(), sol.CreateVnfPkgInfoRequest{})
	require.NoError(t, err)
	archive := heavy("heavy", 8<<20)
	tx, err := w.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = tx.Exec(t.Context(), "LOCK TABLE vnf_package_model IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	answered := make(chan error, 1)
	go func() { answered <- a.api.UploadPackage(t.Context(), p.ID, bytes.NewReader(archive)) }()
	require.Eventually(t, func() bool {
		return len(w.column(
			"SELECT query FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND "+
				"query LIKE '%vnf_package_model%'",
		)) > 0
	}, patience, interval)
	a.Kill()
	<-answered // it may or may not have been answered
	require.Equal(t, "PROCESSING", w.state(p.ID))
	require.NoError(t, tx.Rollback(t.Context()))
	b := w.serve("two")
	began := time.Now()
	w.onboarded(b.api, p.ID)
	t.Logf("onboarded %s after another node was ready", time.Since(began).Round(time.Millisecond))
	w.create(b.api, "heavy")
}

// A node is killed while it receives a package: the package can be uploaded again, to any node, when it is sure that
// the first one is not coming back.
func TestKillWhileAPackageIsReceived(t *testing.T) {
	t.Parallel()
	database := devpg.TestURL(t)
	w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}), database, devpg.Pool(t, database))
	a, b := w.serve("one"), w.serve("two")
	p, err := a.api.CreatePackage(t.Context(), sol.CreateVnfPkgInfoRequest{})
	require.NoError(t, err)
	archive := heavy("half", 8<<20)
	half, more := io.Pipe()
	answered := make(chan error, 1)
	go func() { answered <- a.api.UploadPackage(t.Context(), p.ID, half) }()
	_, err = more.Write(archive[:len(archive)/2])
	require.NoError(t, err)
	require.Eventually(t, func() bool { return w.state(p.ID) == "UPLOADING" }, patience, interval)
	a.Kill()
	require.NoError(t, more.CloseWithError(io.ErrUnexpectedEOF))
	require.Error(t, <-answered)
	require.Equal(t, []string{"true"}, w.column(
		"SELECT (upload_lease > now())::text FROM vnf_package WHERE id = $1", p.ID,
	), "the node that died has a lease")
	require.Equal(t, "UPLOADING", w.state(p.ID))
	w.exec("UPDATE vnf_package SET upload_lease = now() + interval '1 s'") // most of the lease is over
	require.Eventually(t, func() bool { return w.state(p.ID) == "CREATED" }, patience, interval)
	require.NoError(t, b.api.UploadPackage(t.Context(), p.ID, bytes.NewReader(archive)))
	w.onboarded(b.api, p.ID)
	w.create(b.api, "half")
}

// A node is killed while it downloads a package: another one continues where the first one has stopped, with the
// credentials that the first one was given.
func TestKillWhileAPackageIsDownloaded(t *testing.T) {
	t.Parallel()
	database := devpg.TestURL(t)
	w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}), database, devpg.Pool(t, database))
	archive := heavy("downloaded", 8<<20)
	killed := make(chan struct{})
	ranges := make(chan string, 10)
	origin := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "ann" || password != "s3cret" {
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		ranges <- r.Header.Get("Range")
		rw.Header().Set("ETag", `"a"`)
		if r.Header.Get("Range") != "" {
			http.ServeContent(rw, r, "", time.Time{}, bytes.NewReader(archive))
			return
		}
		rw.Header().Set("Content-Length", strconv.Itoa(len(archive)))
		_, _ = rw.Write(archive[:len(archive)/2])
		_ = http.NewResponseController(rw).Flush()
		select { // the rest does not arrive before the node is dead
		case <-killed:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(origin.Close)
	a := w.serve("one")
	p, err := a.api.CreatePackage(t.Context(), sol.CreateVnfPkgInfoRequest{})
	require.NoError(t, err)
	require.NoError(t, a.api.UploadPackageFrom(t.Context(), p.ID, sol.UploadVnfPackageFromUriRequest{
		AddressInformation: origin.URL, UserName: "ann", Password: "s3cret",
	}))
	require.Eventually(t, func() bool {
		d, err := a.api.PackageDownload(t.Context(), p.ID)
		require.NoError(t, err)
		return d.Received == int64(len(archive)/2)
	}, patience, interval)
	a.Kill()
	for len(ranges) > 0 { // a node that is slow can ask for the beginning more than once
		require.Empty(t, <-ranges)
	}
	close(killed)
	require.Equal(t, "UPLOADING", w.state(p.ID))
	b := w.serve("two")
	began := time.Now()
	w.onboarded(b.api, p.ID)
	t.Logf("onboarded %s after another node was ready", time.Since(began).Round(time.Millisecond))
	require.Equal(t, "bytes="+strconv.Itoa(len(archive)/2)+"-", <-ranges)
	for len(ranges) > 0 { // a node that is slow can lose its lease, and goes on later
		from, err := strconv.Atoi(strings.Trim(<-ranges, "bytes=-"))
		require.NoError(t, err)
		require.GreaterOrEqual(t, from, len(archive)/2)
	}
	w.create(b.api, "downloaded")
}
