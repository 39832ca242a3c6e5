package nfvo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// packageVersion is the version of the package management interface that the client speaks.
const packageVersion = "2.1.0"

// AuthType marks a source of package content that is read with the login to the NFVO. It is no value of the standard,
// so that requests of clients cannot have it.
const AuthType = "GYBE_NFVO"

// maxVnfdID bounds a vnfdId in bytes.
const maxVnfdID = 500

// packageURL is the resource of the onboarded package with a vnfdId, which is escaped as one segment of the path
// (RFC 3986): slashes, too.
func (c *Client) packageURL(vnfdID string) *url.URL {
	return c.base.JoinPath("vnfpkgm/v2/onboarded_vnf_packages", url.PathEscape(vnfdID))
}

// FindPackage returns the source of the content of the onboarded package with a vnfdId: CodeNotFound if the NFVO does
// not have it, CodeUnavailable if it does not answer.
func (c *Client) FindPackage(ctx context.Context, vnfdID string) (*sol.UploadVnfPackageFromUriRequest, error) {
	// Some servers decode a path before they divide it. A vnfdId cannot leave the folder of packages there, and an
	// answer about another resource does not have the vnfdId.
	if !isSegment(vnfdID) || len(vnfdID) > maxVnfdID {
		return nil, lcm.Errorf(lcm.CodeNotFound, "no package can have the vnfdId %.40q", vnfdID)
	}
	at := c.packageURL(vnfdID)
	res, err := c.do(ctx, http.MethodGet, at, packageVersion, nil)
	switch {
	case err != nil:
		return nil, c.away(err.Error())
	case res.status == http.StatusNotFound:
		return nil, lcm.Errorf(lcm.CodeNotFound, "the NFVO %s has no package with the vnfdId %q", c, vnfdID)
	case res.status != http.StatusOK:
		return nil, c.away(fmt.Sprintf("HTTP %d", res.status))
	}
	var info sol.VnfPkgInfo
	if err := json.Unmarshal(res.body, &info); err != nil || info.VnfdID != vnfdID {
		return nil, lcm.Errorf(
			lcm.CodeNotFound, "the NFVO %s answered about another package than that with the vnfdId %q", c, vnfdID,
		)
	}
	return &sol.UploadVnfPackageFromUriRequest{
		AddressInformation: at.JoinPath("package_content").String(), AuthType: AuthType,
	}, nil
}

// isSegment says whether a text is a segment of a path, or several, of which none leads to another folder.
func isSegment(text string) bool {
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == '/' || r == '\\' }) {
		if part == "." || part == ".." {
			return false
		}
	}
	return text != ""
}

// away is the error of an NFVO that cannot be asked about packages now.
func (c *Client) away(why string) error {
	return &lcm.Error{
		Code: lcm.CodeUnavailable, Class: lcm.Transient, Title: "The NFVO does not answer",
		Detail: fmt.Sprintf("the NFVO %s cannot be asked for the package: %s", c, shorten(why)),
		Hint:   "send the request again, or onboard the package", RetryAfter: packageRetry,
	}
}

// packageRetry is when a client asks again about a package.
const packageRetry = 5 * time.Second

// GetContent asks for the content of a package; header may have Range and If-Range. The response can have any status.
// It has no limit of time, but ends when the NFVO sends nothing for the time of a request.
func (c *Client) GetContent(
	ctx context.Context, src *sol.UploadVnfPackageFromUriRequest, header http.Header,
) (*http.Response, error) {
	at, err := c.resolve(c.base, src.AddressInformation)
	if err != nil { // the setting has changed since
		return nil, &lcm.Error{Code: lcm.CodeUpstream, Title: "The download failed", Detail: err.Error()}
	}
	ctx, cancel := context.WithCancel(ctx)
	idle := time.AfterFunc(c.timeout, cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), http.NoBody)
	if err == nil {
		req.Header = header.Clone()
		req.Header.Set("Version", packageVersion)
		req.Header.Set("Accept", "application/zip, application/octet-stream;q=0.9")
		req.Header.Set("Accept-Encoding", "identity")
		_, err = c.authorize(req)
	}
	var res *http.Response
	if err == nil {
		res, err = c.http.Do(req)
	}
	if err != nil {
		cancel()
		e := *lcm.AsError(c.away(plainError(err).Error()))
		return nil, &e
	}
	res.Body = &body{res.Body, idle, cancel, c.timeout}
	return res, nil
}

// body ends a response whose server sends nothing.
type body struct {
	io.ReadCloser
	idle    *time.Timer
	cancel  context.CancelFunc
	timeout time.Duration
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.idle.Reset(b.timeout)
	return n, err
}

// Close implements io.Closer.
func (b *body) Close() error {
	b.idle.Stop()
	b.cancel()
	return b.ReadCloser.Close()
}
