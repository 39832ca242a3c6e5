package frame

import (
	"compress/gzip"
	"net/http"
	"runtime"
	"strings"
	"sync"
)

// compressFrom is the size from which on an answer is compressed. A smaller one fits a packet anyway.
const compressFrom = 1 << 10

// compressors bounds how many answers are compressed at the same time: a compressor has about a megabyte of memory, and
// works without waiting for the client. An answer that gets none is sent as it is.
type compressors struct {
	slots chan struct{}
	idle  sync.Pool // of *gzip.Writer
}

func newCompressors() *compressors {
	c := &compressors{slots: make(chan struct{}, runtime.GOMAXPROCS(0))}
	c.idle.New = func() any {
		w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
		return w
	}
	return c
}

// compress compresses an answer into new chunks; nil if all compressors work or it does not become smaller.
func (c *compressors) compress(answer [][]byte, size int) *chunkWriter {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	default:
		return nil
	}
	out := &chunkWriter{}
	w, _ := c.idle.Get().(*gzip.Writer)
	defer c.idle.Put(w)
	w.Reset(out)
	for _, part := range answer {
		if _, err := w.Write(part); err != nil {
			out.release()
			return nil
		}
	}
	if err := w.Close(); err != nil || out.size >= size {
		out.release()
		return nil
	}
	return out
}

// chunkWriter is an io.Writer into chunks. release MUST be called when they are not used any more.
type chunkWriter struct {
	chunks []*[]byte
	size   int
}

// Write implements io.Writer. It never fails.
func (c *chunkWriter) Write(p []byte) (int, error) {
	if n := len(c.chunks); n == 0 || len(*c.chunks[n-1])+len(p) > cap(*c.chunks[n-1]) {
		c.chunks = append(c.chunks, borrow())
	}
	last := c.chunks[len(c.chunks)-1]
	*last = append(*last, p...)
	c.size += len(p)
	return len(p), nil
}

func (c *chunkWriter) release() {
	for _, chunk := range c.chunks {
		giveBack(chunk)
	}
	c.chunks = nil
}

// takesGzip says whether a client decodes gzip.
func takesGzip(header []string) bool {
	q := -1.0
	for part := range strings.SplitSeq(strings.Join(header, ","), ",") {
		coding, params, _ := strings.Cut(part, ";")
		switch strings.ToLower(strings.TrimSpace(coding)) {
		case "gzip", "x-gzip":
			return weight(params) > 0
		case "*":
			q = weight(params)
		}
	}
	return q > 0
}

// compressed replaces an answer by its compressed form, if the client takes it and the route allows it, and writes the
// headers about it. release MUST be called when the result is not used any more.
func (w *recorder) compressed(answer [][]byte, size int) (_ [][]byte, length int, release func()) {
	if w.compressors == nil || size < compressFrom {
		return answer, size, func() {}
	}
	h := w.Header()
	h.Add("Vary", "Accept-Encoding")
	if !takesGzip(w.encodings) {
		return answer, size, func() {}
	}
	out := w.compressors.compress(answer, size)
	if out == nil {
		return answer, size, func() {}
	}
	h.Set("Content-Encoding", "gzip")
	if tag := h.Get("Etag"); strings.HasPrefix(tag, `"`) {
		h.Set("Etag", strings.TrimSuffix(tag, `"`)+gzipMark)
	}
	parts := make([][]byte, len(out.chunks))
	for n, c := range out.chunks {
		parts[n] = *c
	}
	return parts, out.size, out.release
}

// allowCompression lets the answers of a request be compressed. Those with secrets are not: the size of an answer with
// a secret and text of the request tells about the secret (BREACH).
func (e *endpoint) allowCompression(w http.ResponseWriter, r *Request) {
	rec, ok := w.(*recorder)
	if !ok || e.Secret || e.Login || e.Stream {
		return
	}
	rec.compressors, rec.encodings = e.frame.compressors, r.Header.Values("Accept-Encoding")
}
