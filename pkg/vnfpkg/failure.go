package vnfpkg

import (
	"errors"
	"io/fs"
	"net/http"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/csar"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/tosca"
)

const rejected = "The VNF package was rejected"

// rejection turns what is wrong with a package into what its owner reads, or nil for an error that is not the
// package's.
func rejection(err error) *sol.ProblemDetails {
	var (
		archive *csar.Rejection
		defects tosca.Errors
		defect  *tosca.Error
	)
	switch {
	case errors.As(err, &archive):
		status := http.StatusUnprocessableEntity
		if archive.Reason == csar.TooLarge {
			status = http.StatusRequestEntityTooLarge
		}
		return &sol.ProblemDetails{Title: rejected, Status: status, Detail: archive.Error(), Hint: archive.Hint}
	case errors.As(err, &defects):
		var hints []string
		for _, d := range defects {
			if d.Hint != "" && !strings.Contains(strings.Join(hints, "\n"), d.Hint) {
				hints = append(hints, d.Hint)
			}
		}
		return &sol.ProblemDetails{Title: rejected, Status: http.StatusUnprocessableEntity, Detail: defects.Error(), Hint: strings.Join(hints, "\n")}
	case errors.As(err, &defect):
		return &sol.ProblemDetails{Title: rejected, Status: http.StatusUnprocessableEntity, Detail: defect.Error(), Hint: defect.Hint}
	case errors.Is(err, errContentLost):
		return &sol.ProblemDetails{Title: "The stored content is missing", Status: http.StatusInternalServerError, Detail: errContentLost.Error(), Hint: "upload the package again"}
	}
	return nil
}

// errContentLost says that an archive that a package refers to is not in the content store: somebody has removed it,
// or the nodes do not share one store.
var errContentLost = errors.New("the content of the package is not in the content store of this node")

func lost(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errors.Join(errContentLost, err)
	}
	return err
}

// taken is the failure of a package whose VNFD is onboarded already.
func taken(vnfdID, other string) *sol.ProblemDetails {
	detail := "the VNFD " + vnfdID + " is onboarded already"
	if other != "" {
		detail += ", with the package " + other
	}
	return &sol.ProblemDetails{
		Title: rejected, Status: http.StatusConflict, Detail: detail,
		Hint: "delete the other package, or give the VNFD another descriptor_id",
	}
}

// interrupted is the failure of an upload that did not reach its end.
func interrupted(detail string) *sol.ProblemDetails {
	return &sol.ProblemDetails{Title: "The upload was interrupted", Status: http.StatusInternalServerError, Detail: detail, Hint: "upload the package again"}
}
