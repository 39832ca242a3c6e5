package adoption

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/v1"
)

// Request is the request that would make the instance as it is: an InstantiateVnfRequest of version 2. It has the
// parameters of the instantiation with those of later changes over them.
func (s *Source) Request() (json.RawMessage, error) {
	req := sol.InstantiateVnfRequest{
		FlavourID: s.doc.Info.FlavourID, LocalizationLanguage: s.doc.Info.Language,
		VimConnectionInfo: map[string]sol.VimConnectionInfo{}, AdditionalParams: sol.KeyValuePairs{},
	}
	if key, _, ok := s.primary(); ok && s.request.Connections[key] != "" {
		req.VimConnectionInfo[key] = sol.VimConnectionInfo{
			VimID: s.request.Connections[key], VimType: "ETSINFV.OPENSTACK_KEYSTONE.V_3",
		}
	}
	began := s.instantiation()
	if began < 0 {
		req.AdditionalParams = paramsOf(s.doc.Info.AdditionalParams)
	}
	for _, op := range s.operations[max(began, 0):] {
		given, err := s.given(op)
		if err != nil {
			return nil, err
		}
		switch sol.LcmOperationType(op.Operation) {
		case sol.LcmOperationInstantiate, sol.LcmOperationChangeVnfpkg, sol.LcmOperationChangeFlavour:
			req.InstantiationLevelID = given.InstantiationLevelID
			req.AdditionalParams = merged(req.AdditionalParams, paramsOf(given.AdditionalParams))
			req.ExtVirtualLinks = lcm.MergeLinks(req.ExtVirtualLinks, given.ExtVirtualLinks)
		case sol.LcmOperationChangeExtConn:
			req.ExtVirtualLinks = lcm.MergeLinks(req.ExtVirtualLinks, given.ExtVirtualLinks)
		default:
		}
	}
	if links := s.linksNow(); len(links) == len(s.doc.Info.ExtLinks) && len(links) > 0 {
		req.ExtVirtualLinks = links
	}
	for _, l := range s.doc.Info.ManagedLinks {
		req.ExtManagedVirtualLinks = append(req.ExtManagedVirtualLinks, sol.ExtManagedVirtualLinkData{
			ID: l.ID, VnfVirtualLinkDescID: l.VnfVirtualLinkDescID, ResourceID: l.NetworkResource.ResourceID,
			ResourceProviderID: l.NetworkResource.ResourceProviderID,
		})
	}
	if len(s.request.AdditionalParams) > 0 {
		var more map[string]any
		if err := json.Unmarshal(s.request.AdditionalParams, &more); err != nil {
			return nil, lcm.Unprocessable(
				lcm.InvalidParam{Pointer: "/additionalParams", Detail: "is not an object: " + err.Error()},
			)
		}
		req.AdditionalParams = merged(req.AdditionalParams, more)
	}
	return json.Marshal(req)
}

func merged(params sol.KeyValuePairs, over map[string]any) sol.KeyValuePairs {
	out, _ := lcm.MergePatch(map[string]any(params), over).(map[string]any)
	return out
}

// instantiation is the index of the operation that made the instance's resources; -1 when it is not known.
func (s *Source) instantiation() int {
	for n, op := range slices.Backward(s.operations) {
		if op.effective() && op.Operation == string(sol.LcmOperationInstantiate) {
			return n
		}
	}
	return -1
}

// effective says whether an operation has had its effect.
func (d operationDocument) effective() bool {
	return d.State == string(sol.LcmOperationStateCompleted) && len(d.Params) > 0
}

// given is the request of an operation in the form of version 2; its zero value for an operation without effect.
func (s *Source) given(op operationDocument) (sol.InstantiateVnfRequest, error) {
	var req sol.InstantiateVnfRequest
	if !op.effective() {
		return req, nil
	}
	raw := op.Params
	var err error
	if s.request.Version == 1 {
		var t *v1.Translation
		raw = without(raw, "vimConnectionInfo", "numberOfSteps", "vnfcInstanceId")
		if t, err = v1.Request(raw, noNames{}); err == nil {
			raw = t.Body
		}
	}
	if err == nil {
		err = json.Unmarshal(without(raw, "vimConnectionInfo"), &req)
	}
	if err != nil {
		return req, lcm.Unprocessable(lcm.InvalidParam{
			Pointer: atOperations, Detail: fmt.Sprintf("the parameters of operation %s cannot be read: %s", op.ID, err),
		})
	}
	return req, nil
}

// without is an object without some members.
func without(raw json.RawMessage, names ...string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return raw
	}
	for _, name := range names {
		delete(object, name)
	}
	out, err := json.Marshal(object)
	if err != nil {
		return raw
	}
	return out
}

// noNames are the names of a VNF whose parts have none yet.
type noNames struct{}

func (noNames) VNFC(string) (string, bool)       { return "", false }
func (noNames) CpConfig(string) (string, bool)   { return "", false }
func (noNames) CpConfigOf(string) (string, bool) { return "", false }

// linksNow are the external virtual links for which the instance says which connection points they have.
func (s *Source) linksNow() []sol.ExtVirtualLinkData {
	var out []sol.ExtVirtualLinkData
	for _, l := range s.doc.Info.ExtLinks {
		var cps []sol.VnfExtCpData
		if json.Unmarshal(l.CPs, &cps) != nil || len(cps) == 0 {
			continue
		}
		link := sol.ExtVirtualLinkData{
			ID: l.ID, ResourceID: l.Resource.ResourceID, ResourceProviderID: l.Resource.ResourceProviderID, ExtCps: cps,
		}
		for _, p := range l.Ports {
			// Ports that the consumer has made: their ids get a prefix in Tacker, but not where they are used.
			id := strings.TrimPrefix(p.ID, "req-")
			if usesPort(cps, id) {
				link.ExtLinkPorts = append(
					link.ExtLinkPorts, sol.ExtLinkPortData{ID: id, ResourceHandle: p.ResourceHandle},
				)
			}
		}
		out = append(out, link)
	}
	return out
}

func usesPort(cps []sol.VnfExtCpData, id string) bool {
	return slices.ContainsFunc(cps, func(cp sol.VnfExtCpData) bool {
		for _, c := range cp.CpConfig {
			if c.LinkPortID == id {
				return true
			}
		}
		return false
	})
}

// Pointer leads from a member of Request's result to the member of the adoption's request that it comes from.
func (s *Source) Pointer(pointer string) string {
	key, _, _ := s.primary()
	switch {
	case strings.HasPrefix(pointer, "/additionalParams"):
		return pointer
	case strings.HasPrefix(pointer, "/vimConnectionInfo"):
		return "/vimConnections/" + lcm.Escape(key)
	case strings.HasPrefix(pointer, "/flavourId"):
		return atInfo + "/flavourId"
	case strings.HasPrefix(pointer, "/extManagedVirtualLinks"):
		return atInfo + "/extManagedVirtualLinkInfo"
	case strings.HasPrefix(pointer, "/extVirtualLinks"):
		if len(s.linksNow()) > 0 {
			return atInfo + "/extVirtualLinkInfo"
		}
		return atOperations
	}
	return atInstance
}
