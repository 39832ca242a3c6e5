package vnfpkgm

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/selector"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
)

func (m *major) create(w http.ResponseWriter, r *frame.Request) error {
	req, err := frame.Decode[sol.CreateVnfPkgInfoRequest](r)
	if err != nil {
		return err
	}
	p, err := m.Services.In(r.Principal).Create(r.Context(), req.UserDefinedData)
	if err != nil {
		return err
	}
	r.Note(slog.String("vnf_pkg_id", p.ID))
	return m.created(w, r, p)
}

// replayCreate answers a repeated creation, with the package as it is now.
func (m *major) replayCreate(w http.ResponseWriter, r *frame.Request, id string) error {
	p, err := m.Services.In(r.Principal).Get(r.Context(), id)
	if err != nil {
		return err
	}
	return m.created(w, r, p)
}

func (m *major) created(w http.ResponseWriter, r *frame.Request, p *vnfpkg.Package) error {
	path := m.path(p.ID)
	w.Header().Set("Location", r.Public(path))
	m.setTag(w, r, p)
	return frame.WriteJSON(w, http.StatusCreated, m.form(r, m.present(r, p, path)))
}

func (m *major) get(w http.ResponseWriter, r *frame.Request) error {
	id, err := packageID(r)
	if err != nil {
		return err
	}
	p, err := m.Services.In(r.Principal).Get(r.Context(), id)
	if err != nil {
		return err
	}
	return m.send(w, r, p, m.path(p.ID))
}

func (m *major) getOnboarded(w http.ResponseWriter, r *frame.Request) error {
	p, err := m.onboarded(r)
	if err != nil {
		return err
	}
	return m.send(w, r, p, m.onboardedPath(p))
}

func (m *major) send(w http.ResponseWriter, r *frame.Request, p *vnfpkg.Package, path string) error {
	m.setTag(w, r, p)
	return frame.WriteJSON(w, http.StatusOK, m.form(r, m.present(r, p, path)))
}

// setTag writes the entity tag of a package. The usage state is a part of it, because it follows the instances and does
// not count as a change. So there is no Last-Modified.
func (m *major) setTag(w http.ResponseWriter, r *frame.Request, p *vnfpkg.Package) {
	states := []string{string(p.UsageState)}
	if m.unversioned(r) {
		states = append(states, unversionedMark)
	}
	w.Header().Set("Etag", frame.ETag(p.Version, states...))
	m.varies(w)
}

func (m *major) onboardedPath(p *vnfpkg.Package) string {
	return m.prefix + "/onboarded_vnf_packages/" + url.PathEscape(p.VnfdID)
}

func (m *major) list(w http.ResponseWriter, r *frame.Request) error {
	return m.serveList(w, r, "/vnf_packages", vnfpkg.Query{}, func(p *vnfpkg.Package) string { return m.path(p.ID) })
}

func (m *major) listOnboarded(w http.ResponseWriter, r *frame.Request) error {
	return m.serveList(w, r, "/onboarded_vnf_packages", vnfpkg.Query{Onboarded: true}, m.onboardedPath)
}

func (m *major) serveList(
	w http.ResponseWriter, r *frame.Request, path string, query vnfpkg.Query, of func(*vnfpkg.Package) string,
) error {
	m.varies(w)
	query.NoArtifacts = !asksForArtifacts(r.QueryValues())
	return frame.List[sol.VnfPkgInfo]{
		Path: m.prefix + path, Selectors: selector.VnfPkgInfos,
		ID: func(p *sol.VnfPkgInfo) string { return p.ID },
		Fetch: func(ctx context.Context, q frame.Fetch) ([]sol.VnfPkgInfo, error) {
			query.After, query.Limit = q.After, q.Limit
			ps, err := m.Services.In(r.Principal).List(ctx, query)
			if err != nil {
				return nil, err
			}
			out := make([]sol.VnfPkgInfo, len(ps))
			for n, p := range ps {
				out[n] = m.present(r, p, of(p))
			}
			return out, nil
		},
		Form: func(info sol.VnfPkgInfo) any { return m.form(r, info) },
	}.Serve(w, r)
}

// asksForArtifacts says whether a list shows additionalArtifacts or selects by them.
func asksForArtifacts(query url.Values) bool {
	return query.Has("all_fields") || query.Has("exclude_fields") || slices.ContainsFunc(
		slices.Concat(query["fields"], query["filter"]),
		func(text string) bool { return strings.Contains(text, "additionalArtifacts") },
	)
}

func (m *major) update(w http.ResponseWriter, r *frame.Request) error {
	id, err := packageID(r)
	if err != nil {
		return err
	}
	change, err := frame.Decode[sol.VnfPkgInfoModifications](r)
	if err != nil {
		return err
	}
	ifVersion, err := m.condition(r, id)
	if err != nil {
		return err
	}
	p, changed, err := m.Services.In(r.Principal).Update(r.Context(), id, change, ifVersion)
	if err != nil {
		return err
	}
	m.setTag(w, r, p)
	return frame.WriteJSON(w, http.StatusOK, changed)
}

func (m *major) delete(w http.ResponseWriter, r *frame.Request) error {
	id, err := packageID(r)
	if err != nil {
		return err
	}
	ifVersion, err := m.condition(r, id)
	if err != nil {
		return err
	}
	if err := m.Services.In(r.Principal).Delete(r.Context(), id, ifVersion); err != nil {
		return err
	}
	return frame.NoContent(w)
}

// condition returns the version that If-Match or If-Unmodified-Since allows to change; nil for any.
func (m *major) condition(r *frame.Request, id string) (*int64, error) {
	if !r.Conditional() {
		return nil, nil
	}
	p, err := m.Services.In(r.Principal).Get(r.Context(), id)
	if err != nil {
		return nil, err
	}
	return &p.Version, r.Precondition(p.Version, p.Updated)
}
