package vnfpkgm

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/openapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
)

// Prefix of the interface's paths.
const Prefix = "/vnfpkgm/v1"

// served is the version that api_versions tells.
const served = "1.2.0"

// idle is how long an upload or download may stand still.
const idle = time.Minute

// API serves the interface.
type API struct {
	Services *vnfpkg.Services
	// MaxSize bounds an archive in bytes.
	MaxSize int64
}

// Mount adds the interface to a frame.
func (a *API) Mount(f *frame.Frame) {
	versions := frame.Route{
		Method: http.MethodGet, Path: "/api_versions", Produces: frame.JSON, Handle: frame.Versions("/vnfpkgm", served),
	}
	f.Mount(frame.API{Prefix: "/vnfpkgm", Routes: []frame.Route{versions}})
	const one = "/vnf_packages/{vnfPkgId}"
	f.Mount(frame.API{
		Prefix: Prefix, Document: frame.Served(openapi.VnfPkgmV1),
		Routes: []frame.Route{
			versions,
			{
				Method: http.MethodGet, Path: "/vnf_packages", Handle: a.list, Produces: frame.JSON,
				Query: frame.ListParams,
			},
			{
				Method: http.MethodPost, Path: "/vnf_packages", Handle: a.create, Consumes: frame.JSON,
				Produces: frame.JSON,
			},
			{Method: http.MethodGet, Path: one, Handle: a.get, Produces: frame.JSON},
			{Method: http.MethodPatch, Path: one, Handle: a.update, Consumes: frame.Patches, Produces: frame.JSON},
			{Method: http.MethodDelete, Path: one, Handle: a.delete},
			{
				Method: http.MethodPut, Path: one + "/package_content", Handle: a.upload,
				Consumes: []string{"application/zip", "application/octet-stream"}, Stream: true,
			},
			{
				Method: http.MethodGet, Path: one + "/package_content", Handle: a.content,
				Produces: []string{"application/zip"},
			},
			{Method: http.MethodGet, Path: one + "/vnfd", Handle: a.vnfd, Produces: []string{
				"text/plain", "application/zip",
			}},
			// What an artifact is, only its client knows; the openstack client even asks for JSON.
			{Method: http.MethodGet, Path: one + "/artifacts/*", Handle: a.artifact},
		},
	})
}

// packageID reads the package id of the path.
func packageID(r *frame.Request) (string, error) {
	id, err := r.Identifier("vnfPkgId", "VNF package")
	r.Note(slog.String("vnf_pkg_id", id))
	return id, err
}

func packagePath(id string) string { return Prefix + "/vnf_packages/" + id }

// present makes the resource that clients see.
func present(p *vnfpkg.Package, public func(string) string) sol.VnfPkgInfo {
	self := public(packagePath(p.ID))
	info := p.Info()
	info.Links = &sol.VnfPkgInfoLinks{
		Self: sol.Link{Href: self}, PackageContent: sol.Link{Href: self + "/package_content"},
	}
	if p.OnboardingState == sol.PackageOnboardingStateOnboarded {
		info.Links.Vnfd = &sol.Link{Href: self + "/vnfd"}
	}
	return info
}
