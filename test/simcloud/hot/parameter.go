package hot

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Parameter is one entry of the parameters section.
type Parameter struct {
	Name, Type, Description, Label string
	Default                        any
	HasDefault, Hidden, Immutable  bool
	Constraints                    []map[string]any
}

// The parameter types.
const (
	TypeString  = "string"
	TypeNumber  = "number"
	TypeJSON    = "json"
	TypeList    = "comma_delimited_list"
	TypeBoolean = "boolean"
)

var parameterTypes = []string{TypeString, TypeNumber, TypeJSON, TypeList, TypeBoolean}

func (t *Template) parseParameters(raw map[string]any) error {
	all, err := section(raw, "parameters")
	if err != nil {
		return err
	}
	for name, v := range all {
		def, ok := v.(map[string]any)
		if !ok {
			return errf("InvalidSchemaError", "Invalid parameter %s, expected a mapping", name)
		}
		p := &Parameter{Name: name}
		p.Type, _ = def["type"].(string)
		if !slices.Contains(parameterTypes, p.Type) {
			return errf("InvalidSchemaError", "Invalid type (%s)", p.Type)
		}
		p.Description, _ = def["description"].(string)
		p.Label, _ = def["label"].(string)
		p.Default, p.HasDefault = def["default"], def["default"] != nil
		p.Hidden, _ = def["hidden"].(bool)
		p.Immutable, _ = def["immutable"].(bool)
		list, _ := def["constraints"].([]any)
		for _, c := range list {
			m, ok := c.(map[string]any)
			if !ok {
				const format = "Invalid parameter constraints for parameter %s, expected a list"
				return errf("InvalidSchemaError", format, name)
			}
			p.Constraints = append(p.Constraints, m)
		}
		t.Parameters[name] = p
	}
	return nil
}

// CustomConstraint checks a custom constraint ("nova.flavor", "neutron.network"…) of a parameter value.
type CustomConstraint func(name string, value any) error

// Values gives every parameter its value: what the user gave, else defaults, else the template's default. A value for
// a parameter that the template does not have is refused when strict.
func (t *Template) Values(user, defaults map[string]any, strict bool, custom CustomConstraint) (map[string]any, error) {
	for _, name := range slices.Sorted(maps.Keys(user)) {
		if t.Parameters[name] == nil && strict {
			return nil, errf("UnknownUserParameter", "The Parameter (%s) was not defined in template.", name)
		}
	}
	out := make(map[string]any, len(t.Parameters))
	for _, name := range slices.Sorted(maps.Keys(t.Parameters)) {
		p := t.Parameters[name]
		v, ok := user[name]
		if !ok || v == nil {
			if v, ok = defaults[name]; !ok || v == nil {
				v, ok = p.Default, p.HasDefault
			}
		}
		if !ok {
			return nil, errf("UserParameterMissing", "The Parameter (%s) was not provided.", name)
		}
		value, err := p.convert(v)
		if err != nil {
			return nil, invalid("Parameter '%s' is invalid: %v", name, err)
		}
		if err := p.check(value, custom); err != nil {
			return nil, invalid("Parameter '%s' is invalid: %v", name, err)
		}
		out[name] = value
	}
	return out, nil
}

func (p *Parameter) convert(v any) (any, error) {
	switch p.Type {
	case TypeNumber:
		return Number(v)
	case TypeBoolean:
		return Boolean(v)
	case TypeJSON:
		switch v := v.(type) {
		case map[string]any, []any:
			return v, nil
		case string:
			if strings.TrimSpace(v) == "" {
				return map[string]any{}, nil
			}
			var out any
			if err := json.Unmarshal([]byte(v), &out); err != nil {
				return nil, fmt.Errorf("Value must be valid JSON: %w", err) //nolint:staticcheck // the service's text
			}
			return FromJSON(out), nil
		}
		return nil, fmt.Errorf("Value must be valid JSON: %v", v) //nolint:staticcheck // the service's text
	case TypeList:
		switch v := v.(type) {
		case []any:
			return v, nil
		case string:
			if v == "" {
				return []any{}, nil
			}
			var out []any
			for s := range strings.SplitSeq(v, ",") {
				out = append(out, strings.TrimSpace(s))
			}
			return out, nil
		}
		return nil, fmt.Errorf("Value must be a comma-delimited list string: %v", v) //nolint:staticcheck // the service's text
	}
	switch v.(type) {
	case map[string]any, []any:
		return nil, fmt.Errorf("Value must be a string; got %s", JSON(v)) //nolint:staticcheck // the service's text
	}
	return Text(v), nil
}

// Show is the parameter's value as stack show prints it.
func (p *Parameter) Show(v any) string {
	if p.Hidden {
		return "******"
	}
	switch p.Type {
	case TypeBoolean:
		if v == true {
			return "True"
		}
		return "False"
	case TypeList:
		list, _ := v.([]any)
		var parts []string
		for _, x := range list {
			parts = append(parts, Text(x))
		}
		return strings.Join(parts, ",")
	case TypeJSON:
		return JSON(v)
	}
	return Text(v)
}

func (p *Parameter) check(v any, custom CustomConstraint) error {
	for _, c := range p.Constraints {
		if err := checkOne(c, v, custom); err != nil {
			if text, ok := c["description"].(string); ok {
				return fmt.Errorf("%s", text)
			}
			return err
		}
	}
	return nil
}

func checkOne(c map[string]any, v any, custom CustomConstraint) error {
	if list, ok := c["allowed_values"].([]any); ok {
		if !slices.ContainsFunc(list, func(a any) bool { return Text(a) == Text(v) }) {
			return fmt.Errorf("%s is not an allowed value %s", JSON(v), JSON(list))
		}
	}
	if pattern, ok := c["allowed_pattern"].(string); ok {
		re, err := regexp.Compile("^(?:" + pattern + ")$")
		if err != nil {
			return fmt.Errorf("pattern %q: %w", pattern, err)
		}
		if !re.MatchString(Text(v)) {
			return fmt.Errorf(`"%s" does not match pattern "%s"`, Text(v), pattern)
		}
	}
	if m, ok := c["length"].(map[string]any); ok {
		n := len(Text(v))
		switch v := v.(type) {
		case []any:
			n = len(v)
		case map[string]any:
			n = len(v)
		}
		if out(float64(n), m) {
			const format = `"%s" length (%d) is out of range (min: %s, max: %s)`
			return fmt.Errorf(format, Text(v), n, bound(m, "min"), bound(m, "max"))
		}
	}
	if m, ok := c["range"].(map[string]any); ok {
		if n, err := Number(v); err == nil && out(Float(n), m) {
			return fmt.Errorf("%s is out of range (min: %s, max: %s)", Text(v), bound(m, "min"), bound(m, "max"))
		}
	}
	if name, ok := c["custom_constraint"].(string); ok && custom != nil {
		return custom(name, v)
	}
	return nil
}

func out(n float64, m map[string]any) bool {
	lo, hi := m["min"], m["max"]
	return lo != nil && n < Float(lo) || hi != nil && n > Float(hi)
}

func bound(m map[string]any, key string) string {
	if m[key] == nil {
		return "None"
	}
	return Text(m[key])
}

// Float is a number, or the number that a text is.
func Float(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case float64:
		return v
	case string:
		f, _ := strconv.ParseFloat(v, 64)
		return f
	}
	return 0
}

// Number reads a number from itself or its text.
func Number(v any) (any, error) {
	switch v := v.(type) {
	case int, float64:
		return v, nil
	case string:
		s := strings.TrimSpace(v)
		if i, err := strconv.Atoi(s); err == nil {
			return i, nil
		}
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return f, nil
		}
	}
	return nil, fmt.Errorf("could not convert string to float: '%s'", Text(v))
}

// Boolean reads a boolean from itself or one of the words the service knows.
func Boolean(v any) (any, error) {
	if b, ok := v.(bool); ok {
		return b, nil
	}
	switch strings.ToLower(Text(v)) {
	case "t", "true", "on", "y", "yes", "1":
		return true, nil
	case "f", "false", "off", "n", "no", "0":
		return false, nil
	}
	return nil, fmt.Errorf(`Unrecognized value "%s", acceptable values are: '0', '1', 'f', 'false', 'n', 'no', 'off', 'on', 't', 'true', 'y', 'yes'`, Text(v)) //nolint:staticcheck // the service's text
}

// Text is a scalar as a string, and anything else as JSON.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		if v {
			return "True"
		}
		return "False"
	case int:
		return strconv.Itoa(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return JSON(v)
}
