package engine

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// quiet is the logger of River: only warnings and errors, and each message at most once in repeatAfter. While
// PostgreSQL does not answer, River logs several errors a second.
func quiet(log *slog.Logger) *slog.Logger {
	return slog.New(sparse{log.Handler(), &seen{last: map[string]time.Time{}}}).With("component", "river")
}

// repeatAfter is how long a message that was logged is not logged again.
const repeatAfter = 30 * time.Second

// sparse is a slog.Handler that leaves out details and repetitions.
type sparse struct {
	slog.Handler
	seen *seen
}

// seen remembers when messages were logged. Their texts are constants of River.
type seen struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// Enabled implements slog.Handler.
func (h sparse) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && h.Handler.Enabled(ctx, l)
}

// Handle implements slog.Handler.
func (h sparse) Handle(ctx context.Context, r slog.Record) error {
	h.seen.mu.Lock()
	last, known := h.seen.last[r.Message]
	repeated := known && r.Time.Sub(last) < repeatAfter
	if !repeated {
		h.seen.last[r.Message] = r.Time
	}
	h.seen.mu.Unlock()
	if repeated {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h sparse) WithAttrs(a []slog.Attr) slog.Handler {
	return sparse{h.Handler.WithAttrs(a), h.seen}
}

// WithGroup implements slog.Handler.
func (h sparse) WithGroup(name string) slog.Handler {
	return sparse{h.Handler.WithGroup(name), h.seen}
}
