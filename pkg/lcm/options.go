package lcm

import (
	"errors"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Options are the decisions about an operation's scope that a request makes in its additionalParams. Only the infra
// driver knows the names of these members.
type Options struct {
	// Whole means that a HEAL which names no VNFC deletes and recreates the whole VNF, and one that names VNFCs
	// replaces their storages, too.
	Whole bool
	// VDUs are those whose VNFCs a CHANGE_VNFPKG changes; nil is all.
	VDUs []string
}

// Given returns the additionalParams of the request itself.
func (r Request) Given() (sol.KeyValuePairs, error) { return decodeParams(r.Params) }

// infra is the driver of the instance's VIM; nil when there is none. The admission reports that when it needs the
// driver.
func (a *Admission) infra() Infra {
	_, vim, ok := PrimaryVim(a.Instance.VimConnections)
	if !ok || a.Infras == nil {
		return nil
	}
	infra, ok := a.Infras.Infra(vim.VimType)
	if !ok {
		return nil
	}
	return infra
}

// options asks the infra driver about the request, and rejects the members that it finds wrong.
func (a *Admission) options() (Options, error) {
	infra := a.infra()
	if infra == nil {
		return Options{}, nil
	}
	r, err := a.Request()
	if err != nil {
		return Options{}, err
	}
	o, err := infra.Options(r)
	if e, ok := errors.AsType[*Error](err); ok && len(e.Params) > 0 {
		a.Bad = append(a.Bad, e.Params...)
		return o, nil
	}
	return o, err
}

// lastingParams is what an instance remembers of a request's additionalParams.
func lastingParams(infra Infra, given sol.KeyValuePairs) sol.KeyValuePairs {
	out := mergePairs(nil, given)
	if infra == nil || out == nil {
		return out
	}
	return infra.Lasting(out)
}
