package oracle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// shared are the errors that SOL013 allows for every request; the documents do not list all of them everywhere. 421 is
// the answer of HTTP to a request for another host, and comes before any API.
var shared = []int{400, 401, 403, 404, 405, 406, 409, 412, 413, 414, 415, 416, 421, 422, 429, 500, 503, 504}

// extensions are the responses beyond the documents: conditional requests, and ranges of each part of a package.
var extensions = []int{http.StatusNotModified, http.StatusPartialContent}

// Response lists the differences of a response from all documents that describe its path.
func Response(method, path string, status int, header http.Header, body []byte) []string {
	var out []string
	list, rest := describing(path)
	for _, d := range list {
		for _, finding := range d.response(method, rest, status, header, body) {
			out = append(out, fmt.Sprintf("%s: %s %s: %d: %s", d.Name, method, path, status, finding))
		}
	}
	return out
}

func (d *Document) response(method, path string, status int, header http.Header, body []byte) []string {
	doc, err := d.load()
	if err != nil {
		return []string{err.Error()}
	}
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if status >= http.StatusBadRequest {
		return problem(doc, status, header, body)
	}
	item := find(doc, path)
	if item == nil {
		return nil // another document describes this resource: SOL003 reads packages, and SOL005 writes them
	}
	op := item.GetOperation(method)
	if op == nil {
		return nil
	}
	response := op.Responses.Value(strconv.Itoa(status))
	if response == nil {
		if slices.Contains(extensions, status) {
			return nil
		}
		return []string{"the document does not have this status"}
	}
	var out []string
	for name, h := range response.Value.Headers {
		if h.Value.Required && header.Get(name) == "" {
			out = append(out, "the header "+name+" is missing")
		}
	}
	media := response.Value.Content.Get("application/json")
	if media == nil || media.Schema == nil || len(body) == 0 {
		return out
	}
	if given := mediaType(header); given != "application/json" {
		return append(out, fmt.Sprintf("Content-Type is %q", given))
	}
	return append(out, visit(media.Schema.Value, body)...)
}

// problem holds an error to ProblemDetails, which is the same for all resources.
func problem(doc *openapi3.T, status int, header http.Header, body []byte) []string {
	var out []string
	if !slices.Contains(shared, status) {
		out = append(out, "the standard does not have this status")
	}
	for name, of := range map[string][]int{
		"Allow": {405}, "Www-Authenticate": {401}, "Retry-After": {429, 503},
	} {
		if slices.Contains(of, status) && header.Get(name) == "" {
			out = append(out, "the header "+name+" is missing")
		}
	}
	if len(body) == 0 {
		return out
	}
	if given := mediaType(header); given != "application/problem+json" {
		return append(out, fmt.Sprintf("Content-Type is %q", given))
	}
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			if r := op.Responses.Value("400"); r != nil {
				return append(out, visit(r.Value.Content.Get("application/json").Schema.Value, body)...)
			}
		}
	}
	return append(out, "the document does not describe ProblemDetails")
}

// Request lists the differences of a request of Gybe to another server from the documents of that server's interface.
func Request(method, path string, body []byte) []string {
	var out []string
	list, rest := describing(path)
	for _, d := range list {
		doc, err := d.load()
		if err != nil {
			return []string{err.Error()}
		}
		item := find(doc, rest)
		if item == nil || item.GetOperation(method) == nil {
			out = append(out, fmt.Sprintf("%s: there is no %s %s", d.Name, method, path))
			continue
		}
		described := item.GetOperation(method).RequestBody
		if described == nil {
			continue
		}
		for _, finding := range visit(described.Value.Content.Get("application/json").Schema.Value, body) {
			out = append(out, fmt.Sprintf("%s: %s %s: %s", d.Name, method, path, finding))
		}
	}
	return out
}

func mediaType(h http.Header) string {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return h.Get("Content-Type")
	}
	return media
}

// visit holds JSON to a schema and lists the differences.
func visit(schema *openapi3.Schema, body []byte) []string {
	dec := json.NewDecoder(bytes.NewReader(body))
	var v any
	if err := dec.Decode(&v); err != nil {
		return []string{"the body is not JSON: " + err.Error()}
	}
	return differences(schema.VisitJSON(v, openapi3.MultiErrors(), openapi3.VisitAsResponse()))
}

// differences makes one line of each error.
func differences(err error) []string {
	if err == nil {
		return nil
	}
	if several, ok := errors.AsType[openapi3.MultiError](err); ok {
		var out []string
		for _, e := range several {
			out = append(out, differences(e)...)
		}
		return out
	}
	if one, ok := errors.AsType[*openapi3.SchemaError](err); ok {
		return []string{"/" + strings.Join(one.JSONPointer(), "/") + ": " + one.Reason}
	}
	return []string{err.Error()}
}

// Notification lists the differences of a notification from the published documents. The version that introduced
// documents for notifications is v3.7.1.
func Notification(body []byte) []string {
	if Folder() == "" {
		return nil
	}
	var n struct {
		Type string `json:"notificationType"`
	}
	if err := json.Unmarshal(body, &n); err != nil {
		return []string{"the body is not JSON: " + err.Error()}
	}
	for _, d := range documents {
		if d.Prefix != "" {
			continue
		}
		doc, err := d.load()
		if err != nil {
			return []string{err.Error()}
		}
		for path, item := range doc.Paths.Map() {
			if n.Type != "" && strings.HasSuffix(path, "-"+n.Type) {
				return visit(item.Post.RequestBody.Value.Content.Get("application/json").Schema.Value, body)
			}
		}
	}
	return []string{fmt.Sprintf("no document describes a notification of type %q", n.Type)}
}
