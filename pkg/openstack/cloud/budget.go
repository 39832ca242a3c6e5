package cloud

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"
)

// answerLimits are the limits of answers of VIMs (ADR 032).
type answerLimits struct {
	login, answer int64 // bytes of an answer of Keystone, and of another service
	values        int   // JSON values of an answer
	run           int   // bytes of one string
	small         int64 // bytes of an answer that no budget counts

	session, node int64 // bytes of large answers that are in memory, of one session and of all
	decoding      int64 // bytes of memory that decoding may use at the same time, about
}

// defaultLimits are explained in ADR 032.
func defaultLimits() answerLimits {
	return answerLimits{
		login: 1 << 20, answer: 16 << 20, values: 250_000, run: 4 << 20, small: 64 << 10,
		session: 32 << 20, node: 64 << 20, decoding: 96 << 20,
	}
}

// maxFailure bounds the body of an error, in bytes.
const maxFailure = 64 << 10

// The costs of decoding: a decoder's buffer doubles, and a value is an object on the heap.
const (
	costOfByte  = 3
	costOfValue = 100
)

func errTooLarge(limit int64) error {
	return &answerError{text: fmt.Sprintf("it is larger than %d MiB", limit>>20)}
}

var (
	errTooComplex = &answerError{text: "it has too many values, or a string of more than 4 MiB"}
	errTooMany    = &answerError{text: "too many large answers of VIMs are in memory", busy: true}
)

// answerBudget bounds the memory of all answers of a node.
type answerBudget struct {
	answerLimits
	decode *semaphore.Weighted

	mu   sync.Mutex
	held int64
}

func newAnswerBudget(l answerLimits) *answerBudget {
	return &answerBudget{answerLimits: l, decode: semaphore.NewWeighted(l.decoding)}
}

// sessionBudget is the part of a session in the budget of the node.
type sessionBudget struct {
	node *answerBudget
	held int64 // guarded by node.mu
}

func (b *sessionBudget) limits() answerLimits { return b.node.answerLimits }

// reserve takes bytes of the budgets; false when they are used up. It does not wait: answers that wait for each other
// could not end.
func (b *sessionBudget) reserve(n int64) bool {
	b.node.mu.Lock()
	defer b.node.mu.Unlock()
	if b.held+n > b.node.session || b.node.held+n > b.node.node {
		return false
	}
	b.held += n
	b.node.held += n
	return true
}

// release gives back bytes of an answer, and its share of decoding.
func (b *sessionBudget) release(reserved, decoding int64) {
	b.node.mu.Lock()
	b.held -= reserved
	b.node.held -= reserved
	b.node.mu.Unlock()
	b.node.decode.Release(decoding)
}

// admitDecoding waits until the answer can be decoded. Only decoding is waited for, not the network.
func (a *answer) admitDecoding(ctx context.Context) error {
	cost := min(a.size*costOfByte+int64(a.values.number)*costOfValue, a.limits.decoding)
	if err := a.budget.node.decode.Acquire(ctx, cost); err != nil {
		return err
	}
	a.decoding = cost
	return nil
}
