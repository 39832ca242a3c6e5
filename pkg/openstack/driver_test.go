package openstack

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

func testDriver(t *testing.T, cfg Config) *Driver {
	t.Helper()
	d := New(cfg, slog.New(slog.DiscardHandler))
	t.Cleanup(d.Close)
	return d
}

func asError(t *testing.T, err error) *lcm.Error {
	t.Helper()
	e, ok := errors.AsType[*lcm.Error](err)
	require.True(t, ok, "%T: %v", err, err)
	return e
}
