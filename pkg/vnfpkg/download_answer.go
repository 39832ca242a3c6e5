package vnfpkg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/content"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// rangeHeader asks for the bytes that are missing, if the content is still the same. Without a validator, the server
// cannot tell that, so all bytes are asked for.
func (t *transfer) rangeHeader() http.Header {
	h := http.Header{}
	if t.state.Received > 0 && t.state.Validator != "" {
		h.Set("Range", fmt.Sprintf("bytes=%d-", t.state.Received))
		h.Set("If-Range", t.state.Validator)
	}
	return h
}

// accept compares a response with the bytes that are there, and drops them if the server sends all. complete means that
// no byte is missing.
func (t *transfer) accept(resp *http.Response) (complete bool, err error) {
	switch resp.StatusCode {
	case http.StatusOK:
		if err := t.dropAll(); err != nil {
			return false, err
		}
		t.state.Total = max(0, resp.ContentLength)
	case http.StatusPartialContent:
		start, total, ok := contentRange(resp.Header.Get("Content-Range"))
		now := validator(resp.Header)
		if !ok || start != t.state.Received || t.state.Total > 0 && total > 0 && total != t.state.Total ||
			t.state.Validator != "" && now != "" && now != t.state.Validator {
			why := temporary("the server answered with other bytes than it was asked for")
			return false, errors.Join(t.dropAll(), why)
		}
		t.state.Total = max(t.state.Total, total)
	case http.StatusRequestedRangeNotSatisfiable:
		if _, total, ok := contentRange(resp.Header.Get("Content-Range")); ok && total == t.state.Received {
			t.state.Total = total
			return true, nil
		}
		return false, errors.Join(t.dropAll(), temporary("the content has become shorter"))
	default:
		return false, statusError(resp)
	}
	if limit := t.limits.ArchiveBytes; limit > 0 && t.state.Total > limit {
		return false, &content.LimitError{Limit: limit}
	}
	t.state.Validator = validator(resp.Header)
	return false, nil
}

func (t *transfer) dropAll() error {
	t.state.Received, t.state.Total, t.state.Validator = 0, 0, ""
	return t.partial.Truncate(0)
}

// validator returns the value for If-Range of the content of a response: a strong entity tag, or the date of the last
// change.
func validator(h http.Header) string {
	if tag := h.Get("ETag"); tag != "" {
		if strings.HasPrefix(tag, `"`) && len(tag) <= 1000 {
			return tag
		}
		return ""
	}
	if changed := h.Get("Last-Modified"); changed != "" {
		if _, err := http.ParseTime(changed); err == nil {
			return changed
		}
	}
	return ""
}

// contentRange reads "bytes START-END/TOTAL" and "bytes */TOTAL"; total is 0 when it is not known.
func contentRange(text string) (start, total int64, ok bool) {
	unit, rest, ok := strings.Cut(text, " ")
	span, size, ok2 := strings.Cut(rest, "/")
	if !ok || !ok2 || !strings.EqualFold(unit, "bytes") {
		return 0, 0, false
	}
	var err error
	if size != "*" {
		if total, err = strconv.ParseInt(size, 10, 64); err != nil || total < 0 {
			return 0, 0, false
		}
	}
	if span == "*" {
		return 0, total, true
	}
	first, _, _ := strings.Cut(span, "-")
	start, err = strconv.ParseInt(first, 10, 64)
	return start, total, err == nil && start >= 0
}

func temporary(detail string) *lcm.Error {
	return &lcm.Error{Code: lcm.CodeUpstream, Class: lcm.Transient, Title: "The download failed", Detail: detail}
}

// statusError is the error of a response without content.
func statusError(resp *http.Response) error {
	e := temporary(clip("the server answered " + resp.Status))
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		e.Class, e.Hint = lcm.Permanent, "check the user name and the password, or the OAuth 2.0 client"
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests,
		code >= http.StatusInternalServerError:
		e.RetryAfter = retryAfter(resp.Header.Get("Retry-After"))
	default:
		e.Class, e.Hint = lcm.Permanent, "check the address"
	}
	return e
}

func retryAfter(text string) time.Duration {
	if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
		return min(time.Duration(min(seconds, 1<<20))*time.Second, maxRetryAfter)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(0, time.Until(at)), maxRetryAfter)
	}
	return 0
}

// downloadError tells defects of the source from those of the connection and of this machine.
func downloadError(err error) *lcm.Error {
	var (
		known *lcm.Error
		limit *content.LimitError
		space *content.SpaceError
		disk  *fs.PathError
	)
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &limit), errors.As(err, &space), errors.As(err, &disk):
		return uploadError(err)
	}
	e := temporary("the connection broke before all content had arrived")
	e.Cause = err
	return e
}

// judge decides what follows a failed attempt: another one, or the end of the download.
func (t *transfer) judge(ctx context.Context, why *lcm.Error) (after time.Duration, again bool, err error) {
	t.state.countProgress()
	if why.Class != lcm.Transient {
		return 0, false, t.fail(ctx, why)
	}
	t.state.Reason = why.Detail
	if t.state.Failures >= maxFailures {
		return 0, false, t.fail(ctx, exhausted(t.state))
	}
	t.log.WarnContext(ctx, "download failed and is tried again", "package", t.p.ID, "attempt", t.state.Attempts,
		"received", t.state.Received, "error", why, "cause", why.Cause)
	_, err = t.store.UpdatePackage(ctx, t.p.ID, func(p *Package, _ time.Time) error {
		if err := p.downloads(t.state.Token); err != nil {
			return err
		}
		p.Download = &t.state
		p.Failure = &sol.ProblemDetails{
			Title: "The download failed and is tried again", Status: http.StatusServiceUnavailable,
			Detail: fmt.Sprintf("attempt %d, %d bytes received: %s", t.state.Attempts, t.state.Received, why.Detail),
			Hint:   why.Hint,
		}
		return nil
	})
	pause := min(time.Second<<min(t.state.Failures-1, 10), maxPause)
	return max(pause+rand.N(pause/4), why.RetryAfter), true, err //nolint:gosec // jitter
}

// exhausted is the error of a download whose attempts bring nothing new.
func exhausted(d Download) *lcm.Error {
	return &lcm.Error{
		Code: lcm.CodeUpstream, Title: "The download failed",
		Detail: fmt.Sprintf("%d attempts in a row brought nothing new%s", maxFailures, lastReason(d.Reason)),
		Hint:   "check the server, then upload the package again",
	}
}

func lastReason(reason string) string {
	if reason == "" {
		return ""
	}
	return "; the last reason: " + reason
}

// fail returns the package to CREATED with the reason.
func (t *transfer) fail(ctx context.Context, why *lcm.Error) error {
	var content *Content
	_, err := t.store.UpdatePackage(ctx, t.p.ID, func(p *Package, _ time.Time) error {
		if err := p.downloads(t.state.Token); err != nil {
			return err
		}
		content = p.Content
		p.OnboardingState, p.Source, p.Download = sol.PackageOnboardingStateCreated, nil, nil
		p.Content, p.Failure = nil, &sol.ProblemDetails{
			Title: why.Title, Status: why.Status(), Detail: why.Detail, Hint: why.Hint,
		}
		return nil
	})
	if err != nil {
		return err
	}
	t.log.WarnContext(ctx, "package not downloaded", "package", t.p.ID, "error", why, "cause", why.Cause)
	t.removePartial(ctx, &t.state)
	t.release(ctx, content)
	return nil
}
