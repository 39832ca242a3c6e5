package tacker

import (
	"time"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// VNF is an instance of Tacker that is instantiated.
type VNF struct {
	ID      string
	Version int
	Package *Package
	// StackName and StackID identify its stack in Heat.
	StackName, StackID string

	s       *Server
	vim     *VIM
	flavour *vnfd.Flavour
	request sol.InstantiateVnfRequest
	levels  map[string]int // of the stack: scale level by aspect
	// names are the ids that version 1 gives, by what they stand for in the VIM.
	names map[string]string
}

// stack is what requests for the stack begin with.
func (n *VNF) stack() string { return n.StackName + "/" + n.StackID }

// named returns the id of version 1 for a thing; it stays the same.
func (n *VNF) named(kind, id string) string {
	key := kind + " " + id
	if n.names[key] == "" {
		n.names[key] = uuid.NewString()
	}
	return n.names[key]
}

// newVNF makes an instance that is not in the server yet.
func (v *VIM) newVNF(p *Package, version int, req sol.InstantiateVnfRequest) *VNF {
	v.s.tb.Helper()
	n := &VNF{
		ID: uuid.NewString(), Version: version, Package: p, s: v.s, vim: v, flavour: p.Model.Flavour(req.FlavourID),
		request: req, levels: map[string]int{}, names: map[string]string{},
	}
	if n.flavour == nil {
		v.s.tb.Fatalf("the package has no flavour %q", req.FlavourID)
	}
	level := req.InstantiationLevelID
	if level == "" {
		level = n.flavour.DefaultLevel
	}
	for _, a := range n.flavour.Aspects {
		n.levels[a.ID] = 0
		if l := n.flavour.Level(level); l != nil {
			n.levels[a.ID] = l.ScaleLevels[a.ID]
		}
	}
	return n
}

// base is the instance with the members that do not depend on its stack.
func (n *VNF) base(name string) obj {
	m := n.Package.Model
	return obj{
		"id": n.ID, "vnfInstanceName": name, "vnfInstanceDescription": "made by Tacker", "vnfdId": m.ID,
		"vnfProvider": m.Provider, "vnfProductName": m.ProductName, "vnfSoftwareVersion": m.SoftwareVersion,
		"vnfdVersion": m.Version, "instantiationState": "INSTANTIATED",
	}
}

// put stores the instance in the server.
func (n *VNF) put(doc obj) {
	n.s.mu.Lock()
	defer n.s.mu.Unlock()
	n.s.instances[n.ID] = &record{n.Version, clone(doc)}
}

// Instance is the instance as Tacker shows it.
func (n *VNF) Instance() map[string]any {
	n.s.mu.Lock()
	defer n.s.mu.Unlock()
	return clone(n.s.instances[n.ID].doc)
}

// Change changes the instance as Tacker shows it.
func (n *VNF) Change(change func(map[string]any)) {
	doc := n.Instance()
	change(doc)
	n.put(doc)
}

// AddOperation adds an operation occurrence that began now, with the parameters of its request, and returns its id. An
// operation that is FAILED_TEMP or FAILED has an error.
func (n *VNF) AddOperation(kind, state string, params any) string {
	id := uuid.NewString()
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")
	doc := obj{
		"id": id, "operationState": state, "stateEnteredTime": now, "startTime": now, "vnfInstanceId": n.ID,
		"operation": kind, "isAutomaticInvocation": false, "isCancelPending": false,
	}
	if kind != "MODIFY_INFO" {
		doc["grantId"] = uuid.NewString()
	}
	if params != nil {
		doc["operationParams"] = withoutPasswords(object(params))
	}
	if state == "FAILED_TEMP" || state == "FAILED" {
		doc["error"] = obj{"title": "Stack update failed", "status": 422, "detail": "The stack has failed."}
	}
	n.s.mu.Lock()
	defer n.s.mu.Unlock()
	n.s.operations = append(n.s.operations, &operation{n.Version, doc})
	return id
}

// SetOperation changes the state of an operation occurrence, such as to FAILED after Tacker's task fail.
func (n *VNF) SetOperation(id, state string) {
	n.s.mu.Lock()
	defer n.s.mu.Unlock()
	for _, o := range n.s.operations {
		if o.doc["id"] == id {
			o.doc["operationState"] = state
		}
	}
}

// withoutPasswords leaves out the secrets of VIMs, as Tacker does. Those of nodes in additionalParams stay.
func withoutPasswords(params obj) obj {
	connections, _ := params["vimConnectionInfo"].(obj)
	for _, c := range connections {
		if access, ok := c.(obj)["accessInfo"].(obj); ok {
			delete(access, "password")
			delete(access, "bearer_token")
			delete(access, "client_secret")
		}
	}
	return params
}

// count is the number of VNFCs of a VDU that the scale levels give.
func (n *VNF) count(vdu string) int {
	counts, _ := n.flavour.Counts(n.request.InstantiationLevelID)
	total := counts[vdu]
	for _, a := range n.flavour.Aspects {
		from := 0
		if l := n.flavour.Level(n.level()); l != nil {
			from = l.ScaleLevels[a.ID]
		}
		for i := from; i < n.levels[a.ID]; i++ {
			total += a.Steps[i][vdu]
		}
		for i := n.levels[a.ID]; i < from; i++ {
			total -= a.Steps[i][vdu]
		}
	}
	return total
}

// level is the instantiation level.
func (n *VNF) level() string {
	if n.request.InstantiationLevelID != "" {
		return n.request.InstantiationLevelID
	}
	return n.flavour.DefaultLevel
}

// scaleStatus is scaleStatus, or maxScaleLevels.
func (n *VNF) scaleStatus(highest bool) []obj {
	var out []obj
	for _, a := range n.flavour.Aspects {
		level := n.levels[a.ID]
		if highest {
			level = a.MaxScaleLevel
		}
		out = append(out, obj{"aspectId": a.ID, "scaleLevel": level})
	}
	return out
}
