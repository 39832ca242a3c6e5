package tacker

import (
	"encoding/json"
	"fmt"
	"slices"
)

// stackResources are the resources of a stack that the VNFD names, by kind.
type stackResources struct{ all, servers, storages, networks, ports []resource }

// inventory reads the resources of the stack that have the names of nodes of the VNFD.
func (n *VNF) inventory() stackResources {
	n.s.tb.Helper()
	out := stackResources{all: n.vim.resources(n.stack())}
	for _, r := range out.all {
		switch {
		case r.ID == "":
		case r.Type == "OS::Nova::Server" && n.flavour.VDU(r.Name) != nil:
			out.servers = append(out.servers, r)
		case r.Type == "OS::Cinder::Volume" && n.hasStorage(r.Name):
			out.storages = append(out.storages, r)
		case r.Type == "OS::Neutron::Net" && n.hasLink(r.Name):
			out.networks = append(out.networks, r)
		case r.Type == "OS::Neutron::Port" && n.flavour.CP(r.Name) != nil:
			out.ports = append(out.ports, r)
		}
	}
	return out
}

func (n *VNF) hasStorage(name string) bool {
	for _, s := range n.flavour.Storages {
		if s.Name == name {
			return true
		}
	}
	return false
}

func (n *VNF) hasLink(name string) bool {
	for _, l := range n.flavour.VLs {
		if l.Name == name {
			return true
		}
	}
	return false
}

// handle is a ResourceHandle.
func handle(connection string, r resource) obj {
	return obj{"vimConnectionId": connection, "resourceId": r.ID, "vimLevelResourceType": r.Type}
}

// together says whether a resource belongs to the same VNFC as a server.
func together(r, server resource) bool {
	return slices.Contains(r.RequiredBy, server.Name) && r.link("stack") == server.link("stack")
}

// instantiated2 is instantiatedVnfInfo of version 2, made from the stack.
func (n *VNF) instantiated2() obj {
	n.s.tb.Helper()
	found := n.inventory()
	var nfv obj
	n.s.must(json.Unmarshal([]byte(n.vim.show(n.stack()).Parameters["nfv"]), &nfv))
	info := obj{
		"flavourId": n.flavour.ID, "vnfState": "STARTED",
		"scaleStatus": n.scaleStatus(false), "maxScaleLevels": n.scaleStatus(true),
		"metadata": obj{"stack_id": n.StackID, "nfv": nfv, "tenant": n.vim.project()},
	}
	vnfcs, infos := n.vnfcs2(found, nfv)
	info["vnfcResourceInfo"], info["vnfcInfo"] = vnfcs, infos
	links, cps := n.externalLinks2(found)
	info["extVirtualLinkInfo"], info["extCpInfo"] = links, cps
	if internal := n.internalLinks2(found); len(internal) > 0 {
		info["vnfVirtualLinkResourceInfo"] = internal
	}
	var storages []obj
	for _, r := range found.storages {
		storages = append(storages, obj{
			"id": r.ID, "virtualStorageDescId": r.Name, "storageResource": handle(key, r),
			"metadata": obj{"stack_id": r.link("stack")},
		})
	}
	if len(storages) > 0 {
		info["virtualStorageResourceInfo"] = storages
	}
	return info
}

// vnfcs2 are vnfcResourceInfo and vnfcInfo, the last VNFC first.
func (n *VNF) vnfcs2(found stackResources, nfv obj) (resources, infos []obj) {
	servers := sorted(slices.Clone(found.servers), func(r resource) string {
		at := 0
		if up := parent(r, found.all); up != nil {
			at, _ = index(up.Name)
		}
		return fmt.Sprintf("%06d %s", at, r.Created)
	})
	slices.Reverse(servers)
	for _, server := range servers {
		metadata := obj{"creation_time": server.Created, "stack_id": server.link("stack")}
		entry := server.Name
		if up := parent(server, found.all); up != nil {
			if at, ok := index(up.Name); ok {
				metadata["vdu_idx"], entry = at, up.Name
			}
		}
		metadata["flavor"] = member(member(nfv, "VDU"), entry)["computeFlavourId"]
		if image := member(member(nfv, "VDU"), entry)["vcImageId"]; image != nil {
			metadata["image-"+entry] = image
		}
		vnfc := obj{
			"id": server.ID, "vduId": server.Name, "computeResource": handle(key, server), "metadata": metadata,
		}
		var storages []string
		for _, r := range found.storages {
			if together(r, server) {
				storages = append(storages, r.ID)
			}
		}
		if storages != nil {
			vnfc["storageResourceIds"] = storages
		}
		if cps := n.vnfcCPs2(found, server); cps != nil {
			vnfc["vnfcCpInfo"] = cps
		}
		resources = append(resources, vnfc)
		infos = append(infos, obj{
			"id": server.Name + "-" + server.ID, "vduId": server.Name, "vnfcResourceInfoId": server.ID,
			"vnfcState": "STARTED",
		})
	}
	return resources, infos
}

// parent is the resource whose nested stack a resource is in; nil if it is in the stack itself.
func parent(r resource, all []resource) *resource {
	for i, up := range all {
		if nested := up.link("nested"); nested != "" && nested == r.link("stack") {
			return &all[i]
		}
	}
	return nil
}

// vnfcCPs2 is vnfcCpInfo of a server.
func (n *VNF) vnfcCPs2(found stackResources, server resource) []obj {
	var out []obj
	for _, cp := range n.flavour.CPs {
		if cp.VDU != server.Name {
			continue
		}
		info := obj{"id": cp.Name + "-" + server.ID, "cpdId": cp.Name}
		for _, port := range found.ports {
			switch {
			case port.Name != cp.Name || !together(port, server):
			case cp.VL == "":
				info["vnfExtCpId"] = "cp-" + port.ID
			default:
				info["vnfLinkPortId"] = port.ID
			}
		}
		out = append(out, info)
	}
	return out
}

// vnfcOf is the id of the vnfcCpInfo that a port belongs to; "" if there is none.
func (n *VNF) vnfcOf(found stackResources, port resource) string {
	for _, server := range found.servers {
		if cp := n.flavour.CP(port.Name); cp.VDU == server.Name && together(port, server) {
			return port.Name + "-" + server.ID
		}
	}
	return ""
}

// externalLinks2 are extVirtualLinkInfo and extCpInfo.
func (n *VNF) externalLinks2(found stackResources) (links, cps []obj) {
	for _, l := range n.request.ExtVirtualLinks {
		link := obj{
			"id": l.ID, "resourceHandle": obj{"resourceId": l.ResourceID}, "currentVnfExtCpData": l.ExtCps,
		}
		ports := []obj{}
		for _, port := range found.ports {
			if n.flavour.CP(port.Name).VL != "" {
				continue
			}
			for _, cp := range l.ExtCps {
				if cp.CpdID != port.Name {
					continue
				}
				ports = append(ports, obj{
					"id": port.ID, "resourceHandle": handle(key, port), "cpInstanceId": "cp-" + port.ID,
				})
				info := obj{"id": "cp-" + port.ID, "cpdId": cp.CpdID, "extLinkPortId": port.ID}
				if of := n.vnfcOf(found, port); of != "" {
					info["associatedVnfcCpId"] = of
				}
				for key, config := range cp.CpConfig {
					info["cpConfigId"] = key
					info["cpProtocolInfo"] = protocolInfo(object(config))
				}
				cps = append(cps, info)
			}
		}
		link["extLinkPorts"] = ports
		links = append(links, link)
	}
	return links, cps
}

// protocolInfo turns the protocol data of a configuration into those of an instance. The addresses that Neutron has
// given are not read.
func protocolInfo(config obj) []obj {
	var out []obj
	list, _ := config["cpProtocolData"].([]any)
	for _, p := range list {
		info := obj{"layerProtocol": p.(obj)["layerProtocol"]}
		ips, _ := member(p.(obj), "ipOverEthernet")["ipAddresses"].([]any)
		addresses := []obj{}
		for _, a := range ips {
			given := a.(obj)
			address := obj{"type": given["type"]}
			if given["fixedAddresses"] != nil {
				address["addresses"] = given["fixedAddresses"]
			}
			if given["numDynamicAddresses"] != nil {
				address["isDynamic"] = true
			}
			if given["subnetId"] != nil {
				address["subnetId"] = given["subnetId"]
			}
			addresses = append(addresses, address)
		}
		if ips != nil {
			info["ipOverEthernet"] = obj{"ipAddresses": addresses}
		}
		out = append(out, info)
	}
	return out
}

// internalLinks2 is vnfVirtualLinkResourceInfo.
func (n *VNF) internalLinks2(found stackResources) []obj {
	var out []obj
	for _, network := range found.networks {
		ports := []obj{}
		for _, port := range found.ports {
			if n.flavour.CP(port.Name).VL != network.Name {
				continue
			}
			info := obj{"id": port.ID, "resourceHandle": handle(key, port), "cpInstanceType": "EXT_CP"}
			if of := n.vnfcOf(found, port); of != "" {
				info["cpInstanceType"], info["cpInstanceId"] = "VNFC_CP", of
			}
			ports = append(ports, info)
		}
		out = append(out, obj{
			"id": network.ID, "vnfVirtualLinkDescId": network.Name, "networkResource": handle(key, network),
			"vnfLinkPorts": ports,
		})
	}
	return out
}
