package store_test

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"
)

// tracer records the statements that a pool sends.
type tracer struct {
	mu   sync.Mutex
	sent []pgx.TraceQueryStartData
	rows []int64 // of each statement that has ended
}

// TraceQueryStart implements pgx.QueryTracer.
func (r *tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, data)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (r *tracer) TraceQueryEnd(_ context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, data.CommandTag.RowsAffected())
}
