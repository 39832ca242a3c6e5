package ansible

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// folder is the folder of the package with the configuration.
const folder = "ScriptANSIBLE"

// maxConfig limits the configuration in bytes, maxItems the playbooks and commands in it.
const (
	maxConfig = 1 << 20
	maxItems  = 1000
)

// The values of vm_app_config.type.
const (
	typePlaybook = "ansible"
	typeCommand  = "remote-command"
)

// actions are the lists of vm_app_config, by the operation that runs them.
var actions = []string{"instantiation", "termination", "healing", "scale-in", "scale-out"}

// finding is a defect of the configuration.
type finding struct {
	line int // 0 = of the whole file
	text string
	// variable is the name of a variable that has no value.
	variable string
}

// config is the configuration of a package. Texts may contain variables (see scope).
type config struct {
	file string
	// variables are configurable_properties, without _VAR_.
	variables map[string]any
	vdus      []vdu // in their order
}

// vdu is what is run for the VNFCs of a VDU.
type vdu struct {
	name     string
	line     int
	order    int
	kind     string // typePlaybook or typeCommand
	nodePair string // name of another VDU; "" = none
	login    login
	host     *host // where commands run; nil = on the VNFC
	// Numbers as texts, because they may be variables.
	retryCount, retryInterval, connectionWait, commandWait text
	actions                                                map[string][]item
}

// text is a value with its line; "" = none.
type text struct {
	value string
	line  int
}

// login says how to get in.
type login struct{ username, password, keyFile text }

// host is a machine: the name of a VDU, or an address with a login.
type host struct {
	name  text
	login login
}

// item is one playbook or one command.
type item struct {
	line        int
	order       int
	path        text // of a playbook
	command     text
	version     text // ansible_version
	params      map[string]any
	targetHosts []text
	host        *host
}

// errNoConfig says that a package has no configuration.
var errNoConfig = errors.New("the package has no file " + folder + "/config.yaml")

// locate finds the configuration: config.yaml, or the only file whose name begins with config and ends in yaml.
func locate(files fs.FS) (string, error) {
	found, err := fs.Glob(files, folder+"/config*yaml")
	switch {
	case err != nil:
		return "", err
	case slices.Contains(found, folder+"/config.yaml"):
		return folder + "/config.yaml", nil
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", fmt.Errorf("the package has several configurations: %s; name one of them %s/config.yaml",
			strings.Join(found, ", "), folder)
	}
	return "", errNoConfig
}

// load reads the configuration of a package, with everything that is wrong with it. c is nil if it is not readable.
func load(files fs.FS) (c *config, bad []finding) {
	name, err := locate(files)
	if err != nil {
		return nil, []finding{{text: err.Error()}}
	}
	info, err := fs.Stat(files, name)
	if err == nil && info.Size() > maxConfig {
		return nil, []finding{{text: fmt.Sprintf("%s has more than %d KiB", name, maxConfig>>10)}}
	}
	var data []byte
	if err == nil {
		data, err = fs.ReadFile(files, name)
	}
	if err != nil {
		return nil, []finding{{text: fmt.Sprintf("%s cannot be read: %v", name, err)}}
	}
	return parse(name, data)
}

// parse reads a configuration.
func parse(name string, data []byte) (*config, []finding) {
	c := &config{file: name, variables: map[string]any{}}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, []finding{{text: fmt.Sprintf("%s is not YAML: %v", path.Base(name), err)}}
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, []finding{{text: "the file is empty"}}
	}
	p := &parser{}
	root := p.object(doc.Content[0], "the file", "vdus", "configurable_properties")
	if root == nil {
		return nil, p.bad
	}
	p.variables(c, root["configurable_properties"])
	p.vdus(c, root["vdus"], doc.Content[0])
	slices.SortStableFunc(c.vdus, func(a, b vdu) int { return a.order - b.order })
	return c, p.bad
}

// members are those of a mapping, by name.
type members map[string]*yaml.Node

// parser gathers what is wrong.
type parser struct {
	bad   []finding
	items int
}

func (p *parser) fail(n *yaml.Node, format string, args ...any) {
	p.bad = append(p.bad, finding{line: n.Line, text: fmt.Sprintf(format, args...)})
}

// deref follows an alias.
func deref(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

// object reads a mapping whose members have these names; without names, any. nil is a value that is none.
func (p *parser) object(n *yaml.Node, what string, known ...string) members {
	n = deref(n)
	if n.Kind != yaml.MappingNode {
		p.fail(n, "%s is not a mapping", what)
		return nil
	}
	out := members{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		switch {
		case k.Kind != yaml.ScalarNode:
			p.fail(k, "%s has a key that is not a text", what)
		case k.Value == "<<":
			for name, inherited := range p.merged(v, what) {
				if _, ok := out[name]; !ok {
					out[name] = inherited
				}
			}
		default:
			out[k.Value] = deref(v)
		}
		if known != nil && k.Value != "<<" && !slices.Contains(known, k.Value) {
			p.fail(k, "%s has the unknown member %q; known are %s", what, k.Value, strings.Join(known, ", "))
		}
	}
	return out
}

// merged are the members that a merge key brings: those of one mapping.
func (p *parser) merged(n *yaml.Node, what string) members {
	n = deref(n)
	out := members{}
	if n.Kind != yaml.MappingNode {
		p.fail(n, "%s merges a value (<<) that is not a mapping", what)
		return out
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != "<<" {
			out[n.Content[i].Value] = deref(n.Content[i+1])
		}
	}
	return out
}

// text reads a scalar.
func (p *parser) text(m members, name string) text {
	n := m[name]
	switch {
	case n == nil, n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		return text{}
	case n.Kind != yaml.ScalarNode:
		p.fail(n, "%s is not a text", name)
		return text{}
	}
	return text{n.Value, n.Line}
}

// data reads any value.
func (p *parser) data(n *yaml.Node, what string) any {
	var v any
	if err := n.Decode(&v); err != nil {
		p.fail(n, "%s cannot be read: %v", what, err)
		return nil
	}
	v, ok := plain(v, 0)
	if !ok {
		p.fail(n, "%s has a key that is not a text, or is nested too deeply", what)
		return nil
	}
	return v
}

// maxDepth limits values.
const maxDepth = 32

// plain turns a decoded value into one that JSON can have.
func plain(v any, depth int) (any, bool) {
	if depth > maxDepth {
		return nil, false
	}
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			converted, ok := plain(inner, depth+1)
			if !ok {
				return nil, false
			}
			v[k] = converted
		}
	case []any:
		for i, inner := range v {
			converted, ok := plain(inner, depth+1)
			if !ok {
				return nil, false
			}
			v[i] = converted
		}
	case nil, string, bool, int, int64, uint64, float64:
	case fmt.Stringer: // a date
		return v.String(), true
	default:
		return nil, false
	}
	return v, true
}
