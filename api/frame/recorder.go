package frame

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// recorder remembers what was answered.
type recorder struct {
	http.ResponseWriter
	code    int
	bytes   int64
	request *http.Request
	// compressors are set for answers that may be compressed, with the values of Accept-Encoding.
	compressors *compressors
	encodings   []string
}

// WriteHeader implements http.ResponseWriter.
func (w *recorder) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
	}
	// The answer with 200 may depend on Accept-Encoding, and a 304 has its header (RFC 9110 clause 15.4.5).
	if code == http.StatusNotModified && w.compressors != nil && w.Header().Get("Vary") == "" {
		w.Header().Set("Vary", "Accept-Encoding")
	}
	w.ResponseWriter.WriteHeader(code)
}

// Write implements io.Writer.
func (w *recorder) Write(p []byte) (int, error) {
	if w.code == 0 {
		w.code = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// ReadFrom lets the kernel copy files to sockets.
func (w *recorder) ReadFrom(src io.Reader) (int64, error) {
	if w.code == 0 {
		w.code = http.StatusOK
	}
	n, err := io.Copy(w.ResponseWriter, src)
	w.bytes += n
	return n, err
}

// Unwrap gives http.ResponseController what is below.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *recorder) status() int {
	if w.code == 0 {
		return http.StatusOK
	}
	return w.code
}

// streamStep is how much of a stream may pass before its deadline is renewed.
const streamStep = 1 << 20

// StreamWriter returns a writer for long answers: instead of a deadline for all of it, every piece has to
// be taken by the client within idle. Ranges and sizes are http.ServeContent's business.
func StreamWriter(w http.ResponseWriter, idle time.Duration) http.ResponseWriter {
	return &streamWriter{ResponseWriter: w, control: http.NewResponseController(w), idle: idle}
}

type streamWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	idle    time.Duration
}

// Write implements io.Writer.
func (w *streamWriter) Write(p []byte) (int, error) {
	_ = w.control.SetWriteDeadline(time.Now().Add(w.idle)) // not supported by test recorders
	return w.ResponseWriter.Write(p)
}

// ReadFrom copies piece by piece, each with a deadline of its own.
func (w *streamWriter) ReadFrom(src io.Reader) (int64, error) {
	var total int64
	for {
		_ = w.control.SetWriteDeadline(time.Now().Add(w.idle))
		n, err := io.CopyN(w.ResponseWriter, src, streamStep)
		total += n
		if err == io.EOF { //nolint:errorlint // io.CopyN returns it bare
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// Unwrap gives http.ResponseController what is below.
func (w *streamWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// digest is how long a handler may work on an upload after its last byte.
const digest = 10 * time.Minute

// StreamBody returns the body of a long upload: instead of a deadline for all of it, every piece has to
// arrive within idle. It counts the bytes that were read.
func StreamBody(w http.ResponseWriter, r *http.Request, limit int64, idle time.Duration) *Body {
	b := &Body{control: http.NewResponseController(w), idle: idle, limit: limit}
	b.src = http.MaxBytesReader(w, r.Body, limit)
	return b
}

// Body is a request body that is read piece by piece.
type Body struct {
	src     io.ReadCloser
	control *http.ResponseController
	idle    time.Duration
	limit   int64
	n       atomic.Int64
}

// Read implements io.Reader. A body over the limit is a CodeTooLarge error.
func (b *Body) Read(p []byte) (int, error) {
	// The deadline for writing runs from the start of the request, too. Neither is supported by test recorders.
	_ = b.control.SetReadDeadline(time.Now().Add(b.idle))
	_ = b.control.SetWriteDeadline(time.Now().Add(b.idle + digest))
	n, err := b.src.Read(p)
	b.n.Add(int64(n))
	if err != nil {
		_ = b.control.SetReadDeadline(time.Time{}) // or it would end the request's context while the handler works on
	}
	return n, tooLarge(err)
}

// Count is the number of bytes read so far.
func (b *Body) Count() int64 { return b.n.Load() }
