package heat

import (
	"maps"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/hot"
	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

// environment is what came beside the template: parameters, their defaults and names for resource types.
type environment struct {
	parameters, defaults map[string]any
	registry             map[string]any
}

// parseEnvironment reads an environment: a map, or its YAML text.
func parseEnvironment(v any) (environment, error) {
	var e environment
	if text, ok := v.(string); ok {
		p, err := hot.ParseYAML(text)
		if err != nil {
			return e, err
		}
		v = p
	}
	m, ok := v.(map[string]any)
	if !ok {
		if v == nil {
			return e, nil
		}
		return e, hot.Invalid("Environment not in valid format")
	}
	e.parameters, _ = m["parameters"].(map[string]any)
	e.defaults, _ = m["parameter_defaults"].(map[string]any)
	e.registry, _ = m["resource_registry"].(map[string]any)
	return e, nil
}

// merge lays o over e.
func (e environment) merge(o environment) environment {
	return environment{
		parameters: overlay(e.parameters, o.parameters), defaults: overlay(e.defaults, o.defaults),
		registry: overlay(e.registry, o.registry),
	}
}

func overlay[V any](a, b map[string]V) map[string]V {
	out := rest.Map(a)
	maps.Copy(out, b)
	return out
}

// view is the environment as the API shows it.
func (e environment) view() map[string]any {
	registry := rest.Map(e.registry)
	if registry["resources"] == nil {
		registry["resources"] = map[string]any{}
	}
	return map[string]any{
		"parameters": rest.Map(e.parameters), "parameter_defaults": rest.Map(e.defaults),
		"resource_registry": registry, "encrypted_param_names": []string{}, "event_sinks": []string{},
	}
}

// typeOf follows the registry from the type a resource names to the one that is meant. Names of the form "OS::X*" match
// by prefix, and entries for single resources come first.
func (e environment) typeOf(resource, name string) string {
	const deep = 10
	for range deep {
		next, ok := e.lookup(resource, name)
		if !ok || next == name {
			return name
		}
		name = next
	}
	return name
}

func (e environment) lookup(resource, name string) (string, bool) {
	if per, ok := e.registry["resources"].(map[string]any); ok {
		if own, ok := per[resource].(map[string]any); ok {
			if t, ok := own[name].(string); ok {
				return t, true
			}
		}
	}
	if t, ok := e.registry[name].(string); ok {
		return t, true
	}
	for _, pattern := range sortedKeys(e.registry) {
		head, wild := strings.CutSuffix(pattern, "*")
		t, text := e.registry[pattern].(string)
		if !wild || !text || !strings.HasPrefix(name, head) {
			continue
		}
		if tail, ok := strings.CutSuffix(t, "*"); ok {
			return tail + strings.TrimPrefix(name, head), true
		}
		return t, true
	}
	return "", false
}

// isTemplate tells whether a resource type is a file with a template.
func isTemplate(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".template") || strings.HasSuffix(name, ".yml")
}
