package nfvo_test

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/nfvo"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/apitest"
)

// The NFVO of docs/nfvo.md grants operations as the document says.
func TestDocumentedNFVO(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/nfvo.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "```python\n")
	require.True(t, found)
	program, _, _ := strings.Cut(rest, "```")
	require.Contains(t, program, "8091")

	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := free.Addr().String()
	require.NoError(t, free.Close())
	_, port, _ := net.SplitHostPort(address)
	server := exec.CommandContext(t.Context(), "python3", "-c", strings.ReplaceAll(program, "8091", port))
	require.NoError(t, server.Start())
	t.Cleanup(func() { _ = server.Wait() }) // the context ends it
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, time.Minute, 10*time.Millisecond)

	w := start(t)
	w.use(nfvo.Options{URL: "http://" + address})
	w.ended(w.submit(sol.LcmOperationInstantiate, apitest.Params()), sol.LcmOperationStateCompleted)
	w.ended(w.submit(sol.LcmOperationScale, json.RawMessage(`{"type":"SCALE_OUT","aspectId":"workers"}`)),
		sol.LcmOperationStateCompleted)
	op := w.ended(w.submit(sol.LcmOperationHeal, json.RawMessage(`{}`)), sol.LcmOperationStateRolledBack)
	require.Equal(t, "Maintenance", op.Error.Title)
	require.Contains(t, op.Error.Detail, "PoP 7 is closed until 18:00")
	w.ended(w.submit(sol.LcmOperationTerminate, json.RawMessage(`{"terminationType":"FORCEFUL"}`)),
		sol.LcmOperationStateCompleted)
}
