package lcm

import (
	"encoding/json"
	"fmt"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Limits are the largest sizes, in bytes of JSON, of attributes of an instance whose members clients name. Requests add
// to these attributes, so that a limit on the request is not sufficient. 0 is no limit.
type Limits struct {
	// Attribute is for each of metadata, extensions and vnfConfigurableProperties.
	Attribute int
	// Params is for each of the additionalParams that an instance remembers, its VIM connections together, and the
	// vnfcConfigurableProperties of all its VNFCs together.
	Params int
}

// CheckSizes finds attributes that the operation would make larger than the limits. before is the instance without the
// request. An attribute that is larger already may shrink.
func (a *Admission) CheckSizes(before *Instance, l Limits) ([]InvalidParam, error) {
	after := a.result
	if after == nil {
		merged := *a.Instance
		if kind := a.Task.Kind; kind.Instantiates() || kind.NewRevision {
			var g givenPairs
			if err := json.Unmarshal(a.Task.Raw, &g); err != nil {
				return nil, Errorf(CodeInvalid, "the request of the operation is malformed: %w", err)
			}
			if err := merged.merge(g); err != nil {
				return nil, err
			}
			if kind.NewRevision {
				var err error
				if merged.Params, err = mergeRaw(merged.Params, g.AdditionalParams); err != nil {
					return nil, err
				}
			}
		}
		after = &merged
	}
	var bad []InvalidParam
	for _, s := range []struct {
		pointer string
		limit   int
		size    func(*Instance, int) int
	}{
		{"/metadata", l.Attribute, func(i *Instance, n int) int { return sol.SizeOf(i.Metadata, n) }},
		{"/extensions", l.Attribute, func(i *Instance, n int) int { return sol.SizeOf(i.Extensions, n) }},
		{
			"/vnfConfigurableProperties", l.Attribute,
			func(i *Instance, n int) int { return sol.SizeOf(i.ConfigurableProperties, n) },
		},
		{"/additionalParams", l.Params, func(i *Instance, n int) int { return sol.SizeOf(i.Params, n) }},
		{"/vimConnectionInfo", l.Params, sizeOfConnections},
		{"/vnfcInfoModifications", l.Params, sizeOfVNFCProperties},
	} {
		if s.limit == 0 || s.size(after, s.limit) <= s.limit {
			continue
		}
		const all = 1 << 40
		if s.size(after, all) > s.size(before, all) {
			bad = append(bad, InvalidParam{s.pointer, fmt.Sprintf(
				"would make the attribute of the VNF instance larger than %d bytes; remove members of it first",
				s.limit,
			)})
		}
	}
	return bad, nil
}

func sizeOfConnections(i *Instance, limit int) (size int) {
	for key, c := range i.VimConnections {
		size += len(key) + len(c.VimID) + len(c.VimType)
		for _, pairs := range []sol.KeyValuePairs{c.InterfaceInfo, c.AccessInfo, c.Extra} {
			size += sol.SizeOf(pairs, limit)
		}
	}
	return size
}

func sizeOfVNFCProperties(i *Instance, limit int) (size int) {
	if i.Instantiated == nil {
		return 0
	}
	for _, c := range i.Instantiated.VnfcInfo {
		size += sol.SizeOf(c.VnfcConfigurableProperties, limit)
	}
	return size
}
