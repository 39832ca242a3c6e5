package telemetry

import (
	"io"
	"log/slog"
)

// NewLogger returns a logger that writes text or JSON lines; format is "text" or "json".
func NewLogger(w io.Writer, level slog.Leveler, format string) *slog.Logger {
	opts := &slog.HandlerOptions{Level: level}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}
