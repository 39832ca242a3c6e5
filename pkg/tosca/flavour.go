package tosca

import (
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// flavourReader reads one flavour. Its index has the kind of each name.
type flavourReader struct {
	*parser
	t *template
	f *vnfd.Flavour
}

func (p *parser) flavour(t *template) vnfd.Flavour {
	r := &flavourReader{parser: p, t: t, f: &vnfd.Flavour{ID: t.flavourID}}
	vnfs := p.ofType(t, typeVNF)
	for i, n := range vnfs {
		if i > 0 {
			p.add(
				n.fail(Conflict, "", "the flavour %q has two VNF nodes: %s and %s", t.flavourID, vnfs[0].name, n.name),
			)
		}
	}
	if len(vnfs) > 0 {
		r.f.Description = p.property(vnfs[0], "flavour_description").text()
	}
	if r.f.Description == "" {
		r.f.Description = p.resolvePath(t, t.substitution.get("properties"), []string{"flavour_description"}).text()
	}
	r.vls()
	r.storages()
	r.vdus()
	r.cps()
	r.virtualCPs()
	r.mciops()
	r.policies()
	r.lcm(vnfs)
	return *r.f
}

// nodesOf returns the nodes of these types, and reports more than limit.
func (r *flavourReader) nodesOf(what string, limit int, types ...string) []*node {
	nodes := r.ofType(r.t, types...)
	if len(nodes) > limit {
		r.add(nodes[limit].fail(TooLarge, "", "the flavour %q has more than %d %s", r.f.ID, limit, what))
		return nodes[:limit]
	}
	return nodes
}

// number reads a whole number of at most high; an absent one is def.
func (p *parser) number(v value, what string, def, high int) int {
	if !v.ok() {
		return def
	}
	n, ok := v.number()
	if !ok {
		p.add(v.fail(BadValue, "", "%s is %s, not a whole number", what, v.kind()))
		return def
	}
	if n < 0 || n > high {
		p.add(v.fail(BadValue, "", "%s is %d, allowed is 0 to %d", what, n, high))
		return def
	}
	return n
}

// size reads a size in bytes; an absent one is 0.
func (p *parser) size(v value, what string) int64 {
	if !v.ok() {
		return 0
	}
	if !v.isScalar() {
		p.add(v.fail(BadValue, "write it like \"2 GB\"", "%s is %s, not a size", what, v.kind()))
		return 0
	}
	n, err := ParseSize(v.text())
	if err != nil {
		p.add(v.fail(BadValue, "write it like \"2 GB\"", "%s: %s", what, err.Error()))
	}
	return n
}

// list reads a list of plain texts.
func (p *parser) texts(v value) []string {
	var all []string
	for _, item := range v.items() {
		if item.text() != "" {
			all = append(all, item.text())
		}
	}
	return all
}

func (r *flavourReader) vls() {
	for _, n := range r.nodesOf("virtual links", maxNodes, typeVL) {
		vl := vnfd.VL{Name: n.name, LayerProtocols: r.texts(r.property(n, "connectivity_type", "layer_protocols"))}
		for _, data := range r.entries(r.property(n, "vl_profile", "virtual_link_protocol_data")) {
			l3 := data.get("l3_protocol_data")
			for _, one := range r.entries(l3) {
				if cidr := r.resolve(r.t, one.get("cidr")); cidr.text() != "" {
					vl.CIDRs = append(vl.CIDRs, cidr.text())
				}
			}
		}
		r.f.VLs = append(r.f.VLs, vl)
	}
}

// entries are the elements of a list of mappings; a mapping is one element, unless it only holds numbered or named
// elements, as some versions of SOL001 write lists.
func (r *flavourReader) entries(v value) []value {
	v = r.resolve(r.t, v)
	if !v.isMap() {
		return v.items()
	}
	var inner []value
	for _, p := range v.pairs() {
		if !p.value.isMap() || p.key == "l2_protocol_data" || p.key == "l3_protocol_data" {
			return []value{v}
		}
		inner = append(inner, p.value)
	}
	return inner
}

func (r *flavourReader) storages() {
	for _, n := range r.nodesOf("storages", maxNodes, typeBlock, typeObject, typeFile, typeStorage) {
		s := vnfd.Storage{Name: n.name, Type: "BLOCK"}
		size := r.property(n, "virtual_block_storage_data", "size_of_storage")
		switch {
		case r.types.is(n.typ, typeObject):
			s.Type, size = "OBJECT", r.property(n, "virtual_object_storage_data", "max_size_of_storage")
		case r.types.is(n.typ, typeFile):
			s.Type, size = "FILE", r.property(n, "virtual_file_storage_data", "size_of_storage")
		case r.types.is(n.typ, typeStorage):
			size = r.property(n, "size_of_storage")
		}
		s.SizeBytes = r.size(size, "the size of the storage "+n.name)
		s.Image = r.image(n)
		r.f.Storages = append(r.f.Storages, s)
	}
}

func (r *flavourReader) vdus() {
	for _, n := range r.nodesOf("VDUs", maxVDUs, typeVDU, typeContainer) {
		v := vnfd.VDU{
			Name: n.name, DisplayName: r.property(n, "name").text(), Description: r.property(n, "description").text(),
			ComputeFlavour: r.computeFlavour(n),
			VirtualCPUs: r.number(
				r.capability(n, "virtual_compute", "virtual_cpu", "num_virtual_cpu"), "num_virtual_cpu", 0, 1<<20,
			),
			VirtualMemoryBytes: r.size(
				r.capability(n, "virtual_compute", "virtual_memory", "virtual_mem_size"), "virtual_mem_size",
			),
			Image: r.image(n), Containers: r.containers(n), Workload: r.workload(n),
		}
		v.MinInstances = r.number(
			r.property(n, "vdu_profile", "min_number_of_instances"), "min_number_of_instances", 1, maxInstances,
		)
		v.MaxInstances = r.number(r.property(n, "vdu_profile", "max_number_of_instances"), "max_number_of_instances",
			max(1, v.MinInstances), maxInstances)
		if v.MinInstances > v.MaxInstances {
			r.add(r.property(n, "vdu_profile", "min_number_of_instances").fail(BadValue, "",
				"the VDU %s has min_number_of_instances %d and max_number_of_instances %d", n.name, v.MinInstances,
				v.MaxInstances))
		}
		for _, to := range r.requirements(n, "virtual_storage") {
			if name, ok := r.target(n, "virtual_storage", to, typeBlock, typeObject, typeFile, typeStorage); ok {
				v.Storages = append(v.Storages, name)
			}
		}
		r.f.VDUs = append(r.f.VDUs, v)
	}
}

// computeFlavour is the VIM's name of the flavour. SOL001 has a map of additional capabilities here, whose keys mean
// nothing; the first that has a name counts.
func (r *flavourReader) computeFlavour(n *node) string {
	more := r.capability(n, "virtual_compute", "requested_additional_capabilities")
	if name := more.get("requested_additional_capability_name"); name.isScalar() {
		return name.text()
	}
	for _, one := range more.pairs() {
		if name := r.resolve(r.t, one.value.get("requested_additional_capability_name")); name.text() != "" {
			return name.text()
		}
	}
	return ""
}

// connecting are the operations whose requests name connection points.
var connecting = []string{"INSTANTIATE", "CHANGE_FLAVOUR", "CHANGE_EXT_CONN", "CHANGE_VNFPKG"}

func (r *flavourReader) cps() {
	exposed := map[string]bool{}
	for _, m := range r.t.substitution.get("requirements").pairs() {
		for _, to := range m.value.items()[:min(1, len(m.value.items()))] {
			exposed[to.text()] = true
			if r.t.byName[to.text()] == nil {
				r.postpone(to.fail(UnknownNode, "name a connection point of the flavour, or remove the requirement",
					"the requirement %s of substitution_mappings names %s, which is not declared", m.key, to.kind()),
					to.text(), connecting...)
			}
		}
	}
	for _, n := range r.nodesOf("connection points", maxNodes, typeVduCp, typeExtCp) {
		cp := vnfd.CP{
			Name: n.name, External: exposed[n.name],
			Order:          r.number(r.property(n, "order"), "order", 0, 1<<20),
			LayerProtocols: r.texts(r.property(n, "layer_protocols")),
			VnicType:       r.property(n, "vnic_type").text(),
		}
		link := "virtual_link"
		if r.types.is(n.typ, typeExtCp) {
			link, cp.External = "internal_virtual_link", true
		} else {
			cp.VDU = r.binding(n)
		}
		for _, to := range r.requirements(n, link) {
			cp.VL, _ = r.target(n, link, to, typeVL)
		}
		cp.External = cp.External || cp.VL == ""
		r.f.CPs = append(r.f.CPs, cp)
	}
}

// binding is the VDU that a connection point belongs to.
func (r *flavourReader) binding(n *node) string {
	to := r.requirements(n, "virtual_binding")
	if len(to) == 0 {
		r.add(n.fail(MissingValue, "add the requirement virtual_binding: <VDU>",
			"the connection point %s belongs to no VDU", n.name))
		return ""
	}
	name, _ := r.target(n, "virtual_binding", to[0], typeVDU, typeContainer)
	return name
}
