package kubernetes_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// TestAnswersAreLimited: a compromised API server cannot fill the memory of the VNFM.
func TestAnswersAreLimited(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	written := make(chan int, 100)
	a.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		chunk, n := []byte(strings.Repeat(" ", 1<<20)), 0
		for ; n < 64; n++ {
			if _, err := w.Write(chunk); err != nil {
				break
			}
		}
		written <- n
	})
	_, err := client(t, a, "good").Nodes(t.Context())
	require.ErrorContains(t, err, "larger than 16 MiB")
	require.Less(t, <-written, 64, "the rest is not read")
}

// TestForeignAnswersAreNotQuoted: an error quotes a Kubernetes Status and nothing else.
func TestForeignAnswersAreNotQuoted(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "private-canary", http.StatusInternalServerError)
	})
	_, err := client(t, a, "good").Nodes(t.Context())
	e := lcm.AsError(err)
	require.NotContains(t, e.Error(), "private-canary")
	require.Contains(t, e.Detail, "answered 500 without a Kubernetes Status")
	require.Equal(t, lcm.Transient, e.Class)
}
