package gybe

import (
	"log/slog"
	"net/http"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
)

// share lets all projects use a package, or ends that.
func (a *API) share(shared bool) frame.Handler {
	return func(w http.ResponseWriter, r *frame.Request) error {
		id, err := r.Identifier("vnfPkgId", "VNF package")
		if err != nil {
			return err
		}
		r.Note(slog.String("vnf_pkg_id", id))
		if err := a.Packages.In(r.Principal).Share(r.Context(), id, shared); err != nil {
			return err
		}
		return frame.NoContent(w)
	}
}

func (a *API) sharedPackages(w http.ResponseWriter, r *frame.Request) error {
	shared, own, err := a.Packages.In(r.Principal).Shared(r.Context())
	if err != nil {
		return err
	}
	out := make([]gybeapi.SharedPackage, len(shared))
	for n, p := range shared {
		out[n] = gybeapi.SharedPackage{VnfPkgID: p.ID, VnfdID: p.VnfdID, Own: own[p.ID]}
	}
	return frame.WriteJSON(w, http.StatusOK, out)
}
