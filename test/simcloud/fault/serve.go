package fault

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"time"
)

// ErrorWriter answers with an error in the form of the service that was called.
type ErrorWriter func(w http.ResponseWriter, status int, message string)

// Serve runs next under the rules that match the call. A client that reuses a connection should know that Go's
// transport by itself repeats a GET whose reused connection breaks before the first byte.
func (s *Set) Serve(w http.ResponseWriter, r *http.Request, service string, fail ErrorWriter, next http.HandlerFunc) {
	for _, rule := range s.call(service, r) {
		switch rule.Kind {
		case Delay:
			if !wait(r, time.Duration(rule.Delay), rule.released) {
				panic(http.ErrAbortHandler)
			}
		case ExpireTokens:
			if s.OnExpireTokens != nil {
				s.OnExpireTokens()
			}
		default:
			s.strike(w, r, &rule, fail, next)
			return
		}
	}
	next(w, r)
}

func (s *Set) strike(w http.ResponseWriter, r *http.Request, rule *Rule, fail ErrorWriter, next http.HandlerFunc) {
	for k, v := range rule.Header {
		w.Header().Set(k, v)
	}
	switch rule.Kind {
	case Status:
		status := cmp.Or(rule.Status, http.StatusInternalServerError)
		if rule.Body == "" {
			fail(w, status, cmp.Or(rule.Reason, http.StatusText(status)))
			return
		}
		if w.Header().Get("Content-Type") == "" {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, rule.Body)
	case HTML:
		status := cmp.Or(rule.Status, http.StatusBadGateway)
		title := strconv.Itoa(status) + " " + http.StatusText(status)
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, cmp.Or(rule.Body,
			"<html>\r\n<head><title>"+title+"</title></head>\r\n<body>\r\n<center><h1>"+title+
				"</h1></center>\r\n<hr><center>proxy</center>\r\n</body>\r\n</html>\r\n"))
	case Hang:
		_, _ = io.Copy(io.Discard, r.Body) // the server notices a client that leaves only once the body is read
		select {
		case <-r.Context().Done():
		case <-rule.released:
		}
		panic(http.ErrAbortHandler)
	case Reset:
		hangUp(w, true)
	case DropReply:
		next(newRecorder(), r)
		hangUp(w, false)
	case Truncate:
		rec := newRecorder()
		next(rec, r)
		body := rec.body.Bytes()
		maps.Copy(w.Header(), rec.header)
		w.Header().Set("Content-Length", strconv.Itoa(len(body)+len(body)%2))
		w.WriteHeader(rec.status)
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case Delay, ExpireTokens, FailResource, HangResource, DelayResource, HangStack:
		next(w, r)
	}
}

// wait sleeps for d; false means the client has gone. Removing the rule ends the wait early.
func wait(r *http.Request, d time.Duration, released <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-released:
	case <-r.Context().Done():
		return false
	}
	return true
}

// hangUp closes the connection without an answer, with a TCP reset if asked.
func hangUp(w http.ResponseWriter, reset bool) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	raw := conn
	if t, ok := conn.(*tls.Conn); ok {
		raw = t.NetConn()
	}
	if tcp, ok := raw.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0)
	}
	_ = raw.Close()
}

// recorder keeps an answer that will not, or not wholly, be sent.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func newRecorder() *recorder { return &recorder{header: http.Header{}, status: http.StatusOK} }

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }
func (r *recorder) WriteHeader(status int)      { r.status = status }
