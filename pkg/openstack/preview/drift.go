package preview

import (
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Drift compares the stack of an instance as Heat has it with the one that an operation would send for the same state.
// The size of a group can have been changed by signals since its template was sent: resources that the inventory has
// are not new, and those that it lacks are not removed.
func Drift(i *lcm.Instance, before, after *Side) (*lcm.Preview, error) {
	p, err := Compare(lcm.Request{Type: sol.LcmOperationChangeExtConn, Instance: i}, before, after)
	if err != nil {
		return nil, err
	}
	was, err := before.keys()
	if err != nil {
		return nil, err
	}
	out := p.Preview
	out.Add, out.Remove = []lcm.PlannedResource{}, []lcm.PlannedResource{}
	inv := recordsOf(i)
	for _, e := range p.created {
		if _, there := inv.find(e); !there && !was[e.key()] {
			out.Add = append(out.Add, e.planned(""))
		}
	}
	for _, r := range p.Remove {
		if r.ID != "" {
			out.Remove = append(out.Remove, r)
		}
	}
	out.Complete()
	return &out, nil
}

// keys are those of the resources of a stack.
func (s *Side) keys() (map[string]bool, error) {
	list, _, err := s.elements()
	out := make(map[string]bool, len(list))
	for _, e := range list {
		out[e.key()] = true
	}
	return out, err
}
