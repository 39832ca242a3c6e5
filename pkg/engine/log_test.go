package engine

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRepeatedMessagesOfRiverAreLoggedOnce(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := quiet(slog.New(slog.NewTextHandler(&out, nil)))
	log.Info("chatter")
	for range 100 {
		log.Error("Error fetching jobs", "queue", "default")
		log.With("a", 1).Error("Error fetching jobs")
	}
	log.Error("another error")
	require.Equal(t, 2, strings.Count(out.String(), "\n"), out.String())
	require.Contains(t, out.String(), "queue=default")
}
