package helm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// heard keeps the last error that Helm logs. An uninstallation returns only that it has failed, and logs why.
type heard struct {
	mu  sync.Mutex
	err error
}

// complete is an error of Helm with the one that was logged.
func (h *heard) complete(err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil || h.err == nil || strings.Contains(err.Error(), h.err.Error()) {
		return err
	}
	return fmt.Errorf("%w: %w", err, h.err)
}

// Enabled implements slog.Handler.
func (h *heard) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (h *heard) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		switch v := a.Value.Any().(type) {
		case error:
			h.err = v
		case []error:
			h.err = errors.Join(v...)
		}
		return true
	})
	return nil
}

// WithAttrs implements slog.Handler.
func (h *heard) WithAttrs([]slog.Attr) slog.Handler { return h }

// WithGroup implements slog.Handler.
func (h *heard) WithGroup(string) slog.Handler { return h }
