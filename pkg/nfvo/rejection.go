package nfvo

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// maxText bounds texts of the NFVO in bytes.
const maxText = 2000

func shorten(text string) string {
	if len(text) <= maxText {
		return text
	}
	text = text[:maxText]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text + "…"
}

// codes are the kinds of errors for the statuses of a rejection; any other is 403.
var codes = map[int]lcm.Code{
	http.StatusBadRequest: lcm.CodeInvalid, http.StatusUnauthorized: lcm.CodeUnauthorized,
	http.StatusNotFound: lcm.CodeNotFound, http.StatusMethodNotAllowed: lcm.CodeMethod,
	http.StatusNotAcceptable: lcm.CodeNotAcceptable, http.StatusConflict: lcm.CodeConflict,
	http.StatusPreconditionFailed: lcm.CodePrecondition, http.StatusRequestEntityTooLarge: lcm.CodeTooLarge,
	http.StatusUnsupportedMediaType: lcm.CodeUnsupportedType, http.StatusUnprocessableEntity: lcm.CodeUnprocessable,
}

// rejection is the error of a grant that the NFVO refuses, with the text of its ProblemDetails.
func (c *Client) rejection(res *answer) error {
	var problem sol.ProblemDetails
	text := ""
	if json.Unmarshal(res.body, &problem) == nil {
		text = problem.Detail
	}
	if text == "" && utf8.Valid(res.body) {
		text = strings.TrimSpace(string(res.body))
	}
	if text == "" {
		text = "no reason given"
	}
	code, ok := codes[res.status]
	if !ok {
		code = lcm.CodeForbidden
	}
	title := problem.Title
	if title == "" {
		title = "Grant rejected"
	}
	return &lcm.Error{
		Code: code, Title: shorten(title),
		Detail: fmt.Sprintf("the NFVO %s rejected the grant (HTTP %d): %s", c, res.status, shorten(text)),
		Hint:   "ask the operator of the NFVO, or change the request",
	}
}

// broken is the error of an answer that breaks the rules of the interface.
func (c *Client) broken(format string, args ...any) error {
	return &lcm.Error{
		Code: lcm.CodeUpstream, Title: "Invalid answer of the NFVO",
		Detail: fmt.Sprintf("the NFVO %s answered the grant request with ", c) + fmt.Sprintf(format, args...),
		Hint:   "correct it at the NFVO, and send the request again",
	}
}

// refusal is the error of an answer that is neither a grant nor a promise of one.
func (c *Client) refusal(res *answer) error {
	switch {
	case res.status < http.StatusMultipleChoices:
		return c.broken("the unexpected status %d", res.status)
	case res.status < http.StatusBadRequest:
		return c.broken("%d: redirects are not followed; correct the setting nfvo.url", res.status)
	}
	return c.rejection(res)
}

// maxRetryAfter bounds what an NFVO can ask for.
const maxRetryAfter = 10 * time.Minute

// retryAfter reads the Retry-After header; 0 when there is none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := h.Get("Retry-After")
	if n, err := strconv.Atoi(v); err == nil {
		return min(max(time.Duration(n), 0), maxRetryAfter/time.Second) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	return 0
}
