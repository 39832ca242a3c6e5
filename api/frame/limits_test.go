package frame_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

const freeAttributes = `
openapi: 3.0.3
info: {title: test, version: "1"}
servers: [{url: /free}]
paths:
  /things:
    post:
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              properties:
                metadata: {type: object, nullable: true, additionalProperties: {maxLength: 9, nullable: true}}
                additionalParams: {type: object}
                list: {type: array, items: {$ref: '#/components/schemas/Part'}}
                byName: {type: object, additionalProperties: {$ref: '#/components/schemas/Part'}}
      responses: {"204": {description: done}}
components:
  schemas:
    Part:
      type: object
      properties:
        extra: {allOf: [{type: object}]}
`

// limited serves POST /free/things with small limits.
func limited(t *testing.T) func(body string) (int, sol.ProblemDetails) {
	t.Helper()
	f := frame.New(frame.Options{
		Log: slog.New(slog.DiscardHandler), MaxBody: 4000,
		Limits: frame.Limits{Values: 20, Attribute: 100, Params: 300},
	})
	f.Mount(frame.API{
		Prefix: "/free",
		Document: frame.NewDocument(
			func() (*openapi3.T, error) { return openapi3.NewLoader().LoadFromData([]byte(freeAttributes)) },
		),
		Routes: []frame.Route{{
			Method: "POST", Path: "/things", Consumes: frame.JSON,
			Handle: func(w http.ResponseWriter, _ *frame.Request) error { return frame.NoContent(w) },
		}},
	})
	require.NoError(t, f.Preload())
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return func(body string) (int, sol.ProblemDetails) {
		res, err := s.Client().Post(s.URL+"/free/things", "application/json", strings.NewReader(body))
		require.NoError(t, err)
		raw, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		var p sol.ProblemDetails
		if res.StatusCode != http.StatusNoContent {
			require.NoError(t, json.Unmarshal(raw, &p), string(raw))
		}
		return res.StatusCode, p
	}
}

// text is the JSON of an object of a size, with one text.
func text(size int) string {
	return `{"a":"` + strings.Repeat("x", size-2*sol.ValueSize-len("a")) + `"}`
}

func TestBodiesWithTooManyValuesAreRejected(t *testing.T) {
	t.Parallel()
	post := limited(t)
	const mixed = `{"other": {"a": [[], {}, "[,{\"]", null, true, -1.5e3, `
	for _, tt := range []struct {
		name, body string
		status     int
	}{
		{"as many as allowed", mixed + strings.Repeat("1,", 10) + `1]}}`, 204},
		{"one more", mixed + strings.Repeat("1,", 11) + `1]}}`, 413},
		{"empty arrays", `{"additionalParams":{"a":[` + strings.Repeat("[],", 20) + `[]]}}`, 413},
		{"nested objects", strings.Repeat(`{"a":`, 21) + "1" + strings.Repeat("}", 21), 413},
		{"in an attribute that is not defined", `{"x":[` + strings.Repeat("0,", 20) + `0]}`, 413},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			status, p := post(tt.body)
			require.Equal(t, tt.status, status, p.Detail)
			if status == 413 {
				require.Contains(t, p.Detail, "more than 20 JSON values at offset")
				require.Contains(t, p.Hint, "limits.body_values")
			}
		})
	}
}

func TestAttributesAreLimitedBySize(t *testing.T) {
	t.Parallel()
	post := limited(t)
	for _, tt := range []struct {
		name, body string
		pointers   []string
	}{
		{"within the limit", `{"metadata":{"a":"x"},"additionalParams":` + text(300) + `}`, nil},
		{"white space does not count", `{"metadata":{"a":` + strings.Repeat(" ", 500) + `1}}`, nil},
		{"null", `{"metadata":null}`, nil},
		{"free names", `{"metadata":` + text(101) + `}`, []string{"/metadata"}},
		{"names alone", `{"metadata":{"` + strings.Repeat("n", 100) + `":1}}`, []string{"/metadata"}},
		{"empty values", `{"metadata":{"":[{},{}]}}`, []string{"/metadata"}},
		{"parameters", `{"additionalParams":` + text(301) + `}`, []string{"/additionalParams"}},
		{
			"below lists and maps",
			`{"list":[{},{"extra":` + text(101) + `}],"byName":{"a/b":{"extra":` + text(200) + `}}}`,
			[]string{"/byName/a~1b/extra", "/list/1/extra"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			status, p := post(tt.body)
			var pointers []string
			for _, ip := range p.InvalidParams {
				pointers = append(pointers, ip.Pointer)
				require.Regexp(t, `^is larger than (100|300) bytes; each value counts 32 bytes and its text$`, ip.Detail)
			}
			require.Equal(t, tt.pointers, pointers, p.Detail)
			if tt.pointers == nil {
				require.Equal(t, 204, status)
				return
			}
			require.Equal(t, 413, status)
			require.Contains(t, p.Hint, "limits.attribute")
		})
	}
}
