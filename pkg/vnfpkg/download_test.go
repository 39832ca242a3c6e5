package vnfpkg_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/download"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/outbound"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg/vnfpkgtest"
)

// origin is a server that has packages.
type origin struct {
	*httptest.Server
	mu       sync.Mutex
	requests []http.Header
	// answer answers the n-th request, from 0.
	answer func(n int, w http.ResponseWriter, r *http.Request)
}

func serveOrigin(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *origin {
	t.Helper()
	o := &origin{answer: answer}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		n := len(o.requests)
		o.requests = append(o.requests, r.Header.Clone())
		o.mu.Unlock()
		o.answer(n, w, r)
	}))
	t.Cleanup(o.Close)
	return o
}

// seen returns the headers of the requests so far.
func (o *origin) seen() []http.Header {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.requests
}

// send serves content, with ranges when it has an entity tag. It breaks the connection after cut bytes, if that is not
// negative.
func send(w http.ResponseWriter, r *http.Request, data []byte, etag string, cut int) {
	if etag != "" {
		w.Header().Set("ETag", etag)
	} else {
		r.Header.Del("Range")
	}
	if cut < 0 {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
		return
	}
	http.ServeContent(&cutter{ResponseWriter: w, left: cut}, r, "", time.Time{}, bytes.NewReader(data))
}

type cutter struct {
	http.ResponseWriter
	left int
}

func (c *cutter) Write(p []byte) (int, error) {
	p = p[:min(len(p), c.left)]
	n, _ := c.ResponseWriter.Write(p)
	c.left -= n
	if c.left == 0 {
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, nil
}

// fetching lets a node download from the servers of tests.
func fetching(o *vnfpkg.Options) {
	o.Fetcher = download.New(download.Options{Policy: &outbound.Policy{Loopback: true}, Idle: time.Minute})
}

func source(address string) *sol.UploadVnfPackageFromUriRequest {
	return &sol.UploadVnfPackageFromUriRequest{
		AddressInformation: address + "/p.zip?sig=token-of-the-query", UserName: "user", Password: "s3cret",
	}
}

// download runs the jobs of downloads until they end, then those of the onboarding.
func (b *bundle) download(t *testing.T) {
	t.Helper()
	for _, id := range b.store.Downloads() {
		for again := true; again; {
			var err error
			_, again, err = b.Download(t.Context(), id)
			require.NoError(t, err)
		}
	}
	b.work(t)
}

func (b *bundle) partials(t *testing.T) []string {
	t.Helper()
	names, err := b.content.Partials()
	require.NoError(t, err)
	return names
}

func large(vnfd string) []byte {
	files := vnfpkgtest.Files(vnfd)
	files["Files/images/node.img"] = strings.Repeat(uuid.NewString(), 5000)
	return vnfpkgtest.Zip(files)
}

func TestDownloadsThatBreakAreContinued(t *testing.T) {
	t.Parallel()
	data, changed := large("vnfd-1"), large("vnfd-1")
	date := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	from := func(h http.Header) string { return h.Get("Range") }
	for name, tt := range map[string]struct {
		answer func(n int, w http.ResponseWriter, r *http.Request)
		want   []byte
		ranges []string // of the requests
	}{
		"at once": {func(_ int, w http.ResponseWriter, r *http.Request) {
			send(w, r, data, "", -1)
		}, data, []string{""}},
		"broken three times": {func(n int, w http.ResponseWriter, r *http.Request) {
			send(w, r, data, `"a"`, []int{1000, 500, 1, -1}[n])
		}, data, []string{"", "bytes=1000-", "bytes=1500-", "bytes=1501-"}},
		"a server without ranges": {func(n int, w http.ResponseWriter, r *http.Request) {
			send(w, r, data, "", []int{1000, 500, -1}[n])
		}, data, []string{"", "", ""}},
		"a weak entity tag": {func(n int, w http.ResponseWriter, r *http.Request) {
			send(w, r, data, `W/"a"`, []int{1000, -1}[n])
		}, data, []string{"", ""}},
		"a date instead of an entity tag": {func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 0 {
				w.Header().Set("Last-Modified", date.Format(http.TimeFormat))
				send(w, r, data, "", 700)
			}
			require.Equal(t, date.Format(http.TimeFormat), r.Header.Get("If-Range"))
			http.ServeContent(w, r, "", date, bytes.NewReader(data))
		}, data, []string{"", "bytes=700-"}},
		"content that changes": {func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 0 {
				send(w, r, data, `"a"`, 1000)
			}
			require.Equal(t, `"a"`, r.Header.Get("If-Range"))
			send(w, r, changed, `"b"`, -1)
		}, changed, []string{"", "bytes=1000-"}},
		"a server that ignores If-Range": {func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 0 {
				send(w, r, data, `"a"`, 1000)
			}
			r.Header.Del("If-Range")
			send(w, r, changed, `"b"`, -1)
		}, changed, []string{"", "bytes=1000-", ""}},
		"other bytes than asked for": {func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 1 {
				r.Header.Set("Range", "bytes=5-")
			}
			send(w, r, data, `"a"`, []int{1000, -1, -1}[n])
		}, data, []string{"", "bytes=1000-", ""}},
		"content without a length": {func(n int, w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write(data[:1000])
			_ = http.NewResponseController(w).Flush()
			if n == 0 {
				panic(http.ErrAbortHandler)
			}
			_, _ = w.Write(data[1000:])
		}, data, []string{"", ""}},
		"a server that is busy": {func(n int, w http.ResponseWriter, r *http.Request) {
			if n < 2 {
				w.Header().Set("Retry-After", "1")
				w.WriteHeader([]int{503, 429}[n])
				return
			}
			send(w, r, data, "", -1)
		}, data, []string{"", "", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, fetching)
			id := b.create(t)
			o := serveOrigin(t, tt.answer)
			require.NoError(t, b.UploadFrom(t.Context(), id, nil, source(o.URL)))
			require.Equal(t, sol.PackageOnboardingStateUploading, b.get(t, id).OnboardingState)
			requireCode(t, b.UploadFrom(t.Context(), id, nil, source(o.URL)), lcm.CodeConflict)
			requireCode(t, b.Upload(t.Context(), id, nil, bytes.NewReader(data)), lcm.CodeConflict)
			b.download(t)

			p := b.get(t, id)
			require.Equal(t, sol.PackageOnboardingStateOnboarded, p.OnboardingState, "%+v", p.Failure)
			require.Nil(t, p.Failure)
			require.Nil(t, p.Source)
			require.Nil(t, p.Download)
			f, err := b.Content(t.Context(), id)
			require.NoError(t, err)
			got, err := io.ReadAll(f)
			require.NoError(t, err)
			require.NoError(t, f.Close())
			require.True(t, bytes.Equal(tt.want, got))
			require.Empty(t, b.partials(t))
			var ranges []string
			for _, h := range o.seen() {
				ranges = append(ranges, from(h))
				require.Equal(t, "Basic dXNlcjpzM2NyZXQ=", h.Get("Authorization"))
			}
			require.Equal(t, tt.ranges, ranges)
		})
	}
}

func TestDownloadsThatCannotWorkSayWhy(t *testing.T) {
	t.Parallel()
	data := large("vnfd-1")
	status := func(code int) func(int, http.ResponseWriter, *http.Request) {
		return func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, "the body of s3cret")
		}
	}
	for name, tt := range map[string]struct {
		answer   func(n int, w http.ResponseWriter, r *http.Request)
		status   int
		detail   string
		attempts int
	}{
		"not found":      {status(404), 502, "the server answered 404 Not Found", 1},
		"wrong password": {status(401), 502, "the server answered 401 Unauthorized", 1},
		"forbidden":      {status(403), 502, "the server answered 403 Forbidden", 1},
		"gone":           {status(410), 502, "the server answered 410 Gone", 1},
		"not modified":   {status(304), 502, "the server answered 304 Not Modified", 1},
		"always an error": {status(500), 502, "12 attempts in a row brought nothing new; the last reason: the server " +
			"answered 500 Internal Server Error", 12},
		"always broken": {func(_ int, w http.ResponseWriter, r *http.Request) {
			send(w, r, data, "", 1000)
		}, 502, "12 attempts in a row brought nothing new; the last reason: the connection broke", 12},
		"a wrong length": {func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(len(data)+1))
			_, _ = w.Write(data)
		}, 502, "brought nothing new", 12},
		"too large": {func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000001")
			w.WriteHeader(http.StatusOK)
		}, 413, "larger than 1000000 bytes", 1},
		"endless": {func(_ int, w http.ResponseWriter, _ *http.Request) {
			for range 2000 {
				if _, err := w.Write(make([]byte, 1000)); err != nil {
					return
				}
			}
		}, 413, "larger than 1000000 bytes", 1},
		"to the metadata of the host": {func(_ int, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
		}, 422, "not an address that this VNFM connects to", 1},
		"no package": {func(_ int, w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<html>")
		}, 422, "not a zip archive", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			b := setup(t, fetching, func(o *vnfpkg.Options) {
				o.Limits = vnfpkg.DefaultLimits()
				o.Limits.ArchiveBytes = 1_000_000
				o.Log = slog.New(slog.NewTextHandler(&log, nil))
			})
			id := b.create(t)
			o := serveOrigin(t, tt.answer)
			require.NoError(t, b.UploadFrom(t.Context(), id, nil, source(o.URL)))
			b.download(t)
			p := b.get(t, id)
			require.Equal(t, sol.PackageOnboardingStateCreated, p.OnboardingState)
			require.NotNil(t, p.Failure)
			require.Contains(t, p.Failure.Detail, tt.detail)
			require.Equal(t, tt.status, p.Failure.Status)
			require.Len(t, o.seen(), tt.attempts)
			require.Nil(t, p.Source)
			require.Nil(t, p.Download)
			require.Empty(t, b.partials(t))
			require.Empty(t, b.digests(t))
			for _, text := range []string{log.String(), fmt.Sprintf("%+v", *p.Failure)} {
				require.NotContains(t, text, "s3cret")
				require.NotContains(t, text, "token-of-the-query")
			}
			require.NoError(t, b.Upload(t.Context(), id, nil, bytes.NewReader(data)), "it can be uploaded again")
		})
	}
}

func TestDownloadOfAnIdenticalArchiveNamesThePackage(t *testing.T) {
	t.Parallel()
	b := setup(t, fetching)
	first := b.onboard(t, vnfpkgtest.Files("vnfd-1"))
	o := serveOrigin(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		send(w, r, vnfpkgtest.Zip(vnfpkgtest.Files("vnfd-1")), "", -1)
	})
	id := b.create(t)
	require.NoError(t, b.UploadFrom(t.Context(), id, nil, source(o.URL)))
	b.download(t)
	p := b.get(t, id)
	require.Equal(t, sol.PackageOnboardingStateCreated, p.OnboardingState)
	require.Equal(t, 409, p.Failure.Status)
	require.Contains(t, p.Failure.Detail, first.ID)
	require.Empty(t, b.partials(t))
	require.Len(t, b.digests(t), 1)
}

func TestProgressOfADownload(t *testing.T) {
	t.Parallel()
	b := setup(t, fetching, func(o *vnfpkg.Options) { o.DownloadTime = time.Hour })
	id := b.create(t)
	_, err := b.Downloading(t.Context(), id)
	requireCode(t, err, lcm.CodeConflict)
	data := large("vnfd-1")
	o := serveOrigin(t, func(n int, w http.ResponseWriter, r *http.Request) { send(w, r, data, `"a"`, 1000) })
	require.NoError(t, b.UploadFrom(t.Context(), id, nil, source(o.URL)))
	after, again, err := b.Download(t.Context(), id)
	require.NoError(t, err)
	require.True(t, again)
	require.GreaterOrEqual(t, after, time.Second)
	d, err := b.Downloading(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, int64(1000), d.Received)
	require.Equal(t, int64(len(data)), d.Total)
	require.Equal(t, 1, d.Attempts)
	require.Contains(t, d.Reason, "the connection broke")
	require.Equal(t, o.URL+"/p.zip", d.Address)
	raw, err := json.Marshal(d)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "s3cret")
	info, err := json.Marshal(b.get(t, id).Info())
	require.NoError(t, err)
	require.NotContains(t, string(info), "s3cret")
	require.Contains(t, string(info), "tried again")

	require.NoError(t, b.Sweep(t.Context()))
	require.Len(t, b.partials(t), 1, "it is needed")
	_, err = b.store.UpdatePackage(t.Context(), id, func(p *vnfpkg.Package, now time.Time) error {
		p.Download.Started = now.Add(-2 * time.Hour)
		return nil
	})
	require.NoError(t, err)
	_, again, err = b.Download(t.Context(), id)
	require.NoError(t, err)
	require.False(t, again)
	require.Equal(t, 504, b.get(t, id).Failure.Status)
	require.Contains(t, b.get(t, id).Failure.Detail, "not complete after 1h0m0s")

	none := setup(t)
	requireCode(t, none.UploadFrom(t.Context(), none.create(t), nil, source(o.URL)), lcm.CodeUnavailable)
	requireCode(t, b.UploadFrom(t.Context(), b.create(t), nil, source("ftp://x")), lcm.CodeInvalid)
	requireCode(t, b.UploadFrom(t.Context(), uuid.NewString(), nil, source(o.URL)), lcm.CodeNotFound)
}

// TestDeletionEndsADownload: while bytes arrive, and between two attempts.
func TestDeletionEndsADownload(t *testing.T) {
	t.Parallel()
	data := large("vnfd-1")
	for _, running := range []bool{true, false} {
		b := setup(t, fetching)
		id := b.create(t)
		begun, release := make(chan struct{}), make(chan struct{})
		o := serveOrigin(t, func(_ int, w http.ResponseWriter, r *http.Request) {
			if !running {
				send(w, r, data, "", 1000)
			}
			_, _ = w.Write(data[:1000])
			_ = http.NewResponseController(w).Flush()
			close(begun)
			<-release
		})
		require.NoError(t, b.UploadFrom(t.Context(), id, nil, source(o.URL)))
		done := make(chan error, 1)
		go func() {
			_, again, err := b.Download(context.WithoutCancel(t.Context()), id)
			if err == nil && again == running {
				err = fmt.Errorf("again is %v", again)
			}
			done <- err
		}()
		if running {
			<-begun
		} else {
			require.NoError(t, <-done)
			require.Len(t, b.partials(t), 1)
		}
		require.NoError(t, b.Delete(t.Context(), id, nil))
		if running {
			require.NoError(t, <-done, "its next look at the database ends it")
		}
		close(release)
		require.Empty(t, b.partials(t))
		require.Empty(t, b.digests(t))
	}
}

// TestDownloadOfAFrozenProcess: its lock stays, so another node begins again with other partial content.
func TestDownloadOfAFrozenProcess(t *testing.T) {
	t.Parallel()
	b := setup(t, fetching)
	id := b.create(t)
	data := large("vnfd-1")
	o := serveOrigin(t, func(_ int, w http.ResponseWriter, r *http.Request) { send(w, r, data, "", -1) })
	require.NoError(t, b.UploadFrom(t.Context(), id, nil, source(o.URL)))
	token := b.get(t, id).Download.Token
	frozen, err := b.content.OpenPartial(token)
	require.NoError(t, err)
	_, again, err := b.Download(t.Context(), id)
	require.NoError(t, err)
	require.True(t, again)
	require.Equal(t, token, b.get(t, id).Download.Token, "the process may be about to end")
	b.download(t)
	require.Equal(t, sol.PackageOnboardingStateOnboarded, b.get(t, id).OnboardingState)
	require.Empty(t, b.partials(t))
	require.NoError(t, frozen.Close())
}

// TestStoppedNodeCountsNoFailure: a node that stops, or a job whose time is over, is no defect of the server.
func TestStoppedNodeCountsNoFailure(t *testing.T) {
	t.Parallel()
	b := setup(t, fetching)
	id := b.create(t)
	data := large("vnfd-1")
	ctx, cancel := context.WithCancel(t.Context())
	o := serveOrigin(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n == 0 {
			w.Header().Set("ETag", `"a"`)
			w.Header().Set("Content-Length", strconv.Itoa(len(data)))
			_, _ = w.Write(data[:1000])
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		send(w, r, data, `"a"`, -1)
	})
	require.NoError(t, b.UploadFrom(t.Context(), id, nil, source(o.URL)))
	partial := filepath.Join(b.dir, "partial", b.get(t, id).Download.Token)
	go func() {
		for ctx.Err() == nil {
			if info, err := os.Stat(partial); err == nil && info.Size() == 1000 {
				cancel()
			}
		}
	}()
	_, again, err := b.Download(ctx, id)
	require.NoError(t, err)
	require.True(t, again)
	require.Zero(t, b.get(t, id).Download.Failures)
	require.Nil(t, b.get(t, id).Failure)
	b.download(t)
	require.Equal(t, sol.PackageOnboardingStateOnboarded, b.get(t, id).OnboardingState)
	require.Equal(t, fmt.Sprintf("bytes=%d-", 1000), o.seen()[1].Get("Range"))
}

// TestCrashAtEveryTransactionOfADownload lets a node die before, or right after, each transaction of a download, and
// another node continue.
func TestCrashAtEveryTransactionOfADownload(t *testing.T) {
	t.Parallel()
	data := large("vnfd-1")
	for _, after := range []bool{false, true} {
		for n := 1; ; n++ {
			what := fmt.Sprintf("crash at transaction %d, after=%v", n, after)
			b := setup(t, fetching)
			id := b.create(t)
			o := serveOrigin(t, func(n int, w http.ResponseWriter, r *http.Request) {
				send(w, r, data, `"a"`, []int{1000, -1, -1, -1}[n])
			})
			death := b.dieAt(n, after)
			started := b.UploadFrom(t.Context(), id, nil, source(o.URL)) == nil || after
			for again := true; again && !death.dead; {
				_, again, _ = b.Download(t.Context(), id)
			}
			b.store.Fail, b.store.Lost = nil, nil

			other := b.another(fetching)
			for again := started; again; {
				var err error
				_, again, err = other.Download(t.Context(), id)
				require.NoError(t, err, what)
			}
			if started {
				require.NoError(t, other.Onboard(t.Context(), id), what)
				p := b.get(t, id)
				require.Equal(t, sol.PackageOnboardingStateOnboarded, p.OnboardingState, "%s: %+v", what, p.Failure)
			}
			requireConsistent(t, b, other, what)
			require.Empty(t, b.partials(t), what)
			if !death.dead {
				require.Greater(t, n, 6, "the crash points were met")
				break
			}
		}
	}
}
