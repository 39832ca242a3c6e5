package tackerapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// maxText bounds Tacker's own text in an error, in characters.
const maxText = 500

// Error is a response of Tacker that is not a success, or that cannot be used.
type Error struct {
	Address string // of Tacker
	Path    string // with the query
	Status  int    // of the response; 0 if Tacker did not answer
	Text    string // Tacker's own text, or what is wrong with the response; one line
	Hint    string // what to do next; "" if unknown
	Err     error  // the cause, if Tacker did not answer
}

// Error implements error.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "GET %s of Tacker at %s: ", e.Path, e.Address)
	if e.Status != 0 && e.Status != http.StatusOK {
		fmt.Fprintf(&b, "%d %s", e.Status, http.StatusText(e.Status))
		if e.Text != "" {
			b.WriteString(": ")
		}
	}
	b.WriteString(e.Text)
	if e.Hint != "" {
		b.WriteString("\n  hint: " + e.Hint)
	}
	return b.String()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// isStatus says whether an error is a response with one of the statuses.
func isStatus(err error, statuses ...int) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && slices.Contains(statuses, e.Status)
}

// unreachable is the error of a request without a complete response.
func (c *Client) unreachable(ctx context.Context, path string, err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // its text repeats the address
	}
	e := &Error{Address: c.base, Path: path, Err: err, Text: "no complete response: " + oneLine(err.Error())}
	switch {
	case errors.Is(context.Cause(ctx), errStalled):
		e.Text = fmt.Sprintf("nothing has arrived for %s", c.timeout)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		e.Text = fmt.Sprintf("no complete response within %s", c.timeout)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	e.Hint = "check the address of Tacker, and whether it runs"
	return e
}

// unusable is the error of a successful response with content that cannot be used.
func (c *Client) unusable(path, text string) error {
	return &Error{
		Address: c.base, Path: path, Status: http.StatusOK, Text: text,
		Hint: "check whether the address is that of Tacker's API (port 9890 by default)",
	}
}

// answerError is the error of a response that is not a success.
func (c *Client) answerError(path string, res *http.Response, raw []byte) error {
	e := &Error{Address: c.base, Path: path, Status: res.StatusCode, Text: textOf(raw)}
	switch res.StatusCode {
	case http.StatusUnauthorized:
		e.Hint = "log in with the variables OS_… or clouds.yaml, as for the openstack command"
		if c.credentials != nil {
			e.Hint = "Tacker rejects the token: check that the login is for the Keystone that this Tacker uses"
		}
	case http.StatusForbidden:
		e.Hint = "log in as a user who may read VNF instances, packages and VIMs in Tacker"
	}
	return e
}

// textOf is the text in the body of an error: of SOL013's problem details, of Tacker's legacy API
// ({"TackerError": {…}}), of OpenStack's faults ({"itemNotFound": {…}}, {"error": {…}}), or plain text. The text of a
// page in HTML is left out.
func textOf(raw []byte) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		text := strings.TrimSpace(string(raw))
		if strings.HasPrefix(text, "<") {
			return ""
		}
		return oneLine(text)
	}
	if text := faultText(raw); text != "" {
		return text
	}
	for _, m := range members { // an envelope has one member
		if text := faultText(m); text != "" {
			return text
		}
	}
	return ""
}

// faultText is the text of one object that describes an error.
func faultText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return oneLine(text)
	}
	var fault map[string]json.RawMessage
	if json.Unmarshal(raw, &fault) != nil {
		return ""
	}
	member := func(name string) string {
		var s string
		_ = json.Unmarshal(fault[name], &s) // another type is as good as absent
		return s
	}
	title := member("title")
	text = cmp.Or(member("detail"), member("message"), member("faultstring"))
	if title != "" && text != "" && title != text {
		text = title + ": " + text
	}
	return oneLine(cmp.Or(text, title))
}

// oneLine makes text safe for one line on a terminal.
func oneLine(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	if runes := []rune(text); len(runes) > maxText {
		return string(runes[:maxText]) + "…"
	}
	return text
}
