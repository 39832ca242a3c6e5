package tacker

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// creationMinutes is what version 1 gives Heat for a stack: 60 attempts with 10 seconds in between.
const creationMinutes = 10

// Groups instantiates a package by version 1 with the class KubernetesClusterUserData, or another that gives the same
// parameters: VNFCs are members of groups. Its templates ask for flavours and images by the names of version 1
// (Server.Version1). The request is in the form of version 2.
func (v *VIM) Groups(p *Package, name string, req sol.InstantiateVnfRequest) *VNF {
	v.s.tb.Helper()
	n := v.newVNF(p, 1, req)
	n.StackName = "vnflcm_" + n.ID
	template, files := n.baseHOT()
	n.StackID = v.create(n.StackName, obj{
		"template": dump(template), "parameters": obj{"nfv": n.parameters1(template)}, "files": files,
		"timeout_mins": creationMinutes,
	}).ID
	doc := n.base(name)
	doc["vnfInstanceDescription"] = nil
	doc["vnfPkgId"] = p.ID
	doc["vimConnectionInfo"] = []obj{{
		"id": uuid.NewString(), "vimId": v.ID, "vimType": "openstack", "interfaceInfo": obj{}, "accessInfo": obj{},
	}}
	doc["instantiatedVnfInfo"] = n.instantiated1()
	self := "/vnflcm/v1/vnf_instances/" + n.ID
	doc["_links"] = obj{
		"self": obj{"href": self}, "terminate": obj{"href": self + "/terminate"}, "heal": obj{"href": self + "/heal"},
		"changeExtConn": obj{"href": self + "/change_ext_conn"},
	}
	n.put(doc)
	n.AddOperation("INSTANTIATE", "COMPLETED", n.request1())
	return n
}

// request1 is the request in the form of version 1: lists in place of maps.
func (n *VNF) request1() obj {
	params := object(n.request)
	params["vimConnectionInfo"] = []obj{{"id": uuid.NewString(), "vimId": n.vim.ID, "vimType": "openstack"}}
	links, _ := params["extVirtualLinks"].([]any)
	for _, l := range links {
		cps, _ := l.(obj)["extCps"].([]any)
		for _, cp := range cps {
			var configs []any
			for _, config := range member(cp.(obj), "cpConfig") {
				configs = append(configs, config)
			}
			cp.(obj)["cpConfig"] = configs
		}
	}
	return params
}

// parameters1 are the leaves that the class gives: for each VDU, storage or CP that a server, a port, a volume or the
// members of a group name in a get_param with four items.
func (n *VNF) parameters1(template obj) obj {
	vdus, cps := obj{}, obj{}
	for _, r := range member(template, "resources") {
		properties := member(r.(obj), "properties")
		switch r.(obj)["type"] {
		case "OS::Nova::Server", "OS::Neutron::Port", "OS::Cinder::Volume":
		case "OS::Heat::AutoScalingGroup":
			properties = member(member(properties, "resource"), "properties")
		default:
			continue
		}
		for _, p := range properties {
			whole, _ := p.(obj)
			list, _ := whole["get_param"].([]any)
			if len(list) != 4 || list[0] != "nfv" {
				continue
			}
			switch name := text(list[2]); list[1] {
			case "VDU":
				vdus[name] = obj{"flavor": n.computeFlavour(name), "image": n.image(name)}
			case "CP":
				cps[name] = obj{"network": n.network(name)}
			}
		}
	}
	return obj{"VDU": vdus, "CP": cps}
}

// signal scales a group by its scaling policy, as version 1 does. It returns false if Heat failed.
func (n *VNF) signal(direction sol.ScaleType, aspect string, steps int) bool {
	n.s.tb.Helper()
	policy := aspect + "_scale_out"
	if direction == sol.ScaleTypeIn {
		policy = aspect + "_scale_in"
	}
	for range steps {
		if direction == sol.ScaleTypeOut {
			n.levels[aspect]++
		} else {
			n.levels[aspect]--
		}
		path := fmt.Sprintf("stacks/%s/resources/%s/signal", n.stack(), policy)
		n.s.must(n.vim.call(http.MethodPost, path, obj{}, nil))
		if !n.grown() {
			return false
		}
	}
	return true
}

// grown waits until the groups have the members that the levels give. The stack itself does not show that a group
// changes. It returns false if something in the stack has failed.
func (n *VNF) grown() bool {
	n.s.tb.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for {
		found, done := n.inventory(), true
		for _, r := range found.all {
			if strings.HasSuffix(r.Status, "_FAILED") {
				return false
			}
			done = done && strings.HasSuffix(r.Status, "_COMPLETE")
		}
		have := map[string]int{}
		for _, server := range found.servers {
			have[server.Name]++
		}
		for _, vdu := range n.flavour.VDUs {
			done = done && have[vdu.Name] == n.count(vdu.Name)
		}
		if done {
			return true
		}
		select {
		case <-tick.C:
		case <-end:
			n.s.tb.Fatalf("the groups of stack %s have the servers %v after %s", n.StackName, have, patience)
		}
	}
}

// instantiated1 is instantiatedVnfInfo of version 1. Its ids are of Tacker, and only computeResource and
// resourceHandle have those of the VIM; absent members are null.
func (n *VNF) instantiated1() obj {
	n.s.tb.Helper()
	found := n.inventory()
	info := obj{
		"flavourId": n.flavour.ID, "vnfState": "STARTED", "scaleStatus": n.scaleStatus(false),
		"additionalParams": camel(object(n.request)["additionalParams"]),
	}
	var vnfcs, infos []obj
	for _, server := range found.servers {
		cps := []obj{}
		for _, cp := range n.flavour.CPs {
			for _, port := range found.ports {
				if cp.VDU == server.Name && port.Name == cp.Name && together(port, server) {
					cps = append(cps, obj{
						"id": n.named("cp", port.ID), "cpdId": cp.Name, "vnfExtCpId": n.link1(cp.Name),
						"vnfLinkPortId": n.named("port", port.ID),
					})
				}
			}
		}
		storages := []string{}
		for _, r := range found.storages {
			if together(r, server) {
				storages = append(storages, n.named("storage", r.ID))
			}
		}
		vnfcs = append(vnfcs, obj{
			"id": n.named("vnfc", server.ID), "vduId": server.Name, "computeResource": handle(n.vim.ID, server),
			"storageResourceIds": storages, "vnfcCpInfo": cps,
		})
		infos = append(infos, obj{
			"id": n.named("vnfcInfo", server.ID), "vduId": server.Name, "vnfcState": "STARTED",
		})
	}
	info["vnfcResourceInfo"], info["vnfcInfo"] = vnfcs, infos
	var storages []obj
	for _, r := range found.storages {
		storages = append(storages, obj{
			"id": n.named("storage", r.ID), "virtualStorageDescId": r.Name, "storageResource": handle(n.vim.ID, r),
		})
	}
	if storages != nil {
		info["virtualStorageResourceInfo"] = storages
	}
	var external, internal, cps []obj
	for _, l := range n.request.ExtVirtualLinks {
		external = append(external, obj{"id": l.ID, "resourceHandle": obj{
			"vimConnectionId": nil, "resourceId": l.ResourceID, "vimLevelResourceType": nil,
		}})
		ports := []obj{}
		for _, cp := range l.ExtCps {
			for _, port := range found.ports {
				if port.Name == cp.CpdID {
					ports = append(ports, obj{
						"id": n.named("port", port.ID), "resourceHandle": handle(n.vim.ID, port),
						"cpInstanceId": n.named("cp", port.ID),
					})
				}
			}
			cps = append(cps, obj{
				"id": n.named("extCp", l.ID+cp.CpdID), "cpdId": cp.CpdID, "extLinkPortId": nil,
				"associatedVnfcCpId": n.named("vnfcOfCp", cp.CpdID), "cpProtocolInfo": []obj{},
			})
		}
		internal = append(internal, obj{
			"id": n.named("link", l.ID), "vnfVirtualLinkDescId": l.ID,
			"networkResource": obj{
				"vimConnectionId": nil, "resourceId": l.ResourceID, "vimLevelResourceType": "OS::Neutron::Net",
			},
			"vnfLinkPorts": ports,
		})
	}
	info["extVirtualLinkInfo"], info["vnfVirtualLinkResourceInfo"], info["extCpInfo"] = external, internal, cps
	return info
}

// link1 is what version 1 has as vnfExtCpId: the id of the external link.
func (n *VNF) link1(cpd string) any {
	for _, l := range n.request.ExtVirtualLinks {
		for _, cp := range l.ExtCps {
			if cp.CpdID == cpd {
				return l.ID
			}
		}
	}
	return nil
}

// camel turns names such as script_path into scriptPath, as version 1 shows parameters.
func camel(v any) any {
	switch v := v.(type) {
	case obj:
		out := obj{}
		for name, value := range v {
			parts := strings.Split(name, "_")
			for i := 1; i < len(parts); i++ {
				if parts[i] != "" {
					parts[i] = strings.ToUpper(parts[i][:1]) + parts[i][1:]
				}
			}
			out[strings.Join(parts, "")] = camel(value)
		}
		return out
	case []any:
		for i := range v {
			v[i] = camel(v[i])
		}
	}
	return v
}
