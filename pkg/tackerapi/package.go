package tackerapi

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Package is a VNF package of Tacker.
type Package struct {
	ID              string   `json:"id"`
	VnfdID          string   `json:"vnfdId"`
	ProductName     string   `json:"vnfProductName"`
	Provider        string   `json:"vnfProvider"`
	SoftwareVersion string   `json:"vnfSoftwareVersion"`
	VnfdVersion     string   `json:"vnfdVersion"`
	OnboardingState string   `json:"onboardingState"`
	Checksum        Checksum `json:"checksum"` // empty if Tacker shows none
}

// Checksum is the hash of the content of a package (SOL003 clause 10.5.3.5).
type Checksum struct {
	Algorithm string `json:"algorithm"` // such as sha512 or SHA-512
	Hash      string `json:"hash"`      // hexadecimal
}

// onboarded is the state of packages with content.
const onboarded = "ONBOARDED"

// Package finds the package with a VNFD. Package management has version 1 only in Tacker, for instances of both
// versions of the lifecycle interface.
func (c *Client) Package(ctx context.Context, vnfdID string) (*Package, error) {
	const root = "/vnfpkgm/v1/vnf_packages"
	// A value with a comma or a parenthesis is quoted (SOL013 clause 5.2.2).
	query := url.Values{"filter": {"(eq,vnfdId,'" + strings.ReplaceAll(vnfdID, "'", "''") + "')"}}
	if !strings.ContainsAny(vnfdID, "',()") {
		query.Set("filter", "(eq,vnfdId,"+vnfdID+")")
	}
	path := root + "?" + query.Encode()
	found, err := list[Package](ctx, c, path, "vnf_packages")
	if err != nil {
		return nil, err
	}
	for _, p := range found {
		if p.VnfdID != vnfdID || p.ID == "" {
			continue
		}
		if p.OnboardingState != onboarded {
			return nil, c.unusable(path, fmt.Sprintf("package %.80q is %.40s, not ONBOARDED", p.ID, p.OnboardingState))
		}
		own := root + "/" + url.PathEscape(p.ID)
		var shown Package // a list can be without the checksum
		if _, err := c.get(ctx, own, &shown); err != nil {
			return nil, err
		}
		if shown.ID != p.ID || shown.VnfdID != vnfdID {
			return nil, c.unusable(own, "the response is not this package")
		}
		return &shown, nil
	}
	return nil, &Error{
		Address: c.base, Path: path, Status: http.StatusOK, Text: fmt.Sprintf("no package has the VNFD %.80q", vnfdID),
		Hint: "the packages of other projects are not shown; upload the package to Gybe yourself",
	}
}

// Content writes the archive of a package to w, and compares it with the checksum if Tacker shows one. After an error,
// the caller must drop what has been written. It returns the size in bytes.
func (c *Client) Content(ctx context.Context, p *Package, w io.Writer) (int64, error) {
	sum, err := p.Checksum.hasher()
	if err != nil {
		return 0, fmt.Errorf("package %s of Tacker at %s: %w", p.ID, c.base, err)
	}
	path := "/vnfpkgm/v1/vnf_packages/" + url.PathEscape(p.ID) + "/package_content"
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(c.timeout, func() { cancel(errStalled) })
	defer idle.Stop()
	res, err := c.send(ctx, path, "application/zip")
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.ContentLength > c.maxContent {
		return 0, c.tooLarge(path)
	}
	if sum != nil {
		w = io.MultiWriter(w, sum)
	}
	body := &watched{Reader: io.LimitReader(res.Body, c.maxContent+1), idle: idle, timeout: c.timeout}
	n, err := io.Copy(w, body)
	switch {
	case body.err != nil:
		return n, c.unreachable(ctx, path, body.err)
	case err != nil:
		return n, err // of w
	case n > c.maxContent:
		return n, c.tooLarge(path)
	case n == 0:
		return n, c.unusable(path, "the package has no content")
	}
	if want, _ := hex.DecodeString(p.Checksum.Hash); sum != nil && subtle.ConstantTimeCompare(sum.Sum(nil), want) != 1 {
		return n, c.unusable(path, fmt.Sprintf("the content does not have the checksum of the package (%s)",
			p.Checksum.Algorithm))
	}
	return n, nil
}

func (c *Client) tooLarge(path string) error {
	return &Error{
		Address: c.base, Path: path, Status: http.StatusOK,
		Text: fmt.Sprintf("the content is larger than %d bytes", c.maxContent),
		Hint: "upload the package to Gybe yourself",
	}
}

// hasher returns the hash function of the checksum; nil if there is no checksum.
func (s Checksum) hasher() (hash.Hash, error) {
	if s.Hash == "" {
		return nil, nil //nolint:nilnil // nothing to compare with
	}
	if _, err := hex.DecodeString(s.Hash); err != nil {
		return nil, errors.New("its checksum is not hexadecimal")
	}
	switch strings.ReplaceAll(strings.ToLower(s.Algorithm), "-", "") {
	case "sha512":
		return sha512.New(), nil
	case "sha384":
		return sha512.New384(), nil
	case "sha256":
		return sha256.New(), nil
	case "sha224":
		return sha256.New224(), nil
	}
	return nil, fmt.Errorf("its checksum has the unknown algorithm %.40q", s.Algorithm)
}

// errStalled is the cause of a download that ended because nothing arrived for some time.
var errStalled = errors.New("nothing has arrived for too long")

// watched is a body whose request is cancelled when nothing arrives for some time.
type watched struct {
	io.Reader
	idle    *time.Timer
	timeout time.Duration
	err     error // of the body; tells it from errors of the writer
}

// Read implements io.Reader.
func (w *watched) Read(p []byte) (int, error) {
	w.idle.Reset(w.timeout)
	n, err := w.Reader.Read(p)
	w.idle.Stop() // the writer may take its time
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}
