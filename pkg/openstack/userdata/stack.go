package userdata

import (
	"fmt"
	"maps"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/hot"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Input is what a stack is assembled from. Nothing in it is changed.
type Input struct {
	Class   Class
	Flavour *vnfd.Flavour
	HOT     *hot.Bundle
	// Counts is the number of VNFCs by VDU.
	Counts map[string]int
	// Ext and Managed are the virtual links that hold.
	Ext     []sol.ExtVirtualLinkData
	Managed []sol.ExtManagedVirtualLinkData
	// Grant is what was allowed; its Images hold the ids of uploaded images too. The zero value allows everything.
	Grant lcm.Grant
	// Previous is the flavour that the VNFCs which are there belong to, nil when it is Flavour. Had is their number by
	// VDU, Held the nfv that they were made from; all are nil for a new stack.
	Previous *vnfd.Flavour
	Had      map[string]int
	Held     map[string]any
	// Fresh says which leaves the operation decides again, although there are values that hold; nil means none.
	// desired_capacity always is.
	Fresh Fresh
	// Patches are the additionalParams of the request and of the grant; their nfv is merged last, in this order.
	Patches []sol.KeyValuePairs
	// PublicKey is what machines take as the public part of the instance's key; "" for none.
	PublicKey string
}

// Fresh says whether a leaf of nfv is decided again: kind is VDU or CP, name has the VNFC's index where there is one.
type Fresh func(kind, name, leaf string) bool

// Stack is what Heat is given.
type Stack struct {
	Template string
	Files    map[string]string
	// NFV is the value of the parameter nfv. A leaf that the template asks for and that has no value is nil.
	NFV map[string]any
	// Other are the values of other parameters, which only a class of the package has. NoNFV says that its template
	// does not declare nfv.
	Other map[string]any
	NoNFV bool
	// Note is one more tag of the stack, without a comma and of at most 80 characters; "" for none.
	Note string
	// PublicKey is the value of ParamPublicKey; nil when the template does not declare it.
	PublicKey *string
}

// ParamPublicKey is the parameter by which a template takes the public part of the instance's key. Every template that
// declares it gets it, with an empty text for an instance without a key.
const ParamPublicKey = "ssh_public_key"

// Parameters is the parameters member of Heat's request.
func (s *Stack) Parameters() map[string]any {
	p := map[string]any{}
	maps.Copy(p, s.Other)
	if !s.NoNFV {
		p["nfv"] = s.NFV
	}
	if s.PublicKey != nil {
		p[ParamPublicKey] = *s.PublicKey
	}
	return p
}

// Renew gives all members of its groups their definition again, also those that an update that failed has changed: see
// hot.Template.Renew.
func (s *Stack) Renew(word string, there map[hot.Place]hot.Members) error {
	t, err := hot.Parse("the template", []byte(s.Template))
	if err != nil {
		return err
	}
	files, some, err := t.Renew(s.Files, word, there)
	if err != nil || !some {
		return err
	}
	s.Files = files
	if s.Template, err = t.Encode(); err != nil {
		return fmt.Errorf("encode the template: %w", err)
	}
	return nil
}

// Assemble makes the stack. The invalid params say what keeps it from working and where in the request it can be put
// right; an error is a fault of the package (*hot.Error).
func Assemble(in Input) (*Stack, []lcm.InvalidParam, error) {
	t := in.HOT.Template.Clone()
	if in.Class == Standard {
		if err := expand(t, in); err != nil {
			return nil, nil, err
		}
	} else if err := resize(t, in); err != nil {
		return nil, nil, err
	}
	for _, vl := range in.Managed {
		t.UseNetwork(vl.VnfVirtualLinkDescID, vl.ResourceID)
	}
	t.AwaitSubnets()
	if lost := t.Dangling(); len(lost) > 0 {
		return nil, nil, &hot.Error{File: in.HOT.Path, Problem: fmt.Sprintf(
			"it refers to the resource %q, which is not there once VDUs and externally managed links are in place",
			lost[0],
		)}
	}
	nfv, bad := values(in, skeleton(t.Params()))
	nfv, files, err := grouped(in, t, nfv)
	if err != nil {
		return nil, nil, err
	}
	if files, err = reverted(in, t, nfv, files); err != nil {
		return nil, nil, err
	}
	text, err := t.Encode()
	if err != nil {
		return nil, nil, fmt.Errorf("encode %s: %w", in.HOT.Path, err)
	}
	s := &Stack{Template: text, Files: files, NFV: nfv}
	if t.Declares(ParamPublicKey) {
		s.PublicKey = &in.PublicKey
	}
	return s, bad, nil
}

// expand makes one resource per VNFC.
func expand(t *hot.Template, in Input) error {
	for _, v := range in.Flavour.VDUs {
		if !t.Has(v.Name) {
			return &hot.Error{
				File: in.HOT.Path, Problem: fmt.Sprintf("%s needs a resource named %s, as the VDU", Standard, v.Name),
			}
		}
		t.Expand(v.Name, in.Counts[v.Name])
	}
	return nil
}

// resize gives the groups the size that they shall have.
func resize(t *hot.Template, in Input) error {
	for _, v := range in.Flavour.VDUs {
		g := in.HOT.Group(t, v.Name)
		if g == nil {
			continue
		}
		n := in.Counts[v.Name]
		if err := withinLimits(g, in.HOT.Path, v.Name, n); err != nil {
			return err
		}
		g.Resize(n)
	}
	return nil
}

// withinLimits checks that a group can have n members.
func withinLimits(g *hot.Group, file, vdu string, n int) error {
	if limit := max(g.Min, min(n, g.Max)); limit != n && limit >= 0 {
		return &hot.Error{File: file, Problem: fmt.Sprintf(
			"the group %s cannot have %d members of the VDU %s; its limit is %d", g.Name, n, vdu, limit,
		)}
	}
	return nil
}
