package stack

import (
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// imageHint is for a stack that lacks an image which a warning of the package says is not in the package either: it has
// the words of the warning. "" for other reasons.
func imageHint(detail string, f *vnfd.Flavour) string {
	if f == nil || !strings.Contains(detail, "No images matching") {
		return ""
	}
	hint := func(node string, img *vnfd.SwImage) string {
		w := f.Warning(vnfd.MissingArtifact, node)
		if img == nil || w == nil || !strings.Contains(detail, "'"+img.Name+"'") {
			return ""
		}
		return w.Text + ": " + w.Remedy
	}
	for _, v := range f.VDUs {
		if h := hint(v.Name, v.Image); h != "" {
			return h
		}
	}
	for _, s := range f.Storages {
		if h := hint(s.Name, s.Image); h != "" {
			return h
		}
	}
	return ""
}

// refused adds to the error of a stack that Heat does not accept what the package says about an image.
func (w *Worker) refused(err error) error {
	if err == nil {
		return nil
	}
	e := lcm.AsError(err)
	if hint := imageHint(e.Detail, w.Execution.Flavour); hint != "" {
		return e.WithHint(hint)
	}
	return err
}
