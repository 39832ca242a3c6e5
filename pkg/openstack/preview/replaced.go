package preview

import (
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Replaced lists the VNFCs that lose data between two stacks and have a place in both: their server is replaced or gets
// another image, or one of their volumes is replaced or removed.
func Replaced(r lcm.Request, before, after *Side) ([]string, error) {
	p, err := Compare(r, before, after)
	if err != nil {
		return nil, err
	}
	var lost []loss
	p.Complete()
	for _, res := range slices.Concat(p.Replace, p.Remove, p.Change) {
		if res.LosesData {
			lost = append(lost, loss{res.VNFC, res.VDU})
		}
	}
	var out []string
	if r.Instance.Instantiated == nil {
		return out, nil
	}
	for _, c := range r.Instance.Instantiated.VnfcInfo {
		removed := r.Scope != nil && slices.Contains(r.Scope.Remove, c.ID)
		if !removed && slices.ContainsFunc(lost, func(l loss) bool { return l.mayBeOf(c) }) {
			out = append(out, c.ID)
		}
	}
	return out, nil
}

// loss is a resource that is lost: the VNFC that has it and the VDU of that. "" is unknown.
type loss struct{ vnfc, vdu string }

// mayBeOf says whether a VNFC may have the resource.
func (l loss) mayBeOf(c sol.VnfcInfo) bool {
	if l.vnfc != "" {
		return l.vnfc == c.ID
	}
	return l.vdu == "" || l.vdu == c.VduID
}
