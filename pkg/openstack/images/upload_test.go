package images

import (
	"bytes"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/test/stubcloud"
)

func openImage(t *testing.T, size int) fs.File {
	t.Helper()
	f, err := fstest.MapFS{"i.img": {Data: bytes.Repeat([]byte("x"), size)}}.Open("i.img")
	require.NoError(t, err)
	return f
}

func connected(t *testing.T, s *stubcloud.Cloud, stall time.Duration) (*Uploads, *cloud.Client) {
	t.Helper()
	pool := cloud.NewPool(cloud.Config{Timeout: time.Minute}, slog.New(slog.DiscardHandler))
	t.Cleanup(pool.Close)
	c, err := pool.Connect(t.Context(), "v", s.Vim())
	require.NoError(t, err)
	uploads := NewUploads(stall)
	t.Cleanup(uploads.Close)
	return uploads, c
}

func asError(t *testing.T, err error) *lcm.Error {
	t.Helper()
	var e *lcm.Error
	require.ErrorAs(t, err, &e)
	return e
}

// sent starts an upload and waits for its end.
func sent(t *testing.T, s *stubcloud.Cloud, stall time.Duration, size int) (*transfer, error) {
	t.Helper()
	uploads, c := connected(t, s, stall)
	uploads.start(t.Context(), c, "image-1", "masterNode-image", openImage(t, size))
	u := uploads.get("image-1")
	require.NotNil(t, u)
	select {
	case <-u.done:
	case <-time.After(time.Minute):
		require.Fail(t, "the upload does not end")
	}
	return u, u.err
}

func TestUpload(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	var got int
	s.Routes.HandleFunc("PUT /image/v2/images/image-1/file", func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err == nil && r.ContentLength == int64(len(b)) &&
			r.Header.Get("Content-Type") == "application/octet-stream" {
			got = len(b)
		}
		w.WriteHeader(http.StatusNoContent)
	})
	u, err := sent(t, s, time.Minute, 3<<20)
	require.NoError(t, err)
	require.Equal(t, 3<<20, got)
	require.Equal(t, "3 of 3 MiB sent", u.progress())
}

// TestUploadStalls: an image service that takes no more data must not hold an operation for ever.
func TestUploadStalls(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	release := make(chan struct{}) // a server does not notice that the other side has gone while it does not read
	t.Cleanup(func() { close(release) })
	s.Routes.HandleFunc("PUT /image/v2/images/image-1/file", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadFull(r.Body, make([]byte, 1<<20))
		<-release
	})
	_, err := sent(t, s, 200*time.Millisecond, 64<<20)
	e := asError(t, err)
	require.Equal(t, lcm.Transient, e.Class)
	require.Contains(t, e.Detail, "upload image masterNode-image: Glance at "+s.URL+
		"/image/v2/images/image-1/file: the image service does not accept data any more")
}

// TestUploadWithAnOldToken: half a file must never be sent as the rest of one; the next attempt begins again with a new
// token.
func TestUploadWithAnOldToken(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	calls := 0
	s.Routes.HandleFunc("PUT /image/v2/images/image-1/file", func(http.ResponseWriter, *http.Request) { calls++ })
	uploads, c := connected(t, s, time.Minute)
	s.Expire()
	uploads.start(t.Context(), c, "image-1", "x", openImage(t, 1<<20))
	u := uploads.get("image-1")
	<-u.done
	require.Equal(t, lcm.Transient, asError(t, u.err).Class)
	require.Zero(t, calls)
	require.EqualValues(t, 2, s.Logins.Load(), "the new token is there for the next attempt")
}

func TestUploadRefused(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	s.Routes.HandleFunc("PUT /image/v2/images/image-1/file", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		_, _ = io.WriteString(w, `{"message": "Denying attempt to upload image because it exceeds the quota: 10",`+
			`"code": "413 Request Entity Too Large", "title": "Request Entity Too Large"}`)
	})
	_, err := sent(t, s, time.Minute, 1000)
	e := asError(t, err)
	require.Equal(t, lcm.Quota, e.Class)
	require.Contains(t, e.Detail, "exceeds the quota: 10")
}

// TestUploadsEndWithTheDriver: a stopped node leaves no upload behind, and a cancelled one ends at once.
func TestUploadsEndWithTheDriver(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	entered, release := make(chan struct{}, 2), make(chan struct{})
	t.Cleanup(func() { close(release) })
	s.Routes.HandleFunc("PUT /image/v2/images/{id}/file", func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-release
	})
	uploads, c := connected(t, s, time.Minute)
	uploads.start(t.Context(), c, "a", "x", openImage(t, 64<<20))
	uploads.start(t.Context(), c, "b", "y", openImage(t, 64<<20))
	a, b := uploads.get("a"), uploads.get("b")
	<-entered
	<-entered
	uploads.cancel("a")
	require.Contains(t, asError(t, a.err).Detail, "stopped")
	require.Nil(t, uploads.get("a"))
	uploads.Close()
	<-b.done
	require.Error(t, b.err)
}

func TestRoundUp(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ n, gib int64 }{
		{0, 0}, {2_000_000_000, 2}, {2 << 30, 2}, {1, 1}, {1_500_000_000, 2}, {40 << 30, 40},
	} {
		require.Equal(t, tt.gib, roundUp(tt.n, 1_000_000_000, 1<<30), tt.n)
	}
}
