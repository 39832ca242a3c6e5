package adoption

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Source is an instance as its VNFM shows it.
type Source struct {
	doc         instanceDocument
	connections map[string]connectionDocument
	operations  []operationDocument // the oldest first
	vims        []vimDocument
	request     Request
}

// The limits of the documents.
const (
	maxOperations = 200
	maxVims       = 20
)

// Pointers into the request.
const (
	atInstance   = "/vnfInstance"
	atInfo       = atInstance + "/instantiatedVnfInfo"
	atOperations = "/operations"
)

// Read reads the documents of a request. The error is a CodeUnprocessable one with pointers to what cannot be read.
func Read(req Request) (*Source, error) {
	s := &Source{request: req}
	var bad []lcm.InvalidParam
	reject := func(pointer, format string, args ...any) {
		bad = append(bad, lcm.InvalidParam{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	if req.System != Tacker {
		reject("/source/system", "is %q; only instances of %q can be adopted", req.System, Tacker)
	}
	if req.Version != 1 && req.Version != 2 {
		reject("/source/apiVersion", "is %d, and not 1 or 2", req.Version)
	}
	if err := json.Unmarshal(req.Instance, &s.doc); err != nil {
		reject(atInstance, "is not a VNF instance: %s", err)
	} else if uuid.Validate(s.doc.ID) != nil {
		reject(atInstance+"/id", "is %q, and not a UUID", s.doc.ID)
	}
	var err error
	if s.connections, err = s.doc.connections(); err != nil {
		reject(atInstance+"/vimConnectionInfo", "%s", err)
	}
	if len(req.Operations) > maxOperations || len(req.Vims) > maxVims {
		reject("", "there are more than %d operations or %d VIMs", maxOperations, maxVims)
		return nil, lcm.Unprocessable(bad...)
	}
	for n, raw := range slices.Backward(req.Operations) {
		var op operationDocument
		if err := json.Unmarshal(raw, &op); err != nil {
			reject(fmt.Sprintf("%s/%d", atOperations, n), "is not an operation occurrence: %s", err)
		} else if op.Params, err = op.params(); err != nil {
			reject(fmt.Sprintf("%s/%d/operationParams", atOperations, n), "%s", err)
		}
		s.operations = append(s.operations, op)
	}
	for n, raw := range req.Vims {
		var v vimDocument
		if err := json.Unmarshal(raw, &v); err != nil {
			reject(fmt.Sprintf("/vims/%d", n), "is not a VIM: %s", err)
		}
		s.vims = append(s.vims, v)
	}
	if len(bad) > 0 {
		return nil, lcm.Unprocessable(bad...)
	}
	return s, nil
}

// ID is the id of the instance.
func (s *Source) ID() string { return s.doc.ID }

// VnfdID is the id of its VNFD.
func (s *Source) VnfdID() string { return s.doc.VnfdID }

// Check adds to a plan what can be refused without the VIM and the package.
func (s *Source) Check(p *Plan) {
	const finish = "let the other VNFM finish, or decide with retry, rollback or fail there; then adopt the instance"
	for n, op := range slices.Backward(s.operations) {
		switch sol.LcmOperationStateType(op.State) {
		case sol.LcmOperationStateStarting, sol.LcmOperationStateProcessing, sol.LcmOperationStateRollingBack,
			sol.LcmOperationStateFailedTemp:
			at := fmt.Sprintf("%s/%d/operationState", atOperations, len(s.operations)-1-n)
			p.Refuse(at, fmt.Sprintf("operation %s (%s) of the instance is %s", op.ID, op.Operation, op.State), finish)
		default:
		}
	}
	if s.doc.State != string(sol.InstantiationStateInstantiated) || s.doc.Info == nil {
		p.Refuse(
			atInstance+"/instantiationState", fmt.Sprintf("the instance is %q, so it has no resources", s.doc.State),
			"create a new instance here",
		)
		return
	}
	if s.doc.Info.FlavourID == "" {
		p.Refuse(atInfo+"/flavourId", "is missing", "")
	}
	if _, _, ok := s.primary(); !ok {
		types := []string{}
		for _, key := range slices.Sorted(maps.Keys(s.connections)) {
			types = append(types, s.connections[key].VimType)
		}
		p.Refuse(
			atInstance+"/vimConnectionInfo",
			fmt.Sprintf("has no connection to an OpenStack; its types are %q", strings.Join(types, ", ")),
			"only VNFs of virtual machines on OpenStack can be adopted",
		)
	}
	for key := range s.request.Connections {
		if _, ok := s.connections[key]; !ok {
			p.Refuse("/vimConnections/"+lcm.Escape(key), "the instance has no VIM connection with this key", "")
		}
	}
	if s.instantiation() < 0 && len(s.linksNow()) < len(s.doc.Info.ExtLinks) {
		p.Refuse(
			atOperations, "the INSTANTIATE operation is not among the operations, and the instance does not say which "+
				"connection points its external virtual links have", "",
		)
	}
}

const openStack = "openstack"

func (c connectionDocument) isOpenStack() bool {
	return c.VimType == openStack || strings.HasPrefix(c.VimType, "ETSINFV.OPENSTACK_KEYSTONE.")
}

func (c connectionDocument) isKubernetes() bool {
	return c.VimType == kubernetes || strings.HasPrefix(c.VimType, "ETSINFV.KUBERNETES")
}

// primary is the connection to the VIM of the instance's resources. Tacker uses one only. An instance whose connection
// has been left out uses the default VIM.
func (s *Source) primary() (string, connectionDocument, bool) {
	if len(s.connections) == 0 {
		return "default", connectionDocument{VimType: openStack}, true
	}
	for _, key := range slices.Sorted(maps.Keys(s.connections)) {
		if c := s.connections[key]; c.isOpenStack() {
			return key, c, true
		}
	}
	return "", connectionDocument{}, false
}

// CheckProject refuses a VIM that leads to another project than the one that the other VNFM uses, as far as both are
// named. conn is the connection that is registered here.
func (s *Source) CheckProject(p *Plan, conn sol.VimConnectionInfo) {
	key, c, ok := s.primary()
	if !ok {
		return
	}
	theirs, _ := c.AccessInfo["project"].(string)
	for _, v := range s.vims {
		if name, _ := v.Project["name"].(string); v.ID == c.VimID && theirs == "" {
			theirs = name
		}
	}
	if tenant, _ := s.doc.Info.Metadata["tenant"].(string); theirs == "" {
		theirs = tenant
	}
	ours, _ := conn.AccessInfo["project"].(string)
	if theirs == "" || ours == "" || theirs == ours {
		return
	}
	p.Refuse(
		"/vimConnections/"+lcm.Escape(key),
		fmt.Sprintf("the VIM is project %q, and the instance's resources are in project %q", ours, theirs),
		"register the VIM with that project and name it",
	)
}

// Known are the resources that the other VNFM names.
func (s *Source) Known() lcm.KnownResources {
	k := lcm.KnownResources{Version: s.request.Version}
	k.Primary, _ = s.doc.Info.Metadata["stack_id"].(string)
	for _, r := range s.doc.Info.Resources {
		k.Machines = append(k.Machines, r.Resource.ResourceID)
	}
	return k
}

// Instance is the instance before its inventory is taken, as it would be while it is instantiated. pkg is its package.
func (s *Source) Instance(pkgID string) (*lcm.Instance, error) {
	i := &lcm.Instance{
		ID: s.doc.ID, Version: 1, Name: cmp.Or(s.request.Name, s.doc.Name), Description: s.doc.Description,
		VnfdID: s.doc.VnfdID, VnfPkgID: pkgID, State: sol.InstantiationStateNotInstantiated,
	}
	for to, pairs := range map[*sol.RawPairs]sol.KeyValuePairs{
		&i.Metadata: s.doc.Metadata, &i.Extensions: s.doc.Extensions,
		&i.ConfigurableProperties: s.doc.ConfigurableProperties,
	} {
		var err error
		if *to, err = pairs.Raw(); err != nil {
			return nil, err
		}
	}
	return i, nil
}

// VNFCs are the VNFCs that the other VNFM names, with the ids that they keep: in version 1 those of vnfcResourceInfo,
// by which its users name VNFCs in requests.
func (s *Source) VNFCs() []sol.VnfcInfo {
	var out []sol.VnfcInfo
	for _, r := range s.doc.Info.Resources {
		c := sol.VnfcInfo{ID: r.ID, VduID: r.VduID, VnfcResourceInfoID: r.Resource.ResourceID}
		at := slices.IndexFunc(s.doc.Info.VNFCs, func(v vnfcDocument) bool { return v.ResourceID == r.ID })
		if at >= 0 && s.request.Version > 1 {
			c.ID = s.doc.Info.VNFCs[at].ID
		}
		out = append(out, c)
	}
	return out
}

// Levels are the scale levels that the other VNFM shows; nil when it shows none.
func (s *Source) Levels() map[string]int {
	if len(s.doc.Info.ScaleStatus) == 0 {
		return nil
	}
	out := map[string]int{}
	for _, a := range s.doc.Info.ScaleStatus {
		out[a.AspectID] = a.ScaleLevel
	}
	return out
}
