package tacker

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// timeoutMinutes is what Tacker gives Heat for a stack, unless it is configured otherwise.
const timeoutMinutes = 20

// Standard instantiates a package by version 2 with the class StandardUserData: one resource per VNFC, named by its VDU
// and its index.
func (v *VIM) Standard(p *Package, name string, req sol.InstantiateVnfRequest) *VNF {
	v.s.tb.Helper()
	n := v.newVNF(p, 2, req)
	n.StackName = "vnf-" + n.ID
	template, files := n.baseHOT()
	added := map[string][]int{}
	for _, vdu := range n.flavour.VDUs {
		for i := range n.count(vdu.Name) {
			added[vdu.Name] = append(added[vdu.Name], i)
		}
	}
	nfv := n.indexed(template, added)
	if more, ok := req.AdditionalParams["nfv"]; ok {
		nfv = merge(nfv, object(obj{"nfv": more})["nfv"]).(obj)
	}
	n.StackID = v.create(n.StackName, obj{
		"template": dump(template), "parameters": obj{"nfv": nfv}, "files": files, "timeout_mins": timeoutMinutes,
	}).ID
	doc := n.base(name)
	doc["vimConnectionInfo"] = obj{key: v.connection()}
	doc["instantiatedVnfInfo"] = n.instantiated2()
	doc["_links"] = n.links()
	n.put(doc)
	n.AddOperation("INSTANTIATE", "COMPLETED", req)
	return n
}

// indexed takes the resources of the VDUs out of the template, puts in one for each of the added VNFCs, and returns the
// parameter nfv for the resources that the template then has.
func (n *VNF) indexed(template obj, added map[string][]int) obj {
	n.s.tb.Helper()
	resources := member(template, "resources")
	for _, vdu := range n.flavour.VDUs {
		of, ok := resources[vdu.Name].(obj)
		if !ok {
			n.s.tb.Fatalf("the template has no resource %s", vdu.Name)
		}
		delete(resources, vdu.Name)
		for _, i := range added[vdu.Name] {
			one := clone(of)
			for _, property := range member(one, "properties") {
				whole, ok := property.(obj)
				if !ok {
					n.s.tb.Fatalf("resource %s has a plain value, for which Tacker's class fails", vdu.Name)
				}
				list, ok := whole["get_param"].([]any)
				if ok && len(list) >= 4 {
					list[2] = fmt.Sprintf("%s-%d", list[2], i)
				}
			}
			resources[fmt.Sprintf("%s-%d", vdu.Name, i)] = one
		}
	}
	nfv := skeleton(resources)
	n.fill(nfv, withoutIndex)
	return nfv
}

// Scale scales the instance as Tacker does, with the operation occurrence, and returns its id. Where Heat fails, the
// operation is FAILED_TEMP and the instance stays as it was.
func (n *VNF) Scale(direction sol.ScaleType, aspect string, steps int) string {
	n.s.tb.Helper()
	params := obj{"type": direction, "aspectId": aspect, "numberOfSteps": steps}
	if additional := n.request.AdditionalParams; additional != nil {
		params["additionalParams"] = additional
	}
	before := n.levels[aspect]
	if n.scaleStack(direction, aspect, steps) {
		n.refresh()
		return n.AddOperation("SCALE", "COMPLETED", params)
	}
	n.levels[aspect] = before
	return n.AddOperation("SCALE", "FAILED_TEMP", params)
}

// ScaleUnrecorded scales the stack alone, so that Tacker does not know the servers that came, or names some that went.
func (n *VNF) ScaleUnrecorded(direction sol.ScaleType, aspect string, steps int) {
	n.s.tb.Helper()
	if !n.scaleStack(direction, aspect, steps) {
		n.s.tb.Fatalf("stack %s could not be scaled", n.StackName)
	}
}

// BeginUpdate starts an update of the stack that changes nothing, and does not wait for its end.
func (n *VNF) BeginUpdate() {
	n.s.tb.Helper()
	n.s.must(n.vim.call(http.MethodPatch, "stacks/"+n.stack(), obj{"existing": true}, nil))
}

// DeleteServer deletes the server of the i-th vnfcResourceInfo in Nova; Heat and Tacker do not know of it.
func (n *VNF) DeleteServer(i int) string {
	n.s.tb.Helper()
	list := member(n.Instance(), "instantiatedVnfInfo")["vnfcResourceInfo"].([]any)
	id := member(list[i].(obj), "computeResource")["resourceId"].(string)
	n.vim.deleteServer(id)
	return id
}

// refresh reads the stack again into the instance.
func (n *VNF) refresh() {
	n.s.tb.Helper()
	n.Change(func(doc obj) {
		if n.Version == 1 {
			doc["instantiatedVnfInfo"] = n.instantiated1()
		} else {
			doc["instantiatedVnfInfo"] = n.instantiated2()
		}
	})
}

// scaleStack changes the stack, and the levels. It returns false if Heat failed.
func (n *VNF) scaleStack(direction sol.ScaleType, aspect string, steps int) bool {
	n.s.tb.Helper()
	was := map[string]int{} // VNFCs by VDU
	for _, vdu := range n.flavour.VDUs {
		was[vdu.Name] = n.count(vdu.Name)
	}
	if n.Version == 1 {
		return n.signal(direction, aspect, steps)
	}
	if direction == sol.ScaleTypeOut {
		n.levels[aspect] += steps
	} else {
		n.levels[aspect] -= steps
	}
	template := obj{"resources": obj{}}
	var nfv obj
	if direction == sol.ScaleTypeOut {
		template, _ = n.baseHOT()
		added := map[string][]int{}
		for _, vdu := range n.flavour.VDUs {
			for i := was[vdu.Name]; i < n.count(vdu.Name); i++ {
				added[vdu.Name] = append(added[vdu.Name], i)
			}
		}
		nfv = n.indexed(template, added)
	} else {
		vdus, cps := obj{}, obj{}
		for _, vdu := range n.flavour.VDUs {
			for i := n.count(vdu.Name); i < was[vdu.Name]; i++ {
				member(template, "resources")[fmt.Sprintf("%s-%d", vdu.Name, i)] = nil
				vdus[fmt.Sprintf("%s-%d", vdu.Name, i)] = nil
				for _, storage := range vdu.Storages {
					vdus[fmt.Sprintf("%s-%d", storage, i)] = nil
				}
				for _, cp := range n.flavour.CPs {
					if cp.VDU == vdu.Name {
						cps[fmt.Sprintf("%s-%d", cp.Name, i)] = nil
					}
				}
			}
		}
		nfv = obj{"VDU": vdus, "CP": cps}
	}
	return strings.HasSuffix(n.vim.update(n.stack(), template, nfv).Status, "_COMPLETE")
}

// links are those of version 2.
func (n *VNF) links() obj {
	self := fmt.Sprintf("%s/vnflcm/v2/vnf_instances/%s", n.s.URL, n.ID)
	links := obj{"self": obj{"href": self}}
	for name, task := range map[string]string{
		"terminate": "terminate", "scale": "scale", "heal": "heal", "changeExtConn": "change_ext_conn",
	} {
		links[name] = obj{"href": self + "/" + task}
	}
	return links
}
