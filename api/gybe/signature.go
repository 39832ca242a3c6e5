package gybe

import (
	"log/slog"
	"net/http"

	"github.com/gybe-nfv/gybe/api/frame"
)

// signature is what the signatures of a package say.
func (a *API) signature(w http.ResponseWriter, r *frame.Request) error {
	id, err := r.Identifier("vnfPkgId", "VNF package")
	if err != nil {
		return err
	}
	r.Note(slog.String("vnf_pkg_id", id))
	result, err := a.Packages.In(r.Principal).Signature(r.Context(), id)
	if err != nil {
		return err
	}
	return frame.WriteJSON(w, http.StatusOK, result.Document())
}
