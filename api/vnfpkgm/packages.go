package vnfpkgm

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/selector"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
)

func (a *API) create(w http.ResponseWriter, r *frame.Request) error {
	req, err := frame.Decode[sol.CreateVnfPkgInfoRequest](r)
	if err != nil {
		return err
	}
	p, err := a.Services.In(r.Principal).Create(r.Context(), req.UserDefinedData)
	if err != nil {
		return err
	}
	r.Note(slog.String("vnf_pkg_id", p.ID))
	w.Header().Set("Location", r.Public(packagePath(p.ID)))
	frame.SetValidators(w, p.Version, p.Updated)
	return frame.WriteJSON(w, http.StatusCreated, present(p, r.Public))
}

func (a *API) get(w http.ResponseWriter, r *frame.Request) error {
	id, err := packageID(r)
	if err != nil {
		return err
	}
	p, err := a.Services.In(r.Principal).Get(r.Context(), id)
	if err != nil {
		return err
	}
	// No Last-Modified and no 304: usageState follows the instances and does not count as a change.
	w.Header().Set("ETag", frame.ETag(p.Version))
	return frame.WriteJSON(w, http.StatusOK, present(p, r.Public))
}

func (a *API) list(w http.ResponseWriter, r *frame.Request) error {
	return frame.List[sol.VnfPkgInfo]{
		Path: Prefix + "/vnf_packages", Selectors: selector.VnfPkgInfos,
		ID: func(p *sol.VnfPkgInfo) string { return p.ID },
		Fetch: func(ctx context.Context, q frame.Fetch) ([]sol.VnfPkgInfo, error) {
			ps, err := a.Services.In(r.Principal).List(ctx, vnfpkg.Query{After: q.After, Limit: q.Limit})
			if err != nil {
				return nil, err
			}
			out := make([]sol.VnfPkgInfo, len(ps))
			for n, p := range ps {
				out[n] = present(p, r.Public)
			}
			return out, nil
		},
	}.Serve(w, r)
}

func (a *API) update(w http.ResponseWriter, r *frame.Request) error {
	id, err := packageID(r)
	if err != nil {
		return err
	}
	m, err := frame.Decode[sol.VnfPkgInfoModifications](r)
	if err != nil {
		return err
	}
	ifVersion, err := a.condition(r, id)
	if err != nil {
		return err
	}
	p, changed, err := a.Services.In(r.Principal).Update(r.Context(), id, m, ifVersion)
	if err != nil {
		return err
	}
	w.Header().Set("ETag", frame.ETag(p.Version))
	return frame.WriteJSON(w, http.StatusOK, changed)
}

func (a *API) delete(w http.ResponseWriter, r *frame.Request) error {
	id, err := packageID(r)
	if err != nil {
		return err
	}
	ifVersion, err := a.condition(r, id)
	if err != nil {
		return err
	}
	if err := a.Services.In(r.Principal).Delete(r.Context(), id, ifVersion); err != nil {
		return err
	}
	return frame.NoContent(w)
}

// condition returns the version that If-Match or If-Unmodified-Since allows to change; nil for any.
func (a *API) condition(r *frame.Request, id string) (*int64, error) {
	if !r.Conditional() {
		return nil, nil
	}
	p, err := a.Services.In(r.Principal).Get(r.Context(), id)
	if err != nil {
		return nil, err
	}
	return &p.Version, r.Precondition(p.Version, p.Updated)
}
