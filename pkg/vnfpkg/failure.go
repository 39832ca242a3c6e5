package vnfpkg

import (
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/csar"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/tosca"
)

const rejected = "The VNF package was rejected"

// rejectionFailure converts a defect of a package to the failure that its owner reads; nil for an error that is not the
// package's.
func rejectionFailure(err error) *sol.ProblemDetails {
	var (
		archive *csar.Rejection
		defects tosca.Errors
		defect  *tosca.Error
	)
	switch {
	case errors.As(err, &archive):
		return problem(archive.Error(), archive.Hint, archive.Reason == csar.TooLarge)
	case errors.As(err, &defects):
		var hints []string
		for _, d := range defects {
			if d.Hint != "" && !slices.Contains(hints, d.Hint) {
				hints = append(hints, d.Hint)
			}
		}
		return problem(defects.Error(), strings.Join(hints, "\n"), defects[0].Reason == tosca.TooLarge)
	case errors.As(err, &defect):
		return problem(defect.Error(), defect.Hint, defect.Reason == tosca.TooLarge)
	case errors.Is(err, errContentLost):
		return &sol.ProblemDetails{
			Title: "The stored content is missing", Status: http.StatusInternalServerError,
			Detail: errContentLost.Error(), Hint: "upload the package again",
		}
	}
	return nil
}

func problem(detail, hint string, tooLarge bool) *sol.ProblemDetails {
	p := &sol.ProblemDetails{Title: rejected, Status: http.StatusUnprocessableEntity, Detail: detail, Hint: hint}
	if tooLarge {
		p.Status = http.StatusRequestEntityTooLarge
	}
	return p
}

// errContentLost reports that the archive of a package is not in the content store: it was removed, or the nodes do not
// share one store.
var errContentLost = errors.New("the content of the package is not in the content store of this node")

func asContentLost(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errors.Join(errContentLost, err)
	}
	return err
}

// vnfdTakenFailure is the failure of a package whose VNFD is already onboarded.
func vnfdTakenFailure(vnfdID, other string) *sol.ProblemDetails {
	detail := "the VNFD " + vnfdID + " is onboarded already"
	if other != "" {
		detail += ", with the package " + other
	}
	return &sol.ProblemDetails{
		Title: rejected, Status: http.StatusConflict, Detail: detail,
		Hint: "delete the other package, or give the VNFD another descriptor_id",
	}
}

// interruptedFailure is the failure of an incomplete upload.
func interruptedFailure(detail string) *sol.ProblemDetails {
	return &sol.ProblemDetails{
		Title: "The upload was interrupted", Status: http.StatusInternalServerError,
		Detail: detail, Hint: "upload the package again",
	}
}
