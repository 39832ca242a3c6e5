package keystonetime_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/keystonetime"
)

func TestTimesOfKeystone(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 23, 4, 37, 11, 0, time.UTC)
	for text, want := range map[string]time.Time{
		`{"expires_at": "2026-11-23T04:37:11.000000Z"}`: at,
		`{"expires_at": "2026-11-23T04:37:11"}`:         at, // of an application credential that ends
		`{"expires_at": "2026-11-23T04:37:11.000000"}`:  at,
		`{"expires_at": null}`:                          {},
		`{}`:                                            {},
	} {
		var e keystonetime.Expiry
		require.NoError(t, json.Unmarshal([]byte(text), &e), text)
		require.True(t, want.Equal(e.ExpiresAt.Time), "%s: %s", text, e.ExpiresAt)
	}
	for _, text := range []string{`{"expires_at": "tomorrow"}`, `{"expires_at": 5}`, `{"expires_at": ""}`} {
		var e keystonetime.Expiry
		require.Error(t, json.Unmarshal([]byte(text), &e), text)
	}
}
