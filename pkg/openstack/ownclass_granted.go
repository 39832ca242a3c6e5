package openstack

import (
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
)

// followGrant is the advice for a class of the package that does not do what the grant says.
const followGrant = "correct the class: grant_response has what is granted, and grant_request the VNFCs"

// decides is the reason of a value that a class of the package has chosen.
func (c compared) decides() string { return "the user-data class " + c.own.String() + " decides it" }

// hasMachines compares the number of VNFCs of a stack that a class of the package has made: a built-in class makes as
// many as are granted. Groups whose size Heat computes cannot be compared.
func (c compared) hasMachines(st *userdata.Stack) error {
	if c.own == nil {
		return nil
	}
	counts, unknown, err := st.Machines(vduNames(c.flavour))
	if err != nil {
		return c.packageFault(err)
	}
	for _, v := range c.flavour.VDUs {
		if n := counts[v.Name]; n != c.counts[v.Name] && !slices.Contains(unknown, v.Name) {
			return lcm.Errorf(lcm.CodeUpstream, "the grant is for %d VNFCs of %s, but the stack would have %d: %s",
				c.counts[v.Name], v.Name, n, c.decides()).WithHint(followGrant)
		}
	}
	return nil
}
