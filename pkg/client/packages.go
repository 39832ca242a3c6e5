package client

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

const packages = "/vnfpkgm/v1/vnf_packages"

// CreatePackage creates a package resource without content.
func (c *Client) CreatePackage(ctx context.Context, req sol.CreateVnfPkgInfoRequest) (*sol.VnfPkgInfo, error) {
	var out sol.VnfPkgInfo
	_, err := c.call(ctx, request{method: http.MethodPost, path: packages, body: req}, &out)
	return &out, err
}

// UploadPackage uploads the content of a package. It is checked afterwards: watch the onboarding state.
func (c *Client) UploadPackage(ctx context.Context, id string, content io.Reader) error {
	_, err := c.call(ctx, request{
		method: http.MethodPut, path: packages + "/" + url.PathEscape(id) + "/package_content", stream: content,
		media: "application/zip",
	}, nil)
	return err
}

// UploadPackageFrom lets the server download the content of a package: watch the onboarding state.
func (c *Client) UploadPackageFrom(ctx context.Context, id string, src sol.UploadVnfPackageFromUriRequest) error {
	_, err := c.call(ctx, request{
		method: http.MethodPost, path: packages + "/" + url.PathEscape(id) + "/package_content/upload_from_uri",
		body: src,
	}, nil)
	return err
}

// PackageDownload reads the progress of the download of a package; it is a 409 when there is none now.
func (c *Client) PackageDownload(ctx context.Context, id string) (*gybeapi.Download, error) {
	var out gybeapi.Download
	_, err := c.call(
		ctx, request{method: http.MethodGet, path: "/gybe/v1/vnf_packages/" + url.PathEscape(id) + "/download"}, &out,
	)
	return &out, err
}

// Packages lists all packages that match a filter of SOL013, which may be "".
func (c *Client) Packages(ctx context.Context, filter string, full bool) ([]sol.VnfPkgInfo, error) {
	return list[sol.VnfPkgInfo](ctx, c, packages, listQuery(filter, full))
}

// Package reads one package.
func (c *Client) Package(ctx context.Context, id string) (*sol.VnfPkgInfo, error) {
	var out sol.VnfPkgInfo
	_, err := c.call(ctx, request{method: http.MethodGet, path: packages + "/" + url.PathEscape(id)}, &out)
	return &out, err
}

// UpdatePackage enables or disables a package, or changes its user data.
func (c *Client) UpdatePackage(ctx context.Context, id string, change sol.VnfPkgInfoModifications) error {
	_, err := c.call(ctx, request{
		method: http.MethodPatch, path: packages + "/" + url.PathEscape(id), body: change,
		media: "application/merge-patch+json",
	}, nil)
	return err
}

// DeletePackage deletes a package that is disabled and not in use.
func (c *Client) DeletePackage(ctx context.Context, id string) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: packages + "/" + url.PathEscape(id)}, nil)
	return err
}

// PackageContent opens the archive of a package for download; the caller closes it.
func (c *Client) PackageContent(ctx context.Context, id string) (io.ReadCloser, error) {
	resp, err := c.do(ctx, request{
		method: http.MethodGet, path: packages + "/" + url.PathEscape(id) + "/package_content",
		accept: "application/zip",
	})
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// SharePackage lets all projects use a package, or ends that.
func (c *Client) SharePackage(ctx context.Context, id string, shared bool) error {
	method := http.MethodPut
	if !shared {
		method = http.MethodDelete
	}
	path := "/gybe/v1/vnf_packages/" + url.PathEscape(id) + "/sharing"
	_, err := c.call(ctx, request{method: method, path: path}, nil)
	return err
}

// PackageSignature returns what the signatures of an onboarded package say.
func (c *Client) PackageSignature(ctx context.Context, id string) (*gybeapi.PackageSignature, error) {
	out := &gybeapi.PackageSignature{}
	path := "/gybe/v1/vnf_packages/" + url.PathEscape(id) + "/signature"
	_, err := c.call(ctx, request{method: http.MethodGet, path: path}, out)
	return out, err
}

// SharedPackages lists the packages that all projects can use.
func (c *Client) SharedPackages(ctx context.Context) ([]gybeapi.SharedPackage, error) {
	var out []gybeapi.SharedPackage
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/gybe/v1/shared_packages"}, &out)
	return out, err
}
