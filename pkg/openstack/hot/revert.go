package hot

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v4"
)

// Disks are what a server and the volumes beside it are made from. An empty image leaves that of the template.
type Disks struct {
	Image string
	// Volumes are the sources of volumes by their names in the template.
	Volumes map[string]string
}

// sourcesOfVolumes are the properties that say what a volume is made from.
var sourcesOfVolumes = []string{"image", "imageRef", "snapshot_id", "source_volid", "backup_id"}

// Revert gives the server of a VDU, which is the top-level resource or in it at any depth, and the volumes beside it
// other sources. Nested templates on the way to the server are copied, under names of their own: it returns the files
// with the copies. The error says what the template does not have.
func (t *Template) Revert(files map[string]string, resource, vdu string, d Disks) (map[string]string, error) {
	r := reverter{files: maps.Clone(files), vdu: vdu, disks: d}
	resources := field(t.root, "resources")
	some, err := r.revert(resource, field(resources, resource), resources, nil)
	if err == nil && !some {
		err = errors.New("it has no server of this VDU")
	}
	return r.files, err
}

// reverter changes the resources of one VNFC.
type reverter struct {
	files map[string]string
	vdu   string
	disks Disks
}

// revert changes a resource, whose template has these resources; within are the files around it. It says whether it
// has found the server.
func (r *reverter) revert(name string, resource, resources *yaml.Node, within []string) (bool, error) {
	typ, props := text(field(resource, "type")), field(resource, "properties")
	if typ == typeServer {
		if !isOf(name, r.vdu) {
			return false, nil
		}
		return true, r.change(resource, resources)
	}
	source, nested := r.files[typ]
	if !nested || slices.Contains(within, typ) || props != nil && props.Kind != yaml.MappingNode {
		return false, nil
	}
	t, err := Parse(typ, []byte(source))
	if err != nil {
		return false, err
	}
	some := false
	inner := field(t.root, "resources")
	for key, child := range pairs(inner) {
		found, err := r.revert(key.Value, child, inner, append(slices.Clone(within), typ))
		if err != nil {
			return false, err
		}
		some = some || found
	}
	if !some {
		return false, nil
	}
	content, err := t.Encode()
	if err != nil {
		return false, fmt.Errorf("encode %s: %w", typ, err)
	}
	file := NameFor(typ, content)
	r.files[file] = content
	setScalar(field(resource, "type"), file)
	return true, nil
}

// change gives a server and its volumes their sources.
func (r *reverter) change(server, resources *yaml.Node) error {
	if r.disks.Image != "" {
		removeProperty(server, "image")
		setProperty(server, "image", scalar(r.disks.Image))
	}
	for _, name := range slices.Sorted(maps.Keys(r.disks.Volumes)) {
		volume := field(resources, name)
		if volume == nil || text(field(volume, "type")) != "OS::Cinder::Volume" {
			return fmt.Errorf("there is no OS::Cinder::Volume %q beside its server", name)
		}
		for _, property := range sourcesOfVolumes {
			removeProperty(volume, property)
		}
		setProperty(volume, "source_volid", scalar(r.disks.Volumes[name]))
	}
	return nil
}

// removeProperty removes a property of a resource.
func removeProperty(resource *yaml.Node, name string) {
	props := field(resource, "properties")
	if at := indexOf(props, name); at >= 0 {
		props.Content = slices.Delete(props.Content, at, at+2)
	}
}
