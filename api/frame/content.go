package frame

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// ServeContent sends a file, or the one part of it that Range asks for (RFC 9110 clause 14), honouring conditional
// headers; Content-Type and ETag are set by the caller. A client that takes nothing for idle is dropped.
func ServeContent(
	w http.ResponseWriter, r *Request, modified time.Time, size int64, content io.ReadSeeker, idle time.Duration,
) error {
	if unit, _, ok := strings.Cut(r.Header.Get("Range"), "="); ok && !strings.EqualFold(unit, "bytes") {
		r.Header.Del("Range") // a unit that we do not know is ignored, says the RFC
	}
	if strings.Contains(r.Header.Get("Range"), ",") {
		return lcm.Errorf(lcm.CodeInvalid, "several ranges at once are not served").WithHint("ask for one range")
	}
	g := &guard{ResponseWriter: w}
	http.ServeContent(StreamWriter(g, idle), r.Request, "", modified, content)
	switch g.refused {
	case http.StatusRequestedRangeNotSatisfiable:
		w.Header().Set("Content-Range", "bytes */"+strconv.FormatInt(size, 10))
		return lcm.Errorf(
			lcm.CodeRange, "the range %.100q is not in the %d bytes that there are", r.Header.Get("Range"), size,
		)
	case http.StatusPreconditionFailed:
		return lcm.Errorf(lcm.CodePrecondition, "the content is not the one that the request is about")
	}
	return nil
}

// guard keeps http.ServeContent from answering errors itself.
type guard struct {
	http.ResponseWriter
	refused int
}

// WriteHeader implements http.ResponseWriter.
func (g *guard) WriteHeader(code int) {
	if code == http.StatusRequestedRangeNotSatisfiable || code == http.StatusPreconditionFailed {
		g.refused = code
		return
	}
	g.ResponseWriter.WriteHeader(code)
}

// Write implements io.Writer.
func (g *guard) Write(p []byte) (int, error) {
	if g.refused != 0 {
		return len(p), nil
	}
	return g.ResponseWriter.Write(p)
}

// ReadFrom lets the kernel copy files to sockets.
func (g *guard) ReadFrom(src io.Reader) (int64, error) { return io.Copy(g.ResponseWriter, src) }

// Unwrap gives http.ResponseController what is below.
func (g *guard) Unwrap() http.ResponseWriter { return g.ResponseWriter }
