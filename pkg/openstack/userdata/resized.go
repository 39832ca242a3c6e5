package userdata

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/hot"
)

// Resized is a stack of a class of API version 1 without a method scale, with other numbers of VNFCs by VDU: the groups
// in its template get that size. Tacker sends signals to the scaling policies of such groups. A VDU that is in no group
// is an *hot.Error. s is not changed.
func Resized(s *lcm.AssembledStack, counts map[string]int) (*lcm.AssembledStack, error) {
	const name = "the template of the stack"
	b, err := hot.NewBundle(name, s.Template, s.Files)
	if err != nil {
		return nil, err
	}
	for _, vdu := range slices.Sorted(maps.Keys(counts)) {
		g := b.Group(b.Template, vdu)
		if g == nil {
			return nil, &hot.Error{File: name, Problem: fmt.Sprintf(
				"the VDU %s is not in an OS::Heat::AutoScalingGroup, so the class needs a method scale", vdu,
			)}
		}
		if err := withinLimits(g, name, vdu, counts[vdu]); err != nil {
			return nil, err
		}
		g.SetSize(counts[vdu])
	}
	out := *s
	out.Template, err = b.Template.Encode()
	return &out, err
}
