package frame

import (
	"net/http"
	"sync"
)

// chunk is how much of a list is written at once.
const chunk = 32 << 10

var chunks = sync.Pool{New: func() any { b := make([]byte, 0, 2*chunk); return &b }}

// borrow returns an empty buffer, which may grow. giveBack MUST be called when it is not used any more.
func borrow() *[]byte {
	buf, _ := chunks.Get().(*[]byte)
	*buf = (*buf)[:0]
	return buf
}

// giveBack lets others use the buffer, unless it has grown large.
func giveBack(buf *[]byte) {
	if cap(*buf) <= 4*chunk {
		chunks.Put(buf)
	}
}

// array is a JSON array, one element a line, in chunks. It is complete before the first byte is sent, because its
// length is in a header and an error must not cut it. release MUST be called when it is not used any more.
type array struct {
	chunks []*[]byte
	any    bool
	size   int // of the elements, in bytes
	memory reservation
}

// newArray makes an array whose bytes count in a budget.
func newArray(b *budget) *array {
	first := borrow()
	*first = append(*first, '[')
	return &array{chunks: []*[]byte{first}, memory: reservation{budget: b}}
}

// add adds the element that write appends to a buffer. It returns CodeUnavailable when the budget is spent.
func (a *array) add(write func(buf []byte) ([]byte, error)) (err error) {
	buf := a.chunks[len(a.chunks)-1]
	if len(*buf) >= chunk {
		buf = borrow()
		a.chunks = append(a.chunks, buf)
	}
	if a.any {
		*buf = append(*buf, ',')
	}
	a.any = true
	before := len(*buf)
	*buf, err = write(append(*buf, '\n'))
	if err != nil {
		return err
	}
	size := len(*buf) - before
	a.size += size
	return a.memory.take(int64(size), manyAnswers)
}

// send answers with the array, or with 304 if the client has it already.
func (a *array) send(w http.ResponseWriter) {
	last := a.chunks[len(a.chunks)-1]
	if a.any {
		*last = append(*last, '\n')
	}
	*last = append(*last, "]\n"...)
	size, parts := 0, make([][]byte, len(a.chunks))
	for n, c := range a.chunks {
		parts[n] = *c
		size += len(*c)
	}
	w.Header().Set("Content-Type", "application/json")
	if rec, ok := w.(*recorder); ok && rec.tagged(parts...) {
		return
	}
	send(w, http.StatusOK, parts, size)
}

func (a *array) release() {
	for _, c := range a.chunks {
		giveBack(c)
	}
	a.chunks = nil
	a.memory.release()
}
