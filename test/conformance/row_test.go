package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// exchange is a request of a case with what is known before it is sent.
type exchange struct {
	method, path, body string
	header             map[string]string
	values             values
}

// try runs a case and returns why it fails.
func (n *node) try(ctx context.Context, r row, version apiVersion) error {
	v, err := n.state(ctx, r.state)
	if err != nil {
		return err
	}
	defer n.release(v)
	if v["name"] == "" {
		v["name"] = uuid.NewString()
	}
	if name, ok := strings.CutPrefix(r.request, "workflow "); ok {
		return n.workflow(ctx, name, r.expected(), v)
	}
	x := parseRequest(r.request, v)
	x.path = strings.Replace(x.path, version.from, version.to, 1)
	if versionOf(x.path) != "" {
		x.header["Version"] = version.api
	}
	a, err := n.exchange(ctx, x)
	if err != nil {
		return err
	}
	if err := n.verify(ctx, x, a, r.expected()); err != nil {
		return fmt.Errorf("%w; the response is %d %v %.2000s", err, a.status, a.header, a.body)
	}
	return nil
}

// parseRequest reads "METHOD PATH [BODY] [HEADER:VALUE]...".
func parseRequest(text string, v values) exchange {
	words := strings.Fields(text)
	x := exchange{method: words[0], path: words[1], header: map[string]string{}, values: v}
	for name, value := range v {
		x.path = strings.ReplaceAll(x.path, "{"+name+"}", value)
	}
	for _, word := range words[2:] {
		name, value, ok := strings.Cut(word, ":")
		switch {
		case !ok:
			x.body = word
		case word == "token:none":
			x.header["Authorization"] = ""
		case word == "token:malformed":
			x.header["Authorization"] = "Bearer not a token"
		default:
			x.header[name] = value
		}
	}
	return x
}

func (n *node) exchange(ctx context.Context, x exchange) (answer, error) {
	m := message{method: x.method, path: x.path, header: x.header}
	if x.body != "" {
		raw, media, err := n.body(x.body, x.values)
		if err != nil {
			return answer{}, err
		}
		m.body, m.header["Content-Type"] = raw, media
	}
	return n.send(ctx, m)
}

// verify compares a response with "STATUS [TYPE] [CHECK]...".
func (n *node) verify(ctx context.Context, x exchange, a answer, want string) error {
	words := strings.Fields(want)
	if strconv.Itoa(a.status) != words[0] {
		return fmt.Errorf("the status is %d instead of %s", a.status, words[0])
	}
	if v := x.header["Version"]; v != "" && a.header.Get("Version") != v {
		return fmt.Errorf("the header Version is %q instead of %q", a.header.Get("Version"), v)
	}
	if a.status == http.StatusMethodNotAllowed {
		return n.refused(ctx, x, a)
	}
	var list []map[string]any
	for _, word := range words[1:] {
		var err error
		switch {
		case word == "Location":
			err = n.followLocation(ctx, x, a)
		case word == "Link":
			err = n.followLink(ctx, a)
		case word == "range":
			err = partial(x, a)
		case word == "one":
			if len(list) != 1 {
				err = fmt.Errorf("the list has %d elements", len(list))
			}
		case word[0] == '+' || word[0] == '-':
			err = hasAttribute(list, word[1:], word[0] == '+')
		case strings.Contains(word, "/"):
			if media, _, _ := mime.ParseMediaType(a.header.Get("Content-Type")); media != word {
				err = fmt.Errorf("the media type is %q", media)
			}
		default:
			list, err = n.typed(ctx, a, word)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// refused wants 405 to name other methods, and a DELETE to have had no effect.
func (n *node) refused(ctx context.Context, x exchange, a answer) error {
	allowed := strings.Split(a.header.Get("Allow"), ", ")
	if allowed[0] == "" || slices.Contains(allowed, x.method) {
		return fmt.Errorf("Allow is %q", a.header.Get("Allow"))
	}
	if x.method != http.MethodDelete || !slices.Contains(allowed, http.MethodGet) {
		return nil
	}
	now, err := n.send(ctx, message{method: http.MethodGet, path: x.path})
	if err != nil || now.status != http.StatusOK {
		return fmt.Errorf("the resource is not there after the DELETE: %d, %w", now.status, err)
	}
	return nil
}

// typed wants the body to be of a type of package sol, and returns it as a list.
func (n *node) typed(ctx context.Context, a answer, name string) ([]map[string]any, error) {
	types := map[string]any{
		"VnfInstance": &sol.VnfInstance{}, "VnfLcmOpOcc": &sol.VnfLcmOpOcc{}, "VnfPkgInfo": &sol.VnfPkgInfo{},
		"LccnSubscription": &sol.LccnSubscription{}, "ProblemDetails": &sol.ProblemDetails{},
		"ApiVersionInformation":   &sol.ApiVersionInformation{},
		"VnfPkgInfoModifications": &sol.VnfPkgInfoModifications{}, "PkgmSubscription": &map[string]any{},
	}
	name, isList := strings.CutSuffix(name, "[]")
	into, ok := types[name]
	if !ok {
		return nil, fmt.Errorf("unknown type %q", name)
	}
	media, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if want := map[bool]string{true: "application/problem+json", false: "application/json"}[name ==
		"ProblemDetails"]; err != nil || media != want {
		return nil, fmt.Errorf("the media type is %q instead of %q", media, want)
	}
	elements := []json.RawMessage{a.body}
	if isList {
		if elements, err = n.pages(ctx, a); err != nil {
			return nil, err
		}
	}
	var list []map[string]any
	for _, raw := range elements {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		if err := dec.Decode(into); err != nil {
			return nil, fmt.Errorf("the body is not of type %s: %w", name, err)
		}
		var m map[string]any
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	if isList && len(list) == 0 {
		return nil, errors.New("the list is empty")
	}
	return list, nil
}

// pages reads the elements of a list from all its pages.
func (n *node) pages(ctx context.Context, a answer) ([]json.RawMessage, error) {
	var all []json.RawMessage
	for {
		page, err := decode[[]json.RawMessage](a)
		if err != nil {
			return nil, err
		}
		if len(page) > pageSize {
			return nil, fmt.Errorf("a page has %d elements", len(page))
		}
		all = append(all, page...)
		next := a.header.Get("Link")
		if next == "" {
			return all, nil
		}
		if a, err = n.next(ctx, next); err != nil {
			return nil, err
		}
	}
}

// next follows a Link header.
func (n *node) next(ctx context.Context, link string) (answer, error) {
	target, rel, ok := strings.Cut(link, ">;")
	if !ok || !strings.HasPrefix(target, "<") || strings.TrimSpace(rel) != `rel="next"` {
		return answer{}, fmt.Errorf("the header Link is %q", link)
	}
	a, err := n.send(ctx, message{method: http.MethodGet, path: n.local(target[1:])})
	if err == nil && a.status != http.StatusOK {
		err = fmt.Errorf("the next page is answered with %d: %s", a.status, a.body)
	}
	return a, err
}

// local removes scheme and host of an address of the node.
func (n *node) local(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.RequestURI()
}

func (n *node) followLink(ctx context.Context, a answer) error {
	_, err := n.next(ctx, a.header.Get("Link"))
	return err
}

// followLocation reads the resource that a response names: a new one, or the operation, which has to complete.
func (n *node) followLocation(ctx context.Context, x exchange, a answer) error {
	location := a.header.Get("Location")
	if location == "" {
		return errors.New("there is no header Location")
	}
	got, err := n.send(ctx, message{method: http.MethodGet, path: n.local(location)})
	if err != nil || got.status != http.StatusOK {
		return fmt.Errorf("%s is answered with %d: %s, %w", location, got.status, got.body, err)
	}
	if a.status != http.StatusAccepted {
		return nil
	}
	op, err := decode[sol.VnfLcmOpOcc](got)
	if err != nil {
		return err
	}
	if op.VnfInstanceID != x.values["instance"] {
		return fmt.Errorf("the operation is of instance %s", op.VnfInstanceID)
	}
	return n.reaches(ctx, op.ID, sol.LcmOperationStateCompleted)
}

// hasAttribute wants an attribute in an element of a list, or in none.
func hasAttribute(list []map[string]any, name string, want bool) error {
	has := slices.ContainsFunc(list, func(m map[string]any) bool { _, ok := m[name]; return ok })
	if has != want {
		return fmt.Errorf("attribute %s: present is %t", name, has)
	}
	return nil
}

// partial wants the bytes of the Range header.
func partial(x exchange, a answer) error {
	bounds := strings.TrimPrefix(x.header["Range"], "bytes=")
	from, to, _ := strings.Cut(bounds, "-")
	first, err := strconv.Atoi(from)
	if err != nil {
		return err
	}
	last, err := strconv.Atoi(to)
	if err != nil {
		return err
	}
	if got := a.header.Get("Content-Range"); !strings.HasPrefix(got, "bytes "+bounds+"/") {
		return fmt.Errorf("the header Content-Range is %q", got)
	}
	if len(a.body) != last-first+1 || a.header.Get("Content-Length") != strconv.Itoa(len(a.body)) {
		return fmt.Errorf("the response has %d bytes", len(a.body))
	}
	return nil
}
