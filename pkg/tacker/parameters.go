// Package tacker reads the members of additionalParams that OpenStack Tacker has defined. Packages and parameter files
// of Tacker use them, so every infra driver understands them in the same way.
package tacker

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Members of additionalParams.
const (
	paramAll         = "all"
	paramUpgradeType = "upgrade_type"
	paramVDUs        = "vdu_params"
)

// rollingUpdate is the only upgrade_type: VNFC by VNFC.
const rollingUpdate = "RollingUpdate"

// ofOneOperation lists members that hold for one operation only. nfv is among them because the VIM has it.
var ofOneOperation = []string{
	"nfv", paramAll, paramUpgradeType, paramVDUs,
	"lcm-operation-coordinate-new-vnf", "lcm-operation-coordinate-old-vnf",
}

// Lasting implements lcm.Infra.Lasting.
func Lasting(params sol.KeyValuePairs) sol.KeyValuePairs {
	out := maps.Clone(params)
	for _, k := range ofOneOperation {
		delete(out, k)
	}
	return out
}

// Options implements lcm.Infra.Options.
func Options(r lcm.Request) (lcm.Options, error) {
	given, err := r.Given()
	if err != nil {
		return lcm.Options{}, err
	}
	switch r.Type {
	case sol.LcmOperationHeal:
		return healOptions(given)
	case sol.LcmOperationChangeVnfpkg:
		return upgradeOptions(r, given)
	default:
		return lcm.Options{}, nil
	}
}

// ContainerOptions implements lcm.Infra.Options for CNFs: a HEAL that names no VNFC deletes and recreates the whole
// CNF, unless it says "all": false.
func ContainerOptions(r lcm.Request) (lcm.Options, error) {
	o, err := Options(r)
	if r.Type != sol.LcmOperationHeal || err != nil {
		return o, err
	}
	var req sol.HealVnfRequest
	if err := json.Unmarshal(r.Params, &req); err != nil {
		return o, fmt.Errorf("decode the operation's request: %w", err)
	}
	if _, given := req.AdditionalParams[paramAll]; !given {
		o.Whole = len(req.VnfcInstanceID) == 0
	}
	return o, nil
}

// healOptions reads all.
func healOptions(given sol.KeyValuePairs) (lcm.Options, error) {
	all, ok := given[paramAll]
	whole, isBool := all.(bool)
	if ok && !isBool && all != nil {
		bad := lcm.InvalidParam{Pointer: "/additionalParams/all", Detail: "is not a boolean"}
		return lcm.Options{}, lcm.Unprocessable(bad)
	}
	return lcm.Options{Whole: whole}, nil
}

// upgradeOptions reads upgrade_type and vdu_params.
func upgradeOptions(r lcm.Request, given sol.KeyValuePairs) (lcm.Options, error) {
	var bad []lcm.InvalidParam
	if t, ok := given[paramUpgradeType]; ok && t != rollingUpdate {
		bad = append(bad, lcm.InvalidParam{
			Pointer: "/additionalParams/upgrade_type", Detail: fmt.Sprintf("is not %q", rollingUpdate),
		})
	}
	vdus, more := vdusToUpgrade(r, given[paramVDUs])
	return lcm.Options{VDUs: vdus}, lcm.Unprocessable(append(bad, more...)...)
}

// vdusToUpgrade reads vdu_params: a list of objects with the vdu_id of a VDU that is to be updated. Without it all are.
func vdusToUpgrade(r lcm.Request, params any) (vdus []string, bad []lcm.InvalidParam) {
	const at = "/additionalParams/" + paramVDUs
	if params == nil {
		return nil, nil
	}
	list, ok := params.([]any)
	if !ok || len(list) == 0 {
		return nil, []lcm.InvalidParam{{Pointer: at, Detail: "is not a list of VDUs"}}
	}
	for n, e := range list {
		member, _ := e.(map[string]any)
		id, ok := member["vdu_id"].(string)
		here := fmt.Sprintf("%s/%d/vdu_id", at, n)
		switch {
		case !ok:
			bad = append(bad, lcm.InvalidParam{Pointer: here, Detail: "is missing"})
		case r.Flavour.VDU(id) == nil || r.Previous.Flavour.VDU(id) == nil:
			detail := fmt.Sprintf("there is no VDU %q in both VNFDs", id)
			bad = append(bad, lcm.InvalidParam{Pointer: here, Detail: detail})
		default:
			vdus = append(vdus, id)
		}
	}
	return vdus, bad
}
