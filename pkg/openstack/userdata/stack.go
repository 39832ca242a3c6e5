package userdata

import (
	"fmt"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/hot"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Input is what an instantiation is assembled from. Nothing in it is changed.
type Input struct {
	Class   Class
	Flavour *vnfd.Flavour
	// Counts is the number of VNFCs by VDU.
	Counts  map[string]int
	Request sol.InstantiateVnfRequest
	// Grant is what was allowed; its Images hold the ids of uploaded images too. The zero value allows everything.
	Grant lcm.Grant
	HOT   *hot.Bundle
}

// Stack is what Heat is given.
type Stack struct {
	Template string
	Files    map[string]string
	// NFV is the value of the parameter nfv. A leaf that the template asks for and nobody gave a value is nil.
	NFV map[string]any
}

// Parameters is the parameters member of Heat's request.
func (s *Stack) Parameters() map[string]any { return map[string]any{"nfv": s.NFV} }

// Instantiate assembles the stack of a new instance. The invalid params say what keeps it from working and where in the
// request it can be put right; an error is a fault of the package (*hot.Error).
func Instantiate(in Input) (*Stack, []lcm.InvalidParam, error) {
	t := in.HOT.Template.Clone()
	if in.Class == Standard {
		if err := expand(t, in); err != nil {
			return nil, nil, err
		}
	}
	for _, vl := range in.Request.ExtManagedVirtualLinks {
		t.UseNetwork(vl.VnfVirtualLinkDescID, vl.ResourceID)
	}
	if lost := t.Dangling(); len(lost) > 0 {
		return nil, nil, &hot.Error{File: in.HOT.Path, Problem: fmt.Sprintf(
			"it refers to the resource %q, which is not there once VDUs and externally managed links are in place", lost[0],
		)}
	}
	f := filler{in: in, used: map[string]string{}}
	nfv := skeleton(t.Params())
	f.vdus(nfv)
	f.cps(nfv)
	nfv, bad := merged(nfv, in)
	bad = append(bad, f.bad...)
	bad = append(bad, unconnected(nfv)...)
	text, err := t.Encode()
	if err != nil {
		return nil, nil, fmt.Errorf("encode %s: %w", in.HOT.Path, err)
	}
	return &Stack{Template: text, Files: in.HOT.Files, NFV: nfv}, bad, nil
}

// expand makes one resource per VNFC.
func expand(t *hot.Template, in Input) error {
	for _, v := range in.Flavour.VDUs {
		if !t.Has(v.Name) {
			return &hot.Error{File: in.HOT.Path, Problem: fmt.Sprintf("%s needs a resource named %s, as the VDU", Standard, v.Name)}
		}
		t.Expand(v.Name, in.Counts[v.Name])
	}
	return nil
}

// merged applies the nfv of the request and then that of the grant.
func merged(nfv map[string]any, in Input) (map[string]any, []lcm.InvalidParam) {
	var bad []lcm.InvalidParam
	for _, params := range []sol.KeyValuePairs{in.Request.AdditionalParams, in.Grant.AdditionalParams} {
		patch, ok := params["nfv"]
		if !ok {
			continue
		}
		m, ok := patch.(map[string]any)
		if !ok {
			bad = append(bad, lcm.InvalidParam{Pointer: "/additionalParams/nfv", Detail: "is not an object"})
			continue
		}
		nfv, _ = lcm.MergePatch(nfv, m).(map[string]any)
	}
	return nfv, bad
}
