package ansible

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/redact"
)

// variable matches a variable in a text, in Tacker's form.
var variable = regexp.MustCompile(`_VAR_[A-Za-z0-9_.<>-]*[A-Za-z0-9_<>]`)

// packagePath is the variable whose value is known in the sandbox only: the folder of the package, with a slash.
const packagePath = "vnf_package_path"

// scope gives variables their values.
type scope struct {
	// values are configurable_properties with additionalParams over them.
	values map[string]any
	// address and vdu are those of the VNFC that is configured.
	address, vdu string
	// vnf are the variables that begin with vnf. (without it).
	vnf map[string]string
}

// newScope makes the scope of a request.
func newScope(c *config, params sol.KeyValuePairs) scope {
	s := scope{values: maps.Clone(c.variables)}
	maps.Copy(s.values, params)
	return s
}

// of is the scope of one VNFC.
func (s scope) of(vdu, address string) scope {
	s.vdu, s.address = vdu, address
	return s
}

// unknownVariable is the error about a variable without a value.
type unknownVariable struct{ name string }

func (e unknownVariable) Error() string {
	for _, unsupported := range []string{"vnf_resource.", "resource."} {
		if strings.HasPrefix(e.name, unsupported) {
			return fmt.Sprintf(
				"%s%s is not supported: values of the stack are not available; use additionalParams", prefix, e.name,
			)
		}
	}
	return fmt.Sprintf(
		"%s%s has no value: neither configurable_properties nor additionalParams has it", prefix, e.name,
	)
}

// value returns the value of a variable.
func (s scope) value(name string) (any, error) {
	if v, ok := s.values[name]; ok {
		return v, nil
	}
	switch name {
	case "VDU_INSTANCE_IP":
		return s.address, nil
	case "VDU_INSTANCE_NAME":
		return s.vdu, nil
	case packagePath:
		return nil, errors.New(prefix + packagePath + " cannot be used here: it is for path, priv_key_file and params")
	}
	if short, ok := strings.CutPrefix(name, "vnf."); ok {
		if v, ok := s.vnf[short]; ok {
			return v, nil
		}
	}
	return nil, unknownVariable{name}
}

// expand replaces the variables in a text.
func (s scope) expand(value string) (string, error) {
	var failed error
	out := variable.ReplaceAllStringFunc(value, func(match string) string {
		v, err := s.value(match[len(prefix):])
		if err != nil {
			failed = errors.Join(failed, err)
			return match
		}
		return written(v)
	})
	return out, failed
}

// written is a value as a part of a text.
func written(v any) string {
	if t, ok := v.(string); ok {
		return t
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(raw)
}

// expandAll replaces the variables in all texts of a value. The path of the package stays a variable.
func (s scope) expandAll(v any) (any, error) {
	var failed error
	switch v := v.(type) {
	case string:
		parts := strings.Split(v, prefix+packagePath)
		for i := range parts {
			var err error
			parts[i], err = s.expand(parts[i])
			failed = errors.Join(failed, err)
		}
		return strings.Join(parts, prefix+packagePath), failed
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, inner := range v {
			var err error
			out[k], err = s.expandAll(inner)
			failed = errors.Join(failed, err)
		}
		return out, failed
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			var err error
			out[i], err = s.expandAll(inner)
			failed = errors.Join(failed, err)
		}
		return out, failed
	}
	return v, nil
}

// file expands the path of a file of the package, and returns it in the form of io/fs.
func (s scope) file(value string) (string, error) {
	rest, inside := strings.CutPrefix(value, prefix+packagePath)
	rest, err := s.expand(rest)
	if err != nil {
		return "", err
	}
	if again, ok := strings.CutPrefix(rest, prefix+packagePath); ok { // the value of another variable
		rest, inside = again, true
	}
	if !inside && path.IsAbs(rest) {
		return "", fmt.Errorf("%s is a path of the node; it has to be a file of the package: %s%s/…", rest, prefix,
			packagePath)
	}
	name := path.Clean(strings.TrimLeft(rest, "/"))
	if name == "." || name == ".." || strings.HasPrefix(name, "../") {
		return "", fmt.Errorf("%s is not a file of the package", value)
	}
	return name, nil
}

// secrets are the values of the scope that must not appear in a log.
func (s scope) secrets() []string {
	return redact.New().SecretValues(s.values)
}
