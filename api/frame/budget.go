package frame

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

const (
	// bodyBudget is the default of Options.BodyBudget.
	bodyBudget = 64 << 20
	// answerBudget is the default of Options.AnswerBudget.
	answerBudget = 128 << 20
	// firstBytes of every request have a budget of their own, so that large ones do not keep ordinary ones out.
	firstBytes = 32 << 10
	// valueBytes is the memory that a JSON value takes when it is decoded, beside its text.
	valueBytes = 128
	// busyFor is what a client is asked to wait when the budget is spent.
	busyFor = 5 * time.Second
)

// budget counts memory that requests take: up to firstBytes of each, and beyond. It is safe for concurrent use.
type budget struct {
	limit        int64 // of each of the two
	large, small atomic.Int64
}

// reservation is the memory of one request. It counts until release.
type reservation struct {
	budget       *budget
	large, small int64
}

// take counts n bytes. It returns CodeUnavailable with a reason when the budget is spent.
func (r *reservation) take(n int64, reason string) error {
	small := min(n, firstBytes-r.small)
	large := n - small
	r.small, r.large = r.small+small, r.large+large
	b := r.budget
	if b.small.Add(small) <= b.limit && (b.large.Add(large) <= b.limit || large == 0) {
		return nil
	}
	return &lcm.Error{
		Code: lcm.CodeUnavailable, Title: "Too many large requests", RetryAfter: busyFor, Detail: reason,
		Hint: "send the request again later",
	}
}

func (r *reservation) release() {
	r.budget.small.Add(-r.small)
	r.budget.large.Add(-r.large)
	r.small, r.large = 0, 0
}

// reader counts what it reads.
func (b *budget) reader(src io.Reader) *budgetReader {
	return &budgetReader{src: src, reservation: reservation{budget: b}}
}

type budgetReader struct {
	src io.Reader
	reservation
}

// manyBodies is the reason of a request that is rejected because of its body.
const manyBodies = "this node is processing too many large request bodies"

// manyAnswers is the reason of a request that is rejected because of its answer.
const manyAnswers = "this node is sending too many large answers"

// Read implements io.Reader. It returns CodeUnavailable when the budget is spent.
func (r *budgetReader) Read(p []byte) (int, error) {
	n, err := r.src.Read(p)
	if spent := r.take(int64(n), manyBodies); spent != nil {
		return 0, spent
	}
	return n, err
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
