package cloud

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/outbound"
	"github.com/gybe-nfv/gybe/pkg/redirect"
)

// callInfo says for an error what was asked of whom.
type callInfo struct {
	what    string // "create stack vnf-…"
	service Service
	url     string
}

// where names the service and its address, without the query.
func (c callInfo) where() string {
	u, _, _ := strings.Cut(c.url, "?")
	return fmt.Sprintf("%s at %s", c.service, u)
}

// fault makes an *lcm.Error of whatever a call returned. When ctx has ended the error stays what it is: the work goes
// on in the next tick.
func fault(ctx context.Context, c callInfo, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", c.what, errors.Join(ctx.Err(), err))
	}
	if re, ok := errors.AsType[*gophercloud.ErrUnableToReauthenticate](err); ok {
		err = re.ErrReauth // the reason that counts: the first refusal was only an old token
		c.service = keystone
		if at, ok := errors.AsType[gophercloud.ErrUnexpectedResponseCode](err); ok {
			c.url = at.URL
		} else if at, ok := errors.AsType[*url.Error](err); ok {
			c.url = at.URL
		}
	}
	if e, ok := errors.AsType[*lcm.Error](err); ok {
		return e
	}
	if res, ok := errors.AsType[gophercloud.ErrUnexpectedResponseCode](err); ok {
		c.url = res.URL
		return refusal(c, res)
	}
	if at, ok := errors.AsType[*url.Error](err); ok {
		c.url = at.URL
	}
	return c.unreachable(err)
}

// titleUnreachable is the title of errors of a VIM that does not answer.
const titleUnreachable = "VIM unreachable"

// titleBusy is the title of errors of a VIM that answers and asks for fewer requests.
const titleBusy = "VIM is busy"

// refusal classifies an HTTP answer.
func refusal(c callInfo, res gophercloud.ErrUnexpectedResponseCode) *lcm.Error {
	status := strconv.Itoa(res.Actual) + " " + http.StatusText(res.Actual)
	text := strings.TrimLeft(
		strings.TrimPrefix(message(res.Body, res.ResponseHeader.Get("Content-Type")), status), ": ",
	)
	e := &lcm.Error{
		Code: lcm.CodeUpstream, Title: "VIM refused the request", Cause: res,
		Detail: fmt.Sprintf("%s: %s answered %s", c.what, c.where(), status),
	}
	if text != "" {
		e.Detail += ": " + text
	}
	// its 404 is not about the object that was asked for: a failed login must not be taken for "gone"
	if c.service == keystone {
		e.Cause = fmt.Errorf("%w: %s", errLogin, status)
		if res.Actual == http.StatusNotFound {
			e.Cause = errNoIdentity
		}
	}
	switch status := res.Actual; {
	case status == http.StatusUnauthorized:
		e.Class, e.Title = lcm.Auth, "VIM authentication failed"
		e.Hint = "check username, password, project and domains in accessInfo of the VIM connection"
	case quotaText.MatchString(text) || status == http.StatusRequestEntityTooLarge && c.service != Heat:
		e.Class, e.Title = lcm.Quota, "VIM quota exceeded"
	case status == http.StatusForbidden:
		e.Title = "VIM denied access"
		e.Hint = "the user of the VIM connection lacks a role for this in its project"
	case status == http.StatusNotFound:
		e.Title = "VIM resource not found"
		if c.service == keystone {
			e.Hint = "check interfaceInfo.endpoint of the VIM connection: there is no Identity API version 3 at this " +
				"address"
		}
	case status == http.StatusConflict:
		e.Title = "VIM conflict"
	case status == http.StatusRequestTimeout || status == http.StatusTooManyRequests:
		e.Class, e.Code, e.Title = lcm.Transient, lcm.CodeUnavailable, titleBusy
		e.RetryAfter = retryAfter(res.ResponseHeader)
	case status >= http.StatusInternalServerError && status != http.StatusNotImplemented:
		e.Class, e.Code, e.Title = lcm.Transient, lcm.CodeUnavailable, "VIM is failing"
		e.RetryAfter = retryAfter(res.ResponseHeader)
	}
	if h := Hint(text); h != "" && e.Class != lcm.Auth {
		e.Hint = h
	}
	return e
}

// retryAfter reads the header in both of its forms.
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if s, err := strconv.Atoi(v); err == nil && s > 0 {
		return time.Duration(s) * time.Second
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(time.Until(t), 0)
	}
	return 0
}

// unreachable classifies a call that got no answer, or none that can be read.
func (c callInfo) unreachable(err error) *lcm.Error {
	e := &lcm.Error{Code: lcm.CodeUnavailable, Class: lcm.Transient, Title: titleUnreachable, Cause: err}
	why := func(format string, args ...any) *lcm.Error {
		e.Detail = fmt.Sprintf("%s: %s ", c.what, c.where()) + fmt.Sprintf(format, args...)
		return e
	}
	dns, isDNS := errors.AsType[*net.DNSError](err)
	timeout, isNet := errors.AsType[net.Error](err)
	var authority x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var record tls.RecordHeaderError
	switch {
	case isType[*redirect.Error](err):
		e.Class, e.Code, e.Title = lcm.Permanent, lcm.CodeUpstream, "VIM redirects to another server"
		e.Detail = fmt.Sprintf("%s: %s: %v", c.what, c.service, root(err))
		e.Hint = "credentials are not sent there; correct interfaceInfo.endpoint of the VIM connection or the URLs " +
			"of the VIM's service catalogue"
		return e
	case isType[*outbound.Error](err):
		e.Class, e.Code, e.Title = lcm.Permanent, lcm.CodeUpstream, "VIM address not allowed"
		e.Detail = fmt.Sprintf("%s: %s: %v", c.what, c.service, root(err))
		e.Hint = "correct interfaceInfo.endpoint of the VIM connection or the VIM's service catalogue; the operator " +
			"of this VNFM decides which addresses are allowed"
		return e
	case isDNS:
		if dns.IsNotFound {
			e.Class = lcm.Permanent
		}
		e.Hint = "check the host name in interfaceInfo.endpoint and the URLs of the VIM's service catalogue"
		return why("has a host name that cannot be resolved: %s", dns.Name)
	case errors.As(err, &authority):
		e.Class, e.Hint = lcm.Permanent, "put the CA into interfaceInfo.trustedCertificates of the VIM connection"
		return why("has a certificate of an unknown authority")
	case errors.As(err, &hostname):
		e.Class, e.Hint = lcm.Permanent, "use a name that the certificate has, or set "+
			"interfaceInfo.skipCertificateHostnameCheck"
		return why("has a certificate for another name: %v", hostname)
	case isType[*tls.CertificateVerificationError](err):
		e.Class, e.Hint = lcm.Permanent, "renew the VIM's certificate"
		return why("has a certificate that is not valid: %v", root(err))
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		e.Class, e.Hint = lcm.Permanent, "the endpoint speaks plain HTTP: write http:// instead of https://"
		return why("does not speak TLS")
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Hint = "check that the service runs and that the endpoint's port is right"
		return why("refuses connections")
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return why("cannot be reached over the network")
	case errors.Is(err, errStalled):
		e.Code = lcm.CodeTimeout
		return why("began an answer and did not send the rest in time")
	case isNet && timeout.Timeout():
		e.Code = lcm.CodeTimeout
		return why("did not answer in time")
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF),
		errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, context.Canceled): // by another caller that shared the login
		return why("broke the connection off")
	}
	return c.unreadable(err, e, why)
}

// unreadable explains an answer that is none of the service. It does not use the texts of net/http and encoding/json,
// which quote the answer.
func (c callInfo) unreadable(err error, e *lcm.Error, why func(string, ...any) *lcm.Error) *lcm.Error {
	limit, tooLarge := errors.AsType[*answerError](err)
	switch {
	case tooLarge:
		e.Title = "VIM answer cannot be read"
		if !limit.busy {
			e.Class, e.Code = lcm.Permanent, lcm.CodeUpstream
		}
		return why("gave an answer that cannot be read: %v", limit)
	case isType[*json.SyntaxError](err), isType[*json.UnmarshalTypeError](err):
		e.Title = "VIM answer cannot be read"
		return why("gave an answer that cannot be read: it is not the JSON that %s sends", c.service)
	case isType[*net.OpError](err), strings.HasPrefix(root(err).Error(), "tls: "):
		return why("cannot be used: %v", root(err))
	}
	return why("cannot be used: it does not speak HTTP as %s does", c.service)
}

func isType[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

// root is the innermost error, without the method and URL that net/http puts around it.
func root(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// errLogin is the cause of Keystone's refusals.
var errLogin = errors.New("login refused")

// errNoIdentity is the cause of a 404 to a login.
var errNoIdentity = fmt.Errorf("%w: 404", errLogin)

// LoginRefused says whether Keystone refused the credentials of the connection.
func LoginRefused(err error) bool {
	e, ok := errors.AsType[*lcm.Error](err)
	return ok && e.Class == lcm.Auth && errors.Is(err, errLogin)
}

// AddressRejected says whether the policy of the node rejects an address of the VIM.
func AddressRejected(err error) bool { return isType[*outbound.Error](err) }

// NoKeystone says whether there is no Keystone at the address of the connection: the address cannot be reached, does
// not speak HTTP, or the server there has no Identity API. A server that answers too late or that fails is none of
// these.
func NoKeystone(err error) bool {
	if away, ok := errors.AsType[*awayError](err); ok {
		return NoKeystone(away.first)
	}
	e, ok := errors.AsType[*lcm.Error](err)
	return ok && e.Title == titleUnreachable && e.Code == lcm.CodeUnavailable || errors.Is(err, errNoIdentity)
}

// AuthorityUnknown says whether a certificate of the VIM is of an authority that neither the system nor the connection
// trusts.
func AuthorityUnknown(err error) bool {
	var authority x509.UnknownAuthorityError
	return errors.As(err, &authority)
}

// Refused says whether the VIM has understood a request and will not do it.
func Refused(err error) bool {
	e := lcm.AsError(err)
	return e != nil && e.Code == lcm.CodeUpstream && e.Class == lcm.Permanent
}

// IsQuota says whether a text of a service says that a quota is exceeded.
func IsQuota(text string) bool { return quotaText.MatchString(text) }

// NotFound says whether err is the VIM's 404.
func NotFound(err error) bool { return gophercloud.ResponseCodeIs(err, http.StatusNotFound) }

// Conflict says whether err is the VIM's 409 for another reason than quota.
func Conflict(err error) bool {
	e, ok := errors.AsType[*lcm.Error](err)
	return ok && e.Class != lcm.Quota && gophercloud.ResponseCodeIs(err, http.StatusConflict)
}
