// Package paging creates and reads the opaque markers of SOL013 paging.
//
// A marker names the element of the sorted list after which the next page
// starts. It is stateless: any node, also after a restart, can continue. It is
// signed together with its query, so a marker that was changed, or is used with
// another filter, is rejected instead of returning wrong elements.
package paging

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Param is the name of the query parameter that carries a marker.
const Param = "nextpage_opaque_marker"

const (
	formatVersion = 1
	macLength     = 16
	// maxLength limits the length of a marker; it holds a sort key of several hundred
	// bytes.
	maxLength = 2048
	minKey    = 16
)

// ErrInvalid reports a marker that was not created for this query; 400.
var ErrInvalid = errors.New("the paging marker is not valid for this query")

// Marker is a position in a list that is sorted by a key and, within equal keys,
// by id.
type Marker struct {
	// SortKey is the key of the last element of the page, in any notation that
	// the store understands.
	SortKey string
	// ID is the id of the last element of the page.
	ID string
}

// Signer creates and reads markers. It is safe for concurrent use.
type Signer struct {
	keys [][]byte
}

// NewSigner returns a Signer. The first key signs; the others are older keys
// whose markers stay valid. A key has at least 16 bytes and MUST be the same on
// all nodes.
func NewSigner(keys ...[]byte) (*Signer, error) {
	if len(keys) == 0 {
		return nil, errors.New("paging needs a key")
	}
	s := &Signer{}
	for _, k := range keys {
		if len(k) < minKey {
			return nil, fmt.Errorf("paging key has %d bytes, at least %d are needed", len(k), minKey)
		}
		derived := sha256.Sum256(append([]byte("gybe paging marker\x00"), k...))
		s.keys = append(s.keys, derived[:])
	}
	return s, nil
}

// Encode creates a marker for the query that binding describes; see Binding.
func (s *Signer) Encode(m Marker, binding string) string {
	payload := []byte{formatVersion}
	payload = binary.AppendUvarint(payload, uint64(len(m.SortKey)))
	payload = append(payload, m.SortKey...)
	payload = append(payload, m.ID...)
	return base64.RawURLEncoding.EncodeToString(append(payload, mac(s.keys[0], payload, binding)...))
}

// Decode reads a marker. The error is ErrInvalid without a reason, because a
// client cannot repair an opaque value.
func (s *Signer) Decode(text, binding string) (Marker, error) {
	if text == "" || len(text) > maxLength {
		return Marker{}, ErrInvalid
	}
	if strings.ContainsAny(text, "\r\n") { // the decoder ignores them
		return Marker{}, ErrInvalid
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < macLength+2 {
		return Marker{}, ErrInvalid
	}
	payload, sum := raw[:len(raw)-macLength], raw[len(raw)-macLength:]
	if !s.verify(payload, sum, binding) || payload[0] != formatVersion {
		return Marker{}, ErrInvalid
	}
	n, width := binary.Uvarint(payload[1:])
	rest := payload[1:]
	if width <= 0 || n > uint64(len(rest)-width) {
		return Marker{}, ErrInvalid
	}
	rest = rest[width:]
	return Marker{SortKey: string(rest[:n]), ID: string(rest[n:])}, nil
}

func (s *Signer) verify(payload, sum []byte, binding string) bool {
	for _, k := range s.keys {
		if hmac.Equal(sum, mac(k, payload, binding)) {
			return true
		}
	}
	return false
}

func mac(key, payload []byte, binding string) []byte {
	h := hmac.New(sha256.New, key)
	// The length separates payload and binding.
	h.Write(binary.AppendUvarint(nil, uint64(len(payload))))
	h.Write(payload)
	h.Write([]byte(binding))
	return h.Sum(nil)[:macLength]
}

// Binding describes the query that a marker belongs to: the list (e.g.
// "vnf_instances", with the project when lists are per project) and all query
// parameters but the marker itself.
func Binding(list string, query url.Values) string {
	q := url.Values{}
	for name, values := range query {
		if name != Param {
			q[name] = values
		}
	}
	return list + "?" + q.Encode()
}

// Link returns the value of the Link header for the next page: base is the
// public URL of the list, query that of the request.
func Link(base string, query url.Values, marker string) string {
	q := url.Values{}
	for name, values := range query {
		if name != Param {
			q[name] = values
		}
	}
	q.Set(Param, marker)
	sep := "?"
	if strings.Contains(base, "?") {
		sep = "&"
	}
	return "<" + base + sep + q.Encode() + `>; rel="next"`
}
