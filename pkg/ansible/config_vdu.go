package ansible

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// prefix begins a variable.
const prefix = "_VAR_"

// variables reads configurable_properties.
func (p *parser) variables(c *config, n *yaml.Node) {
	if n == nil || n.Tag == "!!null" {
		return
	}
	for name, value := range p.object(n, "configurable_properties") {
		short, ok := strings.CutPrefix(name, prefix)
		if !ok || short == "" {
			p.fail(value, "configurable_properties has %q; names begin with %s", name, prefix)
			continue
		}
		c.variables[short] = p.data(value, name)
	}
}

// vdus reads the member of that name.
func (p *parser) vdus(c *config, n, root *yaml.Node) {
	if n == nil {
		p.fail(root, "the file has no member vdus")
		return
	}
	all := p.object(n, "vdus")
	for _, name := range sortedByLine(all) {
		if m := p.object(all[name], "the VDU "+name, "config"); m != nil {
			if m["config"] == nil {
				p.fail(all[name], "the VDU %s has no member config", name)
				continue
			}
			if v, ok := p.vdu(name, m["config"]); ok {
				c.vdus = append(c.vdus, v)
			}
		}
	}
}

// sortedByLine lists names in the order of the file.
func sortedByLine(m members) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := m[a].Line - m[b].Line; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return names
}

// vdu reads the member config of a VDU.
func (p *parser) vdu(name string, n *yaml.Node) (vdu, bool) {
	m := p.object(n, "config of "+name, "order", "vm_app_config")
	if m == nil {
		return vdu{}, false
	}
	v := vdu{name: name, line: n.Line, order: p.order(m, n, "config of "+name), actions: map[string][]item{}}
	if m["vm_app_config"] == nil {
		p.fail(n, "config of %s has no member vm_app_config", name)
		return vdu{}, false
	}
	app := p.object(m["vm_app_config"], "vm_app_config of "+name, append([]string{
		"type", "node_pair", "username", "password", "priv_key_file", "retry_count", "retry_interval",
		"connection_wait_timeout", "command_execution_wait_timeout", "execute-host",
	}, actions...)...)
	if app == nil {
		return vdu{}, false
	}
	kind := p.text(app, "type")
	switch v.kind = kind.value; v.kind {
	case "":
		v.kind = typePlaybook
	case typePlaybook, typeCommand:
	default:
		p.fail(app["type"], "type of %s is %q; it is %s or %s", name, kind.value, typePlaybook, typeCommand)
		return vdu{}, false
	}
	v.nodePair, v.login = p.text(app, "node_pair").value, p.login(app)
	v.retryCount, v.retryInterval = p.text(app, "retry_count"), p.text(app, "retry_interval")
	v.connectionWait = p.text(app, "connection_wait_timeout")
	v.commandWait = p.text(app, "command_execution_wait_timeout")
	v.host = p.host(app["execute-host"])
	some := false
	for _, action := range actions {
		if list := app[action]; list != nil {
			some = true
			v.actions[action] = p.list(name+" "+action, v.kind, list)
		}
	}
	if !some {
		p.fail(n, "vm_app_config of %s has none of %s", name, strings.Join(actions, ", "))
	}
	return v, true
}

// order reads the number by which things are sorted.
func (p *parser) order(m members, at *yaml.Node, what string) int {
	t := p.text(m, "order")
	if t.value == "" {
		p.fail(at, "%s has no order", what)
		return 0
	}
	n, err := strconv.ParseInt(t.value, 10, 32)
	if err != nil {
		p.fail(m["order"], "order of %s is %q, which is not an integer", what, t.value)
	}
	return int(n)
}

func (p *parser) login(m members) login {
	return login{p.text(m, "username"), p.text(m, "password"), p.text(m, "priv_key_file")}
}

// host reads execute-host; an empty one is none.
func (p *parser) host(n *yaml.Node) *host {
	if n == nil || n.Tag == "!!null" || n.Kind == yaml.MappingNode && len(n.Content) == 0 {
		return nil
	}
	m := p.object(n, "execute-host", "host", "username", "password", "priv_key_file")
	if m == nil {
		return nil
	}
	h := &host{name: p.text(m, "host"), login: p.login(m)}
	if h.name.value == "" {
		p.fail(n, "execute-host has no host")
		return nil
	}
	return h
}

// list reads playbooks and commands, and sorts them.
func (p *parser) list(what, kind string, n *yaml.Node) []item {
	n = deref(n)
	if n.Kind != yaml.SequenceNode {
		if n.Tag != "!!null" {
			p.fail(n, "%s is not a list", what)
		}
		return nil
	}
	var out []item
	for _, entry := range n.Content {
		if p.items++; p.items > maxItems {
			if p.items == maxItems+1 {
				p.fail(entry, "the file has more than %d playbooks and commands", maxItems)
			}
			return nil
		}
		if i, ok := p.item(what, kind, deref(entry)); ok {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b item) int { return a.order - b.order })
	return out
}

func (p *parser) item(what, kind string, n *yaml.Node) (item, bool) {
	m := p.object(
		n, what, "path", "command", "ansible_version", "params", "order", "target_hosts", "execute-host",
	)
	if m == nil {
		return item{}, false
	}
	i := item{
		line: n.Line, order: p.order(m, n, what), path: p.text(m, "path"), command: p.text(m, "command"),
		version: p.text(m, "ansible_version"), host: p.host(m["execute-host"]),
	}
	if params := m["params"]; params != nil && params.Tag != "!!null" {
		value, ok := p.data(params, "params").(map[string]any)
		if !ok {
			p.fail(params, "params of %s is not a mapping", what)
		}
		i.params = value
	}
	i.targetHosts = p.targetHosts(what, m["target_hosts"])
	if !p.fits(what, kind, n, i) {
		return item{}, false
	}
	return i, true
}

// targetHosts reads the member of that name.
func (p *parser) targetHosts(what string, n *yaml.Node) []text {
	if n == nil || n.Tag == "!!null" {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		p.fail(n, "target_hosts of %s is not a list", what)
		return nil
	}
	var out []text
	for _, h := range n.Content {
		if h = deref(h); h.Kind != yaml.ScalarNode || h.Value == "" {
			p.fail(h, "target_hosts of %s has a value that is not a text", what)
			continue
		}
		out = append(out, text{h.Value, h.Line})
	}
	return out
}

// fits says whether an entry has the members of its type.
func (p *parser) fits(what, kind string, n *yaml.Node, i item) bool {
	switch {
	case i.path.value != "" && i.command.value != "":
		p.fail(n, "%s has an entry with path and command; it can have one of them", what)
	case kind == typePlaybook && i.path.value == "":
		p.fail(n, "%s has an entry without path, the playbook; commands need type: %s", what, typeCommand)
	case kind == typeCommand && i.command.value == "":
		p.fail(n, "%s has an entry without command; playbooks need type: %s", what, typePlaybook)
	case kind == typeCommand && (i.params != nil || i.targetHosts != nil || i.version.value != ""):
		p.fail(n, "%s has a command with params, target_hosts or ansible_version, which are those of playbooks", what)
	default:
		return true
	}
	return false
}
