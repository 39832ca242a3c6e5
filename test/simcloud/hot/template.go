package hot

import (
	"maps"
	"slices"
	"strings"
)

// Versions are the template versions that are understood.
var Versions = []string{
	"2013-05-23", "2014-10-16", "2015-04-30", "2015-10-15", "2016-04-08", "2016-10-14", "newton", "2017-02-24", "ocata",
	"2017-09-01", "pike", "2018-03-02", "queens", "2018-08-31", "rocky", "2021-04-16", "wallaby",
}

// Template is a parsed template. It is never changed after parsing and may be shared.
type Template struct {
	Version, Description string
	Parameters           map[string]*Parameter
	Conditions           map[string]any
	Resources            map[string]*Resource
	Outputs              map[string]*Output
	// Raw is the document as it was given.
	Raw map[string]any
}

// Resource is one entry of the resources section.
type Resource struct {
	Name, Type string
	Properties map[string]any
	Metadata   any
	DependsOn  []string
	Condition  any
	// DeletionPolicy is "Delete" (default), "Retain" or "Snapshot".
	DeletionPolicy string
}

// Output is one entry of the outputs section.
type Output struct {
	Name, Description string
	Value             any
	Condition         any
}

var sections = []string{
	"heat_template_version", "description", "parameter_groups", "parameters",
	"parameter_merge_strategies", "resources", "outputs", "conditions",
}

// Parse reads a template text.
func Parse(text string) (*Template, error) {
	v, err := ParseYAML(text)
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, invalid("The template is not a JSON object or YAML mapping.")
	}
	return FromMap(m)
}

// FromMap reads a template that is already parsed.
func FromMap(raw map[string]any) (*Template, error) {
	version, ok := raw["heat_template_version"].(string)
	if !ok {
		return nil, errf("InvalidTemplateVersion", "Template version was not provided")
	}
	if !slices.Contains(Versions, version) {
		const format = `The template version is invalid: "heat_template_version: %s". ` +
			`"heat_template_version" should be one of: %s`
		return nil, errf("InvalidTemplateVersion", format, version, strings.Join(Versions, ", "))
	}
	for key := range raw {
		if !slices.Contains(sections, key) {
			return nil, errf("InvalidTemplateSection", "The template section is invalid: %s", key)
		}
	}
	t := &Template{
		Version: version, Raw: raw, Parameters: map[string]*Parameter{}, Resources: map[string]*Resource{},
		Outputs: map[string]*Output{},
	}
	t.Description, _ = raw["description"].(string)
	var err error
	if t.Conditions, err = section(raw, "conditions"); err != nil {
		return nil, err
	}
	if err := t.parseParameters(raw); err != nil {
		return nil, err
	}
	if err := t.parseResources(raw); err != nil {
		return nil, err
	}
	if err := t.parseOutputs(raw); err != nil {
		return nil, err
	}
	return t, t.checkReferences()
}

func section(raw map[string]any, name string) (map[string]any, error) {
	m, ok := raw[name].(map[string]any)
	if !ok && raw[name] != nil {
		return nil, invalid("The %s section must be a map.", name)
	}
	return m, nil
}

var resourceKeys = []string{
	"type", "properties", "metadata", "depends_on", "deletion_policy", "update_policy",
	"description", "external_id", "condition",
}

func (t *Template) parseResources(raw map[string]any) error {
	all, err := section(raw, "resources")
	if err != nil {
		return err
	}
	for name, v := range all {
		def, ok := v.(map[string]any)
		if !ok {
			return invalid("Each resource must contain a type key. (resources.%s)", name)
		}
		for key := range def {
			if !slices.Contains(resourceKeys, key) {
				return invalid(`"%s" is not a valid keyword inside a resource definition`, key)
			}
		}
		r := &Resource{Name: name, Metadata: def["metadata"], Condition: def["condition"], DeletionPolicy: "Delete"}
		if r.Type, ok = def["type"].(string); !ok || r.Type == "" {
			return invalid("Each resource must contain a type key. (resources.%s)", name)
		}
		switch p := def["properties"].(type) {
		case nil:
		case map[string]any:
			r.Properties = p
		default:
			return invalid("Resource %s properties must be a map.", name)
		}
		switch d := def["depends_on"].(type) {
		case nil:
		case string:
			r.DependsOn = []string{d}
		case []any:
			for _, x := range d {
				s, ok := x.(string)
				if !ok {
					return invalid("Resource %s depends_on must be a list of strings.", name)
				}
				r.DependsOn = append(r.DependsOn, s)
			}
		default:
			return invalid("Resource %s depends_on must be a string.", name)
		}
		if p, ok := def["deletion_policy"].(string); ok {
			r.DeletionPolicy = strings.ToUpper(p[:min(1, len(p))]) + strings.ToLower(p[min(1, len(p)):])
		}
		t.Resources[name] = r
	}
	return nil
}

func (t *Template) parseOutputs(raw map[string]any) error {
	all, err := section(raw, "outputs")
	if err != nil {
		return err
	}
	for name, v := range all {
		def, ok := v.(map[string]any)
		if !ok {
			return invalid("Outputs must contain Output. Found a [%T] instead", v)
		}
		value, ok := def["value"]
		if !ok {
			return invalid("Each output must contain a value key. (outputs.%s)", name)
		}
		o := &Output{Name: name, Value: value, Condition: def["condition"]}
		o.Description, _ = def["description"].(string)
		t.Outputs[name] = o
	}
	return nil
}

// References calls use for every resource that a value refers to with get_resource or get_attr.
func References(v any, use func(name string)) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			References(x, use)
		}
	case map[string]any:
		if len(v) == 1 {
			if name, ok := v["get_resource"].(string); ok {
				use(name)
				return
			}
			if path, ok := v["get_attr"].([]any); ok && len(path) > 0 {
				if name, ok := path[0].(string); ok {
					use(name)
				}
			}
		}
		for _, x := range v {
			References(x, use)
		}
	}
}

// Requires returns the names of the resources that r needs first, sorted: those it refers to and those it names in
// depends_on.
func (r *Resource) Requires() []string {
	names := map[string]bool{}
	for _, d := range r.DependsOn {
		names[d] = true
	}
	use := func(n string) { names[n] = true }
	References(r.Properties, use)
	References(r.Metadata, use)
	delete(names, r.Name)
	return slices.Sorted(maps.Keys(names))
}

func (t *Template) checkReferences() error {
	for _, name := range slices.Sorted(maps.Keys(t.Resources)) {
		for _, need := range t.Resources[name].Requires() {
			if t.Resources[need] == nil {
				return invalidReference(need, name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Outputs)) {
		var bad string
		References(t.Outputs[name].Value, func(n string) {
			if t.Resources[n] == nil {
				bad = n
			}
		})
		if bad != "" {
			return invalidReference(bad, "outputs."+name+".value")
		}
	}
	_, err := Order(t.Resources)
	return err
}

func invalidReference(name, where string) *Error {
	return errf("InvalidTemplateReference", `The specified reference "%s" (in %s) is incorrect.`, name, where)
}

// Order sorts resources so that each comes after those it requires; a cycle is an error.
func Order(resources map[string]*Resource) ([]string, error) {
	var out, path []string
	state := map[string]int{} // 1 on the path, 2 done
	var visit func(name string) error
	visit = func(name string) error {
		switch state[name] {
		case 1:
			return errf("CircularDependencyException", "Circular Dependency Found: %s",
				strings.Join(append(path[slices.Index(path, name):], name), " -> "))
		case 2:
			return nil
		}
		state[name] = 1
		path = append(path, name)
		for _, need := range resources[name].Requires() {
			if resources[need] != nil {
				if err := visit(need); err != nil {
					return err
				}
			}
		}
		path = path[:len(path)-1]
		state[name] = 2
		out = append(out, name)
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(resources)) {
		if err := visit(name); err != nil {
			return nil, err
		}
	}
	return out, nil
}
