package app_test

import (
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/app"
	"github.com/gybe-nfv/gybe/pkg/secret"
	"github.com/gybe-nfv/gybe/test/apitest"
	"github.com/gybe-nfv/gybe/test/devpg"
)

// TestStartWarnsOfAnExposedKey: also at the starts after the one that has corrected the mode of the key file.
func TestStartWarnsOfAnExposedKey(t *testing.T) {
	t.Parallel()
	cfg := settings(t, devpg.TestURL(t))
	ring, err := secret.LoadOrCreate(cfg.SecretKeyFile())
	require.NoError(t, err)
	require.NoError(t, os.Chmod(cfg.SecretKeyFile(), 0o644))
	for range 2 {
		log := &apitest.Log{}
		n, err := app.New(t.Context(), cfg, app.Options{Log: slog.New(slog.NewTextHandler(log, nil)), Version: "v1"})
		require.NoError(t, err)
		stop := run(t, n)
		require.Eventually(t, func() bool {
			return strings.Contains(log.String(), "could read a key of the key file; rotate it: gybe secrets rotate") &&
				strings.Contains(log.String(), "key="+ring.Primary())
		}, time.Minute, time.Millisecond)
		stop()
	}
}
