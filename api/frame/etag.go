package frame

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// ETag is the entity tag of a version of a resource. The states are values of the representation that change without
// the version; If-Match does not compare them.
func ETag(version int64, states ...string) string {
	return `"` + strings.Join(append([]string{strconv.FormatInt(version, 10)}, states...), stateMark) + `"`
}

const (
	// stateMark is before a state in an entity tag.
	stateMark = "."
	// gzipMark ends the entity tag of a compressed representation, which is not the same bytes.
	gzipMark = `-gzip"`
)

// SetValidators writes ETag and Last-Modified.
func SetValidators(w http.ResponseWriter, version int64, modified time.Time) {
	h := w.Header()
	h.Set("Etag", ETag(version)) // as net/http writes it, so that it is not converted for each answer
	if !modified.IsZero() {
		h.Set("Last-Modified", modified.UTC().Format(http.TimeFormat))
	}
}

// ConditionalGet says whether the client has a version of the resource already.
func (r *Request) ConditionalGet() bool {
	return r.Header.Get("If-None-Match") != "" || r.Header.Get("If-Modified-Since") != ""
}

// NotModified answers 304 when If-None-Match or If-Modified-Since says that the client has this version.
// SetValidators comes first.
func NotModified(w http.ResponseWriter, r *Request, version int64, modified time.Time) bool {
	if h := r.Header.Values("If-None-Match"); len(h) > 0 {
		if !listed(h, ETag(version), true) {
			return false
		}
		setKnownTag(w, h, ETag(version))
	} else {
		since, err := http.ParseTime(r.Header.Get("If-Modified-Since"))
		if err != nil || modified.IsZero() || modified.Truncate(time.Second).After(since) {
			return false
		}
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}

// setKnownTag writes the tag of the bytes that the client has: of the compressed ones if it names that tag (RFC 9110
// clause 15.4.5: a 304 has the tag that the answer with 200 would have).
func setKnownTag(w http.ResponseWriter, header []string, tag string) {
	if packed := strings.TrimSuffix(tag, `"`) + gzipMark; strings.Contains(strings.Join(header, ","), packed) {
		w.Header().Set("Etag", packed)
	}
}

// Conditional says whether the request depends on the version of the resource.
func (r *Request) Conditional() bool {
	return r.Header.Get("If-Match") != "" || r.Header.Get("If-Unmodified-Since") != ""
}

// Precondition checks If-Match, or else If-Unmodified-Since, against what is there (RFC 9110 clause 13):
// CodePrecondition when it does not hold.
func (r *Request) Precondition(version int64, modified time.Time) error {
	return r.precondition(ETag(version), modified)
}

// precondition is Precondition for any entity tag.
func (r *Request) precondition(etag string, modified time.Time) error {
	if h := r.Header.Values("If-Match"); len(h) > 0 {
		if version, _, ok := strings.Cut(etag, stateMark); ok {
			etag = version + `"`
		}
		if listed(h, etag, false) {
			return nil
		}
		return lcm.Errorf(lcm.CodePrecondition, "the resource is at version %s, which If-Match does not name", etag).
			WithHint("read the resource again and retry")
	}
	// A date that cannot be read is no condition.
	if since, err := http.ParseTime(r.Header.Get("If-Unmodified-Since")); err != nil ||
		!modified.Truncate(time.Second).After(since) {
		return nil //nolint:nilerr // see above
	}
	return lcm.Errorf(lcm.CodePrecondition, "the resource was changed at %s", modified.UTC().Format(http.TimeFormat)).
		WithHint("read the resource again and retry")
}

// listed says whether an entity tag is in a list of them; "*" stands for any. Weak tags count only
// where that is allowed: to read. To change a resource, its version has to be the same, not its states.
func listed(header []string, tag string, weak bool) bool {
	for t := range strings.SplitSeq(strings.Join(header, ","), ",") {
		t = strings.TrimSpace(t)
		if weak {
			t = strings.TrimPrefix(t, "W/")
		}
		if plain, ok := strings.CutSuffix(t, gzipMark); ok {
			t = plain + `"`
		}
		if version, _, ok := strings.Cut(t, stateMark); ok && !weak {
			t = version + `"`
		}
		if t == "*" || t == tag {
			return true
		}
	}
	return false
}
