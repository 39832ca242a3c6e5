package frame

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// readBody reads a body up to the limit and checks its shape. Its memory counts in the budget until release is called,
// also after an error.
func readBody(
	w http.ResponseWriter, r *http.Request, limit int64, limits Limits, b *budget,
) (raw []byte, release func(), err error) {
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close") // instead of reading the rest
		return nil, func() {}, tooLarge(&http.MaxBytesError{Limit: limit})
	}

	body := b.reader(http.MaxBytesReader(w, r.Body, limit))
	var buf bytes.Buffer
	buf.Grow(firstSize(r) + bytes.MinRead)
	if _, err := buf.ReadFrom(body); err != nil {
		w.Header().Set("Connection", "close")
		return nil, body.release, tooLarge(err)
	}
	raw = buf.Bytes()
	values, err := limits.checkShape(raw)
	if err == nil {
		err = body.take(int64(values)*valueBytes, manyBodies)
	}
	return raw, body.release, err
}

// tooLarge turns the errors of reading a body into ours; io.EOF and nil stay.
func tooLarge(err error) error {
	if err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if e, ok := errors.AsType[*lcm.Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return lcm.Errorf(lcm.CodeTooLarge, "the body is larger than %d bytes", e.Limit).
			WithHint("send less, or raise limits.body of this server")
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &lcm.Error{
			Code: lcm.CodeInvalid, Title: "Body too slow", Detail: "the body did not arrive in time", Cause: err,
		}
	}
	return &lcm.Error{
		Code: lcm.CodeInvalid, Title: "Body incomplete", Detail: "the body could not be read to its end", Cause: err,
	}
}

// validateBody checks that raw, whose shape has been checked, is well-formed JSON, keeps the limits of attributes, and
// matches the schema; it reports all that is wrong.
func validateBody(raw []byte, schema *openapi3.Schema, limits Limits) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return unreadable(raw, err)
	}
	if end := dec.InputOffset(); len(bytes.TrimLeft(raw[end:], " \t\r\n")) > 0 {
		return lcm.Errorf(lcm.CodeInvalid, "there is more text after the JSON value at %s", position(raw, int(end)))
	}
	if err := limits.checkAttributes(schema, v); err != nil {
		return err
	}
	var bad []lcm.InvalidParam
	if bytes.Contains(raw, []byte(`\u0000`)) {
		bad = nulls(bad, "", v)
	}
	bad = append(bad, violations(schema, v)...)
	if len(bad) == 0 {
		return nil
	}
	e := *lcm.AsError(lcm.Unprocessable(bad...))
	e.Code, e.Title = lcm.CodeInvalid, "Invalid request body"
	return &e
}

// unreadable is the error of a body that is not JSON or has a member of the wrong kind.
func unreadable(raw []byte, err error) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		pointer := "/" + strings.ReplaceAll(lcm.Escape(e.Field), ".", "/")
		return &lcm.Error{
			Code: lcm.CodeInvalid, Title: "Invalid request body",
			Detail: fmt.Sprintf("%s: a JSON %s cannot be here", pointer, e.Value),
			Params: []lcm.InvalidParam{{Pointer: pointer, Detail: "a JSON " + e.Value + " cannot be here"}},
		}
	}
	at := len(raw)
	reason := "it ends too early"
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		at, reason = int(e.Offset)-1, e.Error() // Offset counts the offending byte
	}
	return lcm.Errorf(lcm.CodeInvalid, "the body is not JSON at %s: %s", position(raw, at), reason)
}

// position names a place in a text by offset, line and column, all counted from 1 but the offset.
func position(raw []byte, at int) string {
	at = max(0, min(at, len(raw)))
	before := raw[:at]
	line := bytes.Count(before, []byte("\n")) + 1
	column := at - bytes.LastIndexByte(before, '\n')
	return fmt.Sprintf("offset %d (line %d, column %d)", at, line, column)
}

func firstInvalidUTF8(raw []byte) int {
	if utf8.Valid(raw) {
		return -1
	}
	for i := 0; i < len(raw); {
		r, n := utf8.DecodeRune(raw[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// maxDepth bounds the nesting of a body. What we keep of it is nested deeper in our answers, and the JSON parsers of
// clients give up at their own limits: one such body would make a list unreadable for all clients.
const maxDepth = 100

// nulls finds strings and member names with U+0000, which PostgreSQL cannot keep.
func nulls(bad []lcm.InvalidParam, pointer string, v any) []lcm.InvalidParam {
	switch v := v.(type) {
	case string:
		if strings.ContainsRune(v, 0) {
			bad = append(bad, lcm.InvalidParam{Pointer: pointer, Detail: "holds the character U+0000"})
		}
	case []any:
		for i, e := range v {
			bad = nulls(bad, fmt.Sprintf("%s/%d", pointer, i), e)
		}
	case map[string]any:
		for name, e := range v {
			if strings.ContainsRune(name, 0) {
				bad = append(bad, lcm.InvalidParam{
					Pointer: pointer, Detail: "has a member whose name holds the character U+0000",
				})
			}
			bad = nulls(bad, pointer+"/"+lcm.Escape(name), e)
		}
	}
	return bad
}
