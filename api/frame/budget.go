package frame

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

const (
	// bodyBudget bounds the bytes of all request bodies that a node keeps in memory, beyond freeBytes of each.
	bodyBudget = 64 << 20
	// freeBytes of every body do not count, so that slow clients with large bodies do not keep ordinary requests out.
	freeBytes = 64 << 10
	// busyFor is what a client is asked to wait when the budget is spent.
	busyFor = 5 * time.Second
)

// budget counts bytes of request bodies in memory. It is safe for concurrent use.
type budget struct {
	limit int64
	used  atomic.Int64
}

// reader counts what it reads. The bytes count until release.
func (b *budget) reader(src io.Reader) *budgetReader { return &budgetReader{src: src, budget: b} }

type budgetReader struct {
	src     io.Reader
	budget  *budget
	read    int64
	counted int64
}

// Read implements io.Reader. It fails with CodeUnavailable when the budget is spent.
func (r *budgetReader) Read(p []byte) (int, error) {
	n, err := r.src.Read(p)
	r.read += int64(n)

	if over := r.read - freeBytes - r.counted; over > 0 {
		r.counted += over
		if r.budget.used.Add(over) > r.budget.limit {
			return 0, &lcm.Error{
				Code: lcm.CodeUnavailable, Title: "Too many large requests", RetryAfter: busyFor,
				Detail: "this node is processing too many large request bodies", Hint: "send the request again later",
			}
		}
	}
	return n, err
}

func (r *budgetReader) release() {
	r.budget.used.Add(-r.counted)
	r.counted = 0
}

// firstBuffer is the memory that a body gets before its first byte arrives.
const firstBuffer = 4 << 10

// firstSize returns the size of the first buffer for a body. It does not trust Content-Length: memory follows the bytes
// that arrive.
func firstSize(r *http.Request) int {
	if r.ContentLength < 0 || r.ContentLength > firstBuffer {
		return firstBuffer
	}
	return int(r.ContentLength)
}
