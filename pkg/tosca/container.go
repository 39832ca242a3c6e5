package tosca

import (
	"path"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// containers reads the OS containers of a VDU: the nodes that its requirement container names.
func (r *flavourReader) containers(n *node) []vnfd.Container {
	var all []vnfd.Container
	for _, to := range r.requirements(n, "container") {
		name, ok := r.target(n, "container", to, typeOsContainer)
		if !ok {
			continue
		}
		if slices.ContainsFunc(all, func(c vnfd.Container) bool { return c.Name == name }) {
			r.add(to.fail(Conflict, "", "the VDU %s names its container %s twice", n.name, name))
			continue
		}
		all = append(all, r.container(r.t.byName[name]))
	}
	return all
}

// maxMilliCPU is a thousand times the largest number of CPUs of a VDU.
const maxMilliCPU = 1000 << 20

// container reads one node of type Vdu.OsContainer.
func (r *flavourReader) container(n *node) vnfd.Container {
	milli := func(key string) int { return r.number(r.property(n, key), key, 0, maxMilliCPU) }
	size := func(key string) int64 { return r.size(r.property(n, key), key) }
	c := vnfd.Container{
		Name: n.name, DisplayName: r.property(n, "name").text(), Description: r.property(n, "description").text(),
		RequestedMilliCPU: milli("requested_cpu_resources"), MilliCPULimit: milli("cpu_resource_limit"),
		RequestedMemoryBytes: size("requested_memory_resources"), MemoryLimitBytes: size("memory_resource_limit"),
		Image: r.image(n),
	}
	for _, pair := range []struct {
		key              string
		requested, limit int64
	}{
		{"cpu_resource_limit", int64(c.RequestedMilliCPU), int64(c.MilliCPULimit)},
		{"memory_resource_limit", c.RequestedMemoryBytes, c.MemoryLimitBytes},
	} {
		if pair.limit > 0 && pair.requested > pair.limit {
			r.add(r.property(n, pair.key).fail(BadValue, "",
				"the container %s has a %s that is less than it requests", n.name, pair.key))
		}
	}
	return c
}

// workload reads mcio_identification_data: the kind and the name of the object that realises a VDU.
func (r *flavourReader) workload(n *node) *vnfd.Workload {
	data := r.property(n, "mcio_identification_data")
	if !data.ok() {
		return nil
	}
	w := &vnfd.Workload{
		Kind: r.resolve(r.t, data.get("type")).text(), Name: r.resolve(r.t, data.get("name")).text(),
	}
	if w.Kind == "" || w.Name == "" {
		r.add(data.fail(MissingValue, "give both, such as {name: web, type: Deployment}",
			"mcio_identification_data of the VDU %s is not a name and a type", n.name))
	}
	return w
}

// virtualCPs reads the connection points that give access to all VNFCs of VDUs.
func (r *flavourReader) virtualCPs() {
	for _, n := range r.nodesOf("virtual connection points", maxNodes, typeVirtualCp) {
		cp := vnfd.VirtualCP{Name: n.name, LayerProtocols: r.texts(r.property(n, "layer_protocols"))}
		targets := r.requirements(n, "target")
		if len(targets) == 0 {
			r.add(n.fail(MissingValue, "add the requirement target: <VDU>",
				"the virtual connection point %s gives access to no VDU", n.name))
		}
		for _, to := range targets {
			if vdu, ok := r.target(n, "target", to, typeContainer, typeVDU); ok {
				cp.VDUs = appendUnique(cp.VDUs, vdu)
			}
		}
		for _, to := range r.requirements(n, "virtual_link") {
			cp.VL, _ = r.target(n, "virtual_link", to, typeVL)
		}
		r.f.VirtualCPs = append(r.f.VirtualCPs, cp)
	}
}

// mciops reads the object packages of the flavour and sorts them into the order of their deployment.
func (r *flavourReader) mciops() {
	nodes := r.nodesOf("object packages", maxNodes, typeMciop)
	after := map[string][]string{}
	for _, n := range nodes {
		m := vnfd.Mciop{Name: n.name}
		for _, to := range r.requirements(n, "associatedVdu") {
			if vdu, ok := r.target(n, "associatedVdu", to, typeContainer); ok {
				m.VDUs = appendUnique(m.VDUs, vdu)
			}
		}
		if len(r.requirements(n, "associatedVdu")) == 0 {
			r.add(n.fail(MissingValue, "add the requirement associatedVdu: <Vdu.OsContainerDeployableUnit>",
				"the object package %s is associated with no VDU", n.name))
		}
		for _, to := range r.requirements(n, "dependency") {
			if name, ok := r.target(n, "dependency", to, typeMciop); ok {
				after[n.name] = appendUnique(after[n.name], name)
			}
		}
		r.mciopArtifacts(n, &m)
		r.f.Mciops = append(r.f.Mciops, m)
	}
	r.orderMciops(nodes, after)
	r.describedVDUs()
}

// mciopArtifacts finds the Helm chart or the manifests of an object package.
func (r *flavourReader) mciopArtifacts(n *node, m *vnfd.Mciop) {
	var script, rule *artifact
	charts, outside := 0, false
	for _, a := range r.artifacts(n) {
		switch {
		case r.types.is(a.typ, typeHelmScript):
			script = &a
		case r.types.is(a.typ, typeHelmRule):
			rule = &a
		case r.types.is(a.typ, typeHelmChart):
			if charts++; charts > 1 {
				r.add(a.at.fail(Conflict, "declare an object package for each chart",
					"the object package %s has more than one Helm chart", n.name))
			}
			m.Chart = a.file
		case a.file != "" && isManifest(a.file):
			m.Manifests = append(m.Manifests, a.file)
		}
		if a.outside != nil {
			outside = true
			e := *a.outside
			e.Hint = "put the file in the package, or name the chart or the manifests in requests"
			r.warn(&e)
			r.addExternal(a.at)
		}
	}
	switch {
	case charts > 0 && len(m.Manifests) > 0:
		r.add(n.fail(Conflict, "declare an object package for each of them",
			"the object package %s has a Helm chart and manifests", n.name))
	case charts == 0 && len(m.Manifests) == 0 && !outside:
		r.warn(n.fail(MissingArtifact,
			"add an artifact of the type "+typeHelmChart+", or artifacts that are manifests (.yaml, .yml, .json)",
			"the object package %s has neither a Helm chart nor manifests", n.name))
	}
	switch {
	case rule != nil && script == nil:
		r.add(rule.at.fail(MissingArtifact, "add an artifact of the type "+typeHelmScript,
			"the object package %s has a mapping rule and no mapping script", n.name))
	case script != nil:
		r.warn(script.at.fail(UnknownType, "give the values of the chart in helm_parameters of the request",
			"the mapping script of the object package %s is not run", n.name))
	}
}

// isManifest says that the name of a file is one of a Kubernetes manifest.
func isManifest(file string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(path.Ext(file)))
}

// orderMciops puts each object package behind those that it depends on, and keeps their order otherwise.
func (r *flavourReader) orderMciops(nodes []*node, after map[string][]string) {
	var sorted []vnfd.Mciop
	left, done := slices.Clone(r.f.Mciops), map[string]bool{}
	for len(left) > 0 {
		next := slices.IndexFunc(left, func(m vnfd.Mciop) bool {
			return !slices.ContainsFunc(after[m.Name], func(name string) bool { return !done[name] })
		})
		if next < 0 {
			n := nodes[slices.IndexFunc(nodes, func(n *node) bool { return n.name == left[0].Name })]
			r.add(n.fail(Conflict, "remove one of the requirements dependency",
				"the object package %s depends on itself, or on one that depends on it", n.name))
			return
		}
		done[left[next].Name] = true
		sorted = append(sorted, left[next])
		left = slices.Delete(left, next, next+1)
	}
	r.f.Mciops = sorted
}

// describedVDUs warns of VDUs of containers for which the flavour has nothing that a cluster could run (SOL001 clause
// 6.8.13.7). A request can still name a chart or manifests for them.
func (r *flavourReader) describedVDUs() {
	for _, n := range r.ofType(r.t, typeContainer) {
		packaged := slices.ContainsFunc(r.f.Mciops, func(m vnfd.Mciop) bool { return slices.Contains(m.VDUs, n.name) })
		if !packaged && len(r.requirements(n, "container")) == 0 {
			r.warn(n.fail(MissingValue, "associate the VDU with a node of the type "+typeMciop,
				"the VDU %s has neither containers nor an object package", n.name))
		}
	}
}
