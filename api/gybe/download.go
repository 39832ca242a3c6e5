package gybe

import (
	"log/slog"
	"net/http"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
)

// download shows the progress of the download of a package.
func (a *API) download(w http.ResponseWriter, r *frame.Request) error {
	id, err := r.Identifier("vnfPkgId", "VNF package")
	if err != nil {
		return err
	}
	r.Note(slog.String("vnf_pkg_id", id))
	d, err := a.Packages.In(r.Principal).Downloading(r.Context(), id)
	if err != nil {
		return err
	}
	return frame.WriteJSON(w, http.StatusOK, gybeapi.Download{
		Address: d.Address, Started: d.Started, Received: d.Received, Total: d.Total, Attempts: d.Attempts,
		Reason: d.Reason,
	})
}
