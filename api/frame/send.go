package frame

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
)

// WriteJSON answers with a JSON value. The answer to a GET gets an entity tag, unless the handler has set one, and is
// 304 if the client has it already.
func WriteJSON(w http.ResponseWriter, status int, v any) error {
	return write(w, status, "application/json", v)
}

func write(w http.ResponseWriter, status int, media string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	raw = append(raw, '\n')
	w.Header().Set("Content-Type", media)
	if rec, ok := w.(*recorder); ok && status == http.StatusOK && rec.tagged(raw) {
		return nil
	}
	send(w, status, [][]byte{raw}, len(raw))
	return nil
}

// tagged makes the entity tag of the answer to a GET from the parts of its body, and answers 304 if the client has it.
// The link to the next page is a part of what a list says: the tag changes with it.
func (w *recorder) tagged(parts ...[]byte) bool {
	h := w.Header()
	if w.request == nil || w.request.Method != http.MethodGet && w.request.Method != http.MethodHead {
		return false
	}
	if h.Get("Etag") == "" {
		hash := sha256.New()
		for _, p := range parts {
			hash.Write(p)
		}
		if link := h.Get("Link"); link != "" {
			hash.Write([]byte(link))
		}
		sum := hash.Sum(nil)
		h.Set("Etag", `"`+base64.RawURLEncoding.EncodeToString(sum[:12])+`"`)
	}
	known := w.request.Header.Values("If-None-Match")
	if len(known) == 0 || !listed(known, h.Get("Etag"), true) {
		return false
	}
	setKnownTag(w, known, h.Get("Etag"))
	h.Del("Content-Type")
	w.WriteHeader(http.StatusNotModified)
	return true
}

// send answers with the parts of a body, compressed if possible. Content-Type is set.
func send(w http.ResponseWriter, status int, parts [][]byte, size int) {
	h := w.Header()
	if rec, ok := w.(*recorder); ok {
		var release func()
		parts, size, release = rec.compressed(parts, size)
		defer release()
	}
	h.Set("Content-Length", strconv.Itoa(size))
	w.WriteHeader(status)
	for _, p := range parts {
		_, _ = w.Write(p) // an error means that the client is gone
	}
}

// NoContent answers 204.
func NoContent(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// Accepted answers 202 with an empty body; location may be "".
func Accepted(w http.ResponseWriter, location string) error {
	if location != "" {
		w.Header().Set("Location", location)
	}
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusAccepted)
	return nil
}
