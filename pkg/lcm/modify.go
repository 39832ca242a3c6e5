package lcm

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

func init() {
	RegisterOperation(OperationKind{
		Type: sol.LcmOperationModifyInfo, Hook: "modify_information", CanRollBack: true,
		Body: sol.VnfInfoModificationRequest{}, Decode: decodeModify, Phases: modifyPhases,
	})
}

func modifyPhases(Infra) Phases {
	return Phases{
		Processing: []Phase{{Name: "modify", Run: modify, ReadOnly: true}},
		Rollback: []Phase{
			{Name: "rollback_modify", Run: func(context.Context, *Execution) error { return nil }, ReadOnly: true},
		},
		Completed: modified, RolledBack: unmodified,
	}
}

// modify is the one phase of a MODIFY_INFO: the instance is stored with the tick.
func modify(_ context.Context, w *Execution) error {
	model := w.VNFD
	if w.Op.VnfPkgID == "" {
		model = nil
	}
	bad, err := patch(w.Instance, w.Op.Params, model, w.Op.VnfPkgID)
	if err != nil {
		return err
	}
	return Unprocessable(bad...)
}

// decodeModify is SOL003 clause 5.4.3.3.4. raw is a JSON merge patch (RFC 7396).
func decodeModify(raw json.RawMessage) (Task, error) {
	return decodes(func(req sol.VnfInfoModificationRequest) Task {
		given, gone := connectionsOf(raw)
		return Task{
			Connections: given, VnfdID: req.VnfdID, VnfPkgID: req.VnfPkgID,
			Decide: func(a *Admission) error {
				a.modifyRevision()
				if len(given)+len(gone) > 0 {
					if err := a.modifyConnections(gone); err != nil {
						return err
					}
				}
				patched := *a.Instance
				bad, err := patch(&patched, raw, nil, "")
				a.Bad, a.result = append(a.Bad, bad...), &patched
				return err
			},
		}
	})(raw)
}

// modifyRevision checks the package that the instance is to change to.
func (a *Admission) modifyRevision() {
	if a.Next != nil && a.NextPkgID == a.Instance.VnfPkgID {
		a.Next, a.NextPkgID = nil, "" // it has that package
	}
	if a.Next != nil && a.Present.Flavour != nil {
		if a.Next.Flavour = a.Next.VNFD.Flavour(a.Present.Flavour.ID); a.Next.Flavour == nil {
			a.Reject("/vnfdId", "the VNFD has no flavour %q, which the VNF has; it has %s", a.Present.Flavour.ID,
				flavourIDs(a.Next.VNFD))
			return
		}
		a.requireVDUs(a.Next.Flavour)
	}
}

// requireVDUs refuses a flavour that lacks a VDU of which the VNF has VNFCs: the next operation would delete them.
func (a *Admission) requireVDUs(f *vnfd.Flavour) {
	if a.Instance.Instantiated == nil {
		return
	}
	missing := map[string]int{}
	for _, c := range a.Instance.Instantiated.VnfcInfo {
		if f.VDU(c.VduID) == nil {
			missing[c.VduID]++
		}
	}
	for _, vdu := range sortedKeys(missing) {
		a.Reject("/vnfdId", "the flavour %q of the VNFD has no VDU %q, of which the VNF has %d VNFCs; use "+
			"change_vnfpkg to remove them", f.ID, vdu, missing[vdu])
	}
}

// connectionsOf takes the VIM connections of a patch apart: those that it gives, and the keys of those that it takes
// away.
func connectionsOf(raw json.RawMessage) (given map[string]sol.VimConnectionInfo, gone []string) {
	var body struct {
		Connections map[string]*sol.VimConnectionInfo `json:"vimConnectionInfo"`
	}
	_ = json.Unmarshal(raw, &body) // what is malformed is found by patch
	given = map[string]sol.VimConnectionInfo{}
	for key, c := range body.Connections {
		if c == nil {
			gone = append(gone, key)
		} else {
			given[key] = *c
		}
	}
	return given, gone
}

// modifyConnections takes VIM connections away and checks what is left. They belong to an instantiation.
func (a *Admission) modifyConnections(gone []string) error {
	const at = "/vimConnectionInfo"
	if a.Instance.State != sol.InstantiationStateInstantiated {
		return PointAt(Errorf(CodeConflict, "VNF instance %s is NOT_INSTANTIATED and has no VIM connections",
			a.Instance.ID).
			WithHint("give them with the instantiation"), at)
	}
	conns := maps.Clone(a.Instance.VimConnections)
	for _, key := range gone {
		delete(conns, key)
	}
	a.Instance.VimConnections = conns
	key, vim, ok := PrimaryVim(conns)
	if !ok {
		a.Reject(at, "would leave the VNF without a connection to its VIM")
	} else if _, ok := a.Infras.Infra(vim.VimType); !ok {
		a.Reject(at+"/"+Escape(key)+"/vimType", "%s", UnsupportedVim(vim.VimType))
	}
	return nil
}

// patch applies the body of a MODIFY_INFO to an instance, but for its VIM connections, and says what is wrong with it.
// model and pkgID are of the package that it changes to, nil for none.
func patch(i *Instance, raw json.RawMessage, model *vnfd.VNFD, pkgID string) ([]InvalidParam, error) {
	var body map[string]any
	if err := json.Unmarshal(raw, &body); err != nil {
		return nil, Errorf(CodeInvalid, "the body is no JSON object: %w", err)
	}
	var bad []InvalidParam
	for name, to := range map[string]*string{"vnfInstanceName": &i.Name, "vnfInstanceDescription": &i.Description} {
		if v, ok := body[name]; ok {
			*to, _ = v.(string) // null is not a valid name
		}
	}
	for name, to := range map[string]*sol.RawPairs{
		"metadata": &i.Metadata, "extensions": &i.Extensions, "vnfConfigurableProperties": &i.ConfigurableProperties,
	} {
		v, ok := body[name]
		if !ok {
			continue
		}
		given, isObject := v.(map[string]any)
		if !isObject { // null removes the attribute
			*to = ""
		}
		var err error
		if *to, err = mergeRaw(*to, given); err != nil {
			return nil, err
		}
	}
	if _, ok := body["metadata"]; ok {
		bad = CheckMetadata(i.Metadata)
	}
	more, err := patchVNFCs(i, raw)
	if model != nil {
		if i.VnfdID != model.ID {
			leaveVNFD(i)
		}
		setPackage(i, model, pkgID)
	}
	return append(bad, more...), err
}

// patchVNFCs applies vnfcInfoModifications.
func patchVNFCs(i *Instance, raw json.RawMessage) ([]InvalidParam, error) {
	var body struct {
		Modifications []sol.VnfcInfoModifications `json:"vnfcInfoModifications"`
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return nil, Errorf(CodeInvalid, "the body is malformed: %w", err)
	}
	if len(body.Modifications) == 0 {
		return nil, nil
	}
	info := sol.InstantiatedVnfInfo{}
	if i.Instantiated != nil {
		info = *i.Instantiated
		info.VnfcInfo = slices.Clone(info.VnfcInfo)
	}
	var bad []InvalidParam
	for n, m := range body.Modifications {
		at := slices.IndexFunc(info.VnfcInfo, func(c sol.VnfcInfo) bool { return c.ID == m.ID })
		if at < 0 {
			bad = append(bad, InvalidParam{
				fmt.Sprintf("/vnfcInfoModifications/%d/id", n),
				fmt.Sprintf("the VNF has no VNFC %q; it has %s", m.ID, listed(
					info.VnfcInfo, func(c sol.VnfcInfo) string { return c.ID },
				)),
			})
			continue
		}
		c := &info.VnfcInfo[at]
		c.VnfcConfigurableProperties = mergePairs(c.VnfcConfigurableProperties, m.VnfcConfigurableProperties)
	}
	if i.Instantiated != nil {
		i.Instantiated = &info
	}
	return bad, nil
}

// MadeFromVnfd is the member of the metadata of a vnfcResourceInfo that has the id of the VNFD from which the VNFC was
// made. VNFCs that were made from the VNFD of the instance need not have it.
const MadeFromVnfd = "vnfd_id"

// leaveVNFD records from which VNFD the VNFCs were made, before the instance gets another one. Images that were granted
// for it do not count any more.
func leaveVNFD(i *Instance) {
	if i.Assets != nil {
		assets := *i.Assets
		assets.Images = nil
		i.Assets = &assets
	}
	if i.Instantiated == nil {
		return
	}
	info := *i.Instantiated
	info.VnfcResourceInfo = slices.Clone(info.VnfcResourceInfo)
	for n := range info.VnfcResourceInfo {
		r := &info.VnfcResourceInfo[n]
		if r.Metadata[MadeFromVnfd] != nil {
			continue
		}
		if r.Metadata = maps.Clone(r.Metadata); r.Metadata == nil {
			r.Metadata = sol.KeyValuePairs{}
		}
		r.Metadata[MadeFromVnfd] = i.VnfdID
	}
	i.Instantiated = &info
}

// setPackage makes a package the instance's.
func setPackage(i *Instance, model *vnfd.VNFD, pkgID string) {
	i.VnfdID, i.VnfPkgID = model.ID, pkgID
	i.Provider, i.ProductName = model.Provider, model.ProductName
	i.SoftwareVersion, i.VnfdVersion = model.SoftwareVersion, model.Version
}

// mapping is the member of an instance's metadata that gives VNFCs their ids: for each VDU the ids by index.
const mapping = "VDU_VNFc_mapping"

// CheckMetadata checks VDU_VNFc_mapping, if the metadata has it.
func CheckMetadata(metadata sol.RawPairs) []InvalidParam {
	raw := metadata.Member(mapping)
	if raw == nil {
		return nil
	}
	const at = "/metadata/" + mapping
	var vdus map[string]any
	if json.Unmarshal(raw, &vdus) != nil || vdus == nil {
		return []InvalidParam{{at, "is not an object with a list of VNFC ids for each VDU"}}
	}
	var bad []InvalidParam
	owner := map[string]string{}
	for _, vdu := range sortedKeys(vdus) {
		here := at + "/" + Escape(vdu)
		ids, ok := vdus[vdu].([]any)
		if !ok {
			bad = append(bad, InvalidParam{here, "is not a list"})
		}
		for n, e := range ids {
			id, ok := e.(string)
			switch other, taken := owner[id]; {
			case !ok || id == "":
				bad = append(bad, InvalidParam{fmt.Sprintf("%s/%d", here, n), "is not a VNFC id"})
			case taken:
				bad = append(bad, InvalidParam{
					fmt.Sprintf("%s/%d", here, n), fmt.Sprintf("%q is listed twice, for %s and %s", id, other, vdu),
				})
			default:
				owner[id] = vdu
			}
		}
	}
	return bad
}
