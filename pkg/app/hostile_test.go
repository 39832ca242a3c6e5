package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/gybe-nfv/gybe/pkg/app"
	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg/vnfpkgtest"
	"github.com/gybe-nfv/gybe/test/devpg"
)

const (
	// allowedMemory is how much a hostile client may add to a node.
	allowedMemory = 200 << 20
	// hostileInstances is how many instances it creates with attributes that are as large as they may be.
	hostileInstances = 40
	// manyValues is how many empty values an attribute of 64 KiB may have, and some less.
	manyValues = 2000
	// atOnce is how many of its requests run at the same time.
	atOnce = 10
)

// TestHostileBodiesDoNotExhaustMemory: JSON of many small values takes up to fifty times its bytes when it is decoded,
// it is stored, and lists read it again. Neither the requests nor the lists afterwards need much memory. The test
// measures the heap of the process: it is not parallel to others, and nothing in it keeps or decodes the responses.
func TestHostileBodiesDoNotExhaustMemory(t *testing.T) {
	n, err := app.New(t.Context(), settings(t, devpg.EmptyURL(t)), app.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	run(t, n)
	c, err := client.New(n.URL(), &http.Client{Transport: &http.Transport{DisableKeepAlives: true}})
	require.NoError(t, err)
	vnfd := onboard(t, c)
	h := hostile{url: n.URL()}
	// What other tests of the process have left alive must not decide how much garbage there may be.
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	tooLarge := []string{createBody(vnfd, 1_300_000, "[]"), createBody(vnfd, 1_300_000, "{}")}
	create, patch := createBody(vnfd, manyValues, "{}"), `{"extensions":`+values(manyValues, "{}")+`}`
	runtime.GC()
	before := memory()
	var peak atomic.Int64
	watched, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for watched.Err() == nil {
			peak.Store(max(peak.Load(), memory()-before))
			select {
			case <-watched.Done():
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()

	var many errgroup.Group
	for range atOnce {
		for _, body := range tooLarge {
			many.Go(func() error {
				// The node may close the connection before the client has sent all of it.
				_, _ = h.send(t.Context(), "POST", "", body, http.StatusRequestEntityTooLarge)
				return nil
			})
		}
	}
	require.NoError(t, many.Wait())
	ids := make([]string, hostileInstances)
	many.SetLimit(atOnce)
	for i := range ids {
		many.Go(func() error {
			body, err := h.send(t.Context(), "POST", "", create, http.StatusCreated)
			if err != nil {
				return err
			}
			var made sol.VnfInstance
			if err := json.Unmarshal(body, &made); err != nil {
				return err
			}
			ids[i] = made.ID
			_, err = h.send(t.Context(), "PATCH", "/"+made.ID, patch, http.StatusAccepted)
			return err
		})
	}
	require.NoError(t, many.Wait())
	for _, query := range []string{
		"?all_fields", "?filter=(eq,metadata/a,x)", "?filter=(eq,extensions/a,x)&all_fields", "?exclude_fields=id",
	} {
		for range 4 {
			many.Go(func() error {
				_, err := h.send(t.Context(), "GET", query, "", http.StatusOK)
				return err
			})
		}
	}
	require.NoError(t, many.Wait())
	stop()
	<-done
	t.Logf("%d MiB added", peak.Load()>>20)
	require.Less(t, peak.Load(), int64(allowedMemory))

	list, err := c.Instances(t.Context(), "", false)
	require.NoError(t, err)
	require.Len(t, list, hostileInstances)
}

// memory is what the heap and the stacks use.
func memory() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// onboard makes a package, and returns its vnfdId.
func onboard(t *testing.T, c *client.Client) string {
	t.Helper()
	vnfd := uuid.NewString()
	p, err := c.CreatePackage(t.Context(), sol.CreateVnfPkgInfoRequest{})
	require.NoError(t, err)
	archive := vnfpkgtest.Zip(vnfpkgtest.Files(vnfd))
	require.NoError(t, c.UploadPackage(t.Context(), p.ID, bytes.NewReader(archive)))
	require.Eventually(t, func() bool {
		p, err := c.Package(t.Context(), p.ID)
		return err == nil && p.OnboardingState == sol.PackageOnboardingStateOnboarded
	}, time.Minute, 10*time.Millisecond)
	return vnfd
}

// hostile sends requests with as many values as possible.
type hostile struct{ url string }

// values is an object with a number of values.
func values(n int, value string) string {
	return `{"a":[` + strings.Repeat(value+",", n) + value + `]}`
}

// createBody is the body of a request for an instance whose metadata have a number of values.
func createBody(vnfd string, n int, value string) string {
	return fmt.Sprintf(`{"vnfdId":%q,"metadata":%s}`, vnfd, values(n, value))
}

// send sends a request below /vnflcm/v2/vnf_instances. An answer with another status is an error.
func (h hostile) send(ctx context.Context, method, path, body string, want int) ([]byte, error) {
	req, err := http.NewRequestWithContext(
		ctx, method, h.url+"/vnflcm/v2/vnf_instances"+path, strings.NewReader(body),
	)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Version", "2.0.0")
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }() // read
	var raw bytes.Buffer
	if _, err := io.Copy(&raw, io.LimitReader(res.Body, 64<<10)); err != nil {
		return nil, err
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return nil, err
	}
	if res.StatusCode != want {
		return nil, fmt.Errorf("%s %.60s: %s: %.300s", method, path, res.Status, raw.String())
	}
	return raw.Bytes(), nil
}
