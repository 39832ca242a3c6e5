package vnfpkgm

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/openapi"
	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/version"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
)

// root is the prefix of all versions.
const root = "/vnfpkgm"

// idle is how long an upload or download may stand still.
const idle = time.Minute

// API serves the interface in all its versions.
type API struct {
	Services *vnfpkg.Services
	// Subscriptions are those to notifications of all interfaces.
	Subscriptions *notify.Services
	// MaxSize bounds an archive in bytes.
	MaxSize int64
}

// major is a major version of the interface.
type major struct {
	*API
	prefix string
	// versions are those of api_versions.
	versions []string
	// optional serves requests without a Version header: deployed clients of version 1 send none.
	optional bool
	document string
	// failed says that a package whose content was refused is in the state ERROR; in version 1 it is CREATED.
	failed bool
}

func (a *API) majors() []*major {
	return []*major{
		{API: a, prefix: root + "/v1", versions: []string{"1.2.0"}, optional: true, document: openapi.VnfPkgmV1},
		{
			API: a, prefix: root + "/v2", versions: []string{"2.1.0", "2.4.0"}, document: openapi.VnfPkgmV2,
			failed: true,
		},
	}
}

// Mount adds the interface to a frame.
func (a *API) Mount(f *frame.Frame) {
	var all []string
	for _, m := range a.majors() {
		all = append(all, m.versions...)
	}
	f.Mount(frame.API{
		Prefix: root, Versions: parse(all), VersionOptional: true, Routes: []frame.Route{versionsRoute(all)},
	})
	for _, m := range a.majors() {
		f.Mount(frame.API{
			Prefix: m.prefix, Versions: parse(m.versions), VersionOptional: m.optional,
			LenientQuery: m.optional, Document: frame.Served(m.document), Routes: m.routes(),
		})
	}
}

func parse(versions []string) []version.Version {
	out := make([]version.Version, len(versions))
	for n, v := range versions {
		out[n] = version.MustParse(v)
	}
	return out
}

func versionsRoute(versions []string) frame.Route {
	return frame.Route{
		Method: http.MethodGet, Path: "/api_versions", Produces: frame.JSON, AnyVersion: true,
		Handle: frame.Versions(root, versions...),
	}
}

func (m *major) routes() []frame.Route {
	const (
		all, one             = "/vnf_packages", "/vnf_packages/{vnfPkgId}"
		onboarded, ofOneVnfd = "/onboarded_vnf_packages", "/onboarded_vnf_packages/{vnfdId}"
	)
	routes := []frame.Route{
		versionsRoute(m.versions),
		{Method: http.MethodGet, Path: all, Handle: m.list, Produces: frame.JSON, Query: frame.ListParams},
		{
			Method: http.MethodPost, Path: all, Handle: m.create, Consumes: frame.JSON, Produces: frame.JSON,
			Replay: m.replayCreate,
		},
		{Method: http.MethodGet, Path: one, Handle: m.get, Produces: frame.JSON},
		{Method: http.MethodPatch, Path: one, Handle: m.update, Consumes: frame.Patches, Produces: frame.JSON},
		{Method: http.MethodDelete, Path: one, Handle: m.delete},
		{
			Method: http.MethodPut, Path: one + "/package_content", Handle: m.upload,
			Consumes: []string{"application/zip", "application/octet-stream"}, Stream: true,
		},
		{
			Method: http.MethodPost, Path: one + "/package_content/upload_from_uri", Handle: m.uploadFrom,
			Consumes: frame.JSON,
		},
		{
			Method: http.MethodGet, Path: onboarded, Handle: m.listOnboarded, Produces: frame.JSON,
			Query: frame.ListParams,
		},
		{Method: http.MethodGet, Path: ofOneVnfd, Handle: m.getOnboarded, Produces: frame.JSON},
	}
	routes = append(routes, m.subscriptions().Routes()...)
	routes = append(routes, m.contentRoutes(one, packageID)...)
	return append(routes, m.contentRoutes(ofOneVnfd, m.onboardedID)...)
}

// locator returns the id of the package that a path names.
type locator func(r *frame.Request) (string, error)

// contentRoutes are the routes for the content of a package.
func (m *major) contentRoutes(path string, locate locator) []frame.Route {
	zip := []string{mediaZip}
	text := []string{mediaText, mediaZip}
	at := func(h func(http.ResponseWriter, *frame.Request, string) error) frame.Handler {
		return func(w http.ResponseWriter, r *frame.Request) error {
			id, err := locate(r)
			if err != nil {
				return err
			}
			return h(w, r, id)
		}
	}
	return []frame.Route{
		{Method: http.MethodGet, Path: path + "/package_content", Handle: at(m.content), Produces: zip},
		{Method: http.MethodGet, Path: path + "/vnfd", Handle: at(m.vnfd), Produces: text},
		{Method: http.MethodGet, Path: path + "/manifest", Handle: at(m.manifest), Produces: text},
		{Method: http.MethodGet, Path: path + "/artifacts", Handle: at(m.artifacts), Produces: zip},
		// Only its client knows the type of an artifact; the openstack client even asks for JSON.
		{Method: http.MethodGet, Path: path + "/artifacts/*", Handle: at(m.artifact)},
	}
}

// packageID reads the package id of the path.
func packageID(r *frame.Request) (string, error) {
	id, err := r.Identifier("vnfPkgId", "VNF package")
	r.Note(slog.String("vnf_pkg_id", id))
	return id, err
}

// onboardedID returns the id of the package that is onboarded with the vnfdId of the path.
func (m *major) onboardedID(r *frame.Request) (string, error) {
	p, err := m.onboarded(r)
	if err != nil {
		return "", err
	}
	return p.ID, nil
}

func (m *major) onboarded(r *frame.Request) (*vnfpkg.Package, error) {
	p, err := m.Services.In(r.Principal).Onboarded(r.Context(), r.Param("vnfdId"))
	if err != nil {
		return nil, err
	}
	r.Note(slog.String("vnf_pkg_id", p.ID))
	return p, nil
}

func (m *major) path(id string) string { return m.prefix + "/vnf_packages/" + id }

// present makes the resource that the client of a request sees, at a path.
func (m *major) present(r *frame.Request, p *vnfpkg.Package, path string) sol.VnfPkgInfo {
	self, info := m.linkOf(r, path), p.Info()
	if m.unversioned(r) {
		respell(&info)
	}
	info.Links = &sol.VnfPkgInfoLinks{
		Self: sol.Link{Href: self}, PackageContent: sol.Link{Href: self + "/package_content"},
	}
	switch {
	case p.OnboardingState == sol.PackageOnboardingStateOnboarded:
		info.Links.Vnfd = &sol.Link{Href: self + "/vnfd"}
	case m.failed && p.OnboardingState == sol.PackageOnboardingStateCreated && p.Failure != nil:
		info.OnboardingState = sol.PackageOnboardingStateError
	}
	return info
}
