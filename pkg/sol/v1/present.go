package v1

import "bytes"

// The names that clients of version 1 have for types of VIMs.
const (
	openStack  = "openstack"
	kubernetes = "kubernetes"
)

// helm is the type of version 2 of clusters with Helm charts, which are "kubernetes" in version 1 as well.
const helm = "ETSINFV.HELM.V_3"

// vimTypes are the types of version 2 by those names.
var vimTypes = map[string]string{
	openStack: "ETSINFV.OPENSTACK_KEYSTONE.V_3", kubernetes: "ETSINFV.KUBERNETES.V_1",
}

// The shapes of what has another form.
var (
	connections  = &shape{rewrite: listConnections}
	cpData       = &shape{elements: &shape{members: map[string]*shape{"cpConfig": {rewrite: listConfigs}}}}
	changedInfo  = &shape{members: map[string]*shape{"vimConnectionInfo": connections}}
	connectivity = &shape{elements: &shape{members: map[string]*shape{"currentVnfExtCpData": cpData}}}

	instance = &shape{members: map[string]*shape{
		"vimConnectionInfo": connections, "instantiatedVnfInfo": {rewrite: addParams},
	}}
	instantiated = &shape{members: map[string]*shape{"extVirtualLinkInfo": connectivity}}
	operation    = &shape{members: map[string]*shape{
		"operationParams": {members: map[string]*shape{
			"vimConnectionInfo": connections,
			"extVirtualLinks":   {elements: &shape{members: map[string]*shape{"extCps": cpData}}},
		}},
		"changedInfo": changedInfo, "changedExtConnectivity": connectivity,
	}}
	vimConnection = &shape{members: map[string]*shape{"vimType": {rewrite: nameType}}}
)

// Instance appends attributes of a VNF instance in the form of version 1 to dst. details is a JSON object with
// attributes of sol.VnfInstance. params, a result of AdditionalParams, become instantiatedVnfInfo.additionalParams; nil
// for none.
func Instance(dst, details, params []byte) []byte {
	r := rewriter{in: details, out: dst, params: params}
	return r.apply(instance)
}

// Operation appends attributes of an operation in the form of version 1 to dst. details is a JSON object with
// attributes of sol.VnfLcmOpOcc.
func Operation(dst, details []byte) []byte {
	r := rewriter{in: details, out: dst}
	return r.apply(operation)
}

// ChangedInfo returns the JSON of a sol.VnfInfoModifications in the form of version 1.
func ChangedInfo(info []byte) []byte {
	r := rewriter{in: info}
	return r.apply(changedInfo)
}

// ChangedExtConnectivity returns the JSON of a list of sol.ExtVirtualLinkInfo in the form of version 1.
func ChangedExtConnectivity(links []byte) []byte {
	r := rewriter{in: links}
	return r.apply(connectivity)
}

// addParams adds the additionalParams as the last member of instantiatedVnfInfo, where clients of OpenStack Tacker
// print them.
func addParams(r *rewriter) {
	object := r.next() == '{'
	r.value(instantiated)
	if !object || r.params == nil || r.at == 0 || r.in[r.at-1] != '}' { // null, or the text is broken
		return
	}
	end := r.at
	r.at--
	r.flush()
	if last := bytes.TrimRight(r.out, " \t\r\n"); last[len(last)-1] != '{' {
		r.out = append(r.out, ',')
	}
	r.out = append(append(r.out, `"additionalParams":`...), r.params...)
	r.at = end
}

// listConnections makes a list of VIM connections of a map.
func listConnections(r *rewriter) { r.listed(`{"id":`, vimConnection) }

// listConfigs makes a list of configurations of connection points of a map.
func listConfigs(r *rewriter) { r.listed(`{"cpInstanceId":`, nil) }

// listed makes a list of a map of objects: each object gets its key as the first member. Other values than objects,
// such as null in a merge patch, leave an object that has only the key.
func (r *rewriter) listed(begin string, of *shape) {
	if r.next() != '{' {
		r.skip()
		return
	}
	r.flush()
	r.out = append(r.out, '[')
	any := false
	r.object(func(name []byte) {
		if any {
			r.out = append(r.out, ',')
		}
		any = true
		r.out = append(append(append(append(r.out, begin...), '"'), name...), '"')
		if r.next() != '{' {
			r.skip()
			r.leave()
			r.out = append(r.out, '}')
			return
		}
		brace := r.at
		r.at++
		if r.next() != '}' {
			r.out = append(r.out, ',')
		}
		r.at, r.copied = brace, brace+1
		r.value(of)
		r.flush()
	})
	r.leave()
	r.out = append(r.out, ']')
}

// nameType gives the type of a VIM the name that clients of version 1 have for it.
func nameType(r *rewriter) {
	begin := r.at
	r.skip()
	given := bytes.Trim(r.in[begin:r.at], `"`)
	for name, vimType := range vimTypes {
		if string(given) == vimType || name == kubernetes && string(given) == helm {
			end := r.at
			r.at = begin
			r.flush()
			r.at = end
			r.leave()
			r.out = append(append(append(r.out, '"'), name...), '"')
		}
	}
}

// BriefAdded is how many bytes InstanceBrief adds at most.
const BriefAdded = 160

// InstanceBrief appends the attributes that lists of VNF instances contain by default in the form of version 1 to dst.
// brief is a JSON object with those of sol.VnfInstance, as package json encodes it. Clients of OpenStack Tacker show
// three attributes that it can lack: the name, which is "vnf-" and the id there, the description, which is null, and
// the id of the VNF package.
func InstanceBrief(dst, brief []byte, id, vnfPkgID string) []byte {
	const named, described = `"vnfInstanceName":`, `"vnfInstanceDescription":`
	r := rewriter{in: brief, out: dst}
	r.at = min(len(`{"id":"",`)+len(id), len(brief))
	r.flush()
	r.out = r.attribute(named, `"vnf-`+id+`"`)
	r.out = r.attribute(described, "null")
	r.at = max(len(brief)-1, r.at) // without the brace
	r.flush()
	return append(append(append(r.out, `,"vnfPkgId":"`...), vnfPkgID...), `"}`...)
}

// attribute copies the attribute at the present place with the comma after it, if it has the name; else it writes
// another value for it.
func (r *rewriter) attribute(name, otherwise string) []byte {
	if !bytes.HasPrefix(r.in[r.at:], []byte(name)) {
		return append(append(append(r.out, name...), otherwise...), ',')
	}
	r.at += len(name)
	r.skip()
	r.at = min(r.at+1, len(r.in))
	r.flush()
	return r.out
}
