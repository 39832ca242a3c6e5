package hot

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Scope is where functions find their values.
type Scope interface {
	// Param returns the value of a parameter, pseudo parameters (OS::stack_name…) included.
	Param(name string) (any, bool)
	// Ref returns what get_resource gives for a resource.
	Ref(resource string) (any, error)
	// Attr returns an attribute of a resource; path is what follows it, already applied by the resource as far as
	// rest tells.
	Attr(resource, attr string, path []any) (value any, rest []any, err error)
	// File returns a file that came with the template.
	File(name string) (string, bool)
	// Condition returns the value of a named condition.
	Condition(name string) (bool, error)
}

type function func(r *resolver, arg any) (any, error)

// functions by name; filled by init, since the functions refer to it through the resolver.
var functions map[string]function

func init() {
	functions = map[string]function{
		"get_param": getParam, "get_resource": getResource, "get_attr": getAttr, "get_file": getFile,
		"str_replace": strReplace(false), "str_replace_strict": strReplace(true),
		"str_replace_vstrict": strReplace(true), "list_join": listJoin, "str_split": strSplit, "repeat": repeat,
		"map_merge": mapMerge, "map_replace": mapReplace, "list_concat": listConcat(false),
		"list_concat_unique": listConcat(true), "digest": digest, "if": ifElse, "equals": boolean, "not": boolean,
		"and": boolean, "or": boolean, "contains": boolean,
	}
}

type resolver struct {
	Scope
}

// noValue is what "if" gives when its branch says that the property should not be there.
type noValue struct{}

// Resolve returns v with all functions applied. Parts that are no functions are copied, so the template stays as it is.
func Resolve(v any, sc Scope) (any, error) {
	out, err := (&resolver{sc}).resolve(v)
	if _, none := out.(noValue); none {
		return nil, err
	}
	return out, err
}

func (r *resolver) resolve(v any) (any, error) {
	switch v := v.(type) {
	case []any:
		out := make([]any, 0, len(v))
		for _, x := range v {
			y, err := r.resolve(x)
			if err != nil {
				return nil, err
			}
			if _, none := y.(noValue); !none {
				out = append(out, y)
			}
		}
		return out, nil
	case map[string]any:
		if len(v) == 1 {
			for name, arg := range v {
				if f, ok := functions[name]; ok {
					return f(r, arg)
				}
			}
		}
		out := make(map[string]any, len(v))
		for k, x := range v {
			y, err := r.resolve(x)
			if err != nil {
				return nil, err
			}
			if _, none := y.(noValue); !none {
				out[k] = y
			}
		}
		return out, nil
	}
	return v, nil
}

func (r *resolver) list(arg any) ([]any, error) {
	v, err := r.resolve(arg)
	if err != nil {
		return nil, err
	}
	l, _ := v.([]any)
	return l, nil
}

// Step follows a path into maps and lists; ok is false where it leads nowhere.
func Step(v any, path []any) (any, bool) {
	for _, p := range path {
		switch c := v.(type) {
		case map[string]any:
			x, ok := c[Text(p)]
			if !ok {
				return nil, false
			}
			v = x
		case []any:
			n, err := Number(p)
			i, whole := n.(int)
			if err != nil || !whole || i >= len(c) || i < -len(c) {
				return nil, false
			}
			if i < 0 {
				i += len(c)
			}
			v = c[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// getParam gives "" where the path leads nowhere, as the service does.
func getParam(r *resolver, arg any) (any, error) {
	if name, ok := arg.(string); ok {
		return r.param(name)
	}
	path, err := r.list(arg)
	if err != nil {
		return nil, err
	}
	if len(path) == 0 {
		return nil, invalid(`Function "get_param" must have arguments`)
	}
	v, err := r.param(Text(path[0]))
	if err != nil {
		return nil, err
	}
	v, ok := Step(v, path[1:])
	if !ok {
		return "", nil
	}
	return Copy(v), nil
}

func (r *resolver) param(name string) (any, error) {
	v, ok := r.Param(name)
	if !ok {
		return nil, errf("UserParameterMissing", "The Parameter (%s) was not provided.", name)
	}
	return Copy(v), nil
}

func getResource(r *resolver, arg any) (any, error) {
	name, ok := arg.(string)
	if !ok {
		return nil, invalid(`Function "get_resource" takes the name of a resource`)
	}
	return r.Ref(name)
}

func getAttr(r *resolver, arg any) (any, error) {
	path, err := r.list(arg)
	if err != nil {
		return nil, err
	}
	if len(path) < 2 {
		return nil, invalid(`Arguments to "get_attr" must be of the form [resource_name, attribute, (path), ...]`)
	}
	v, rest, err := r.Attr(Text(path[0]), Text(path[1]), path[2:])
	if err != nil {
		return nil, err
	}
	v, ok := Step(v, rest)
	if !ok {
		return nil, nil
	}
	return Copy(v), nil
}

func getFile(r *resolver, arg any) (any, error) {
	name, err := r.resolve(arg)
	if err != nil {
		return nil, err
	}
	text, ok := r.File(Text(name))
	if !ok {
		return nil, invalid(`No content found in the "files" section for get_file path: %s`, Text(name))
	}
	return text, nil
}

func strReplace(strict bool) function {
	return func(r *resolver, arg any) (any, error) {
		v, err := r.resolve(arg)
		if err != nil {
			return nil, err
		}
		m, _ := v.(map[string]any)
		template, ok := m["template"]
		params, ok2 := m["params"].(map[string]any)
		if !ok || !ok2 {
			return nil, invalid(`"str_replace" syntax should be {"template": "…", "params": {…}}`)
		}
		keys := slices.SortedFunc(maps.Keys(params), func(a, b string) int {
			return cmp.Or(len(b)-len(a), strings.Compare(a, b)) // the longest first
		})
		text := Text(template)
		var pairs []string
		for _, k := range keys {
			if k == "" {
				return nil, invalid("Invalid parameter: the empty string cannot be replaced")
			}
			if strict && !strings.Contains(text, k) {
				return nil, invalid("The following params were not found in the template: %s", k)
			}
			pairs = append(pairs, k, Text(params[k]))
		}
		return strings.NewReplacer(pairs...).Replace(text), nil
	}
}

func listJoin(r *resolver, arg any) (any, error) {
	args, err := r.list(arg)
	if err != nil {
		return nil, err
	}
	if len(args) < 2 {
		return nil, invalid(`Incorrect arguments to "list_join", should be: [ <delimiter>, [<list>]… ]`)
	}
	var parts []string
	for _, a := range args[1:] {
		if a == nil {
			continue
		}
		l, ok := a.([]any)
		if !ok {
			return nil, invalid(`Incorrect arguments to "list_join" (strings) should be a list of strings: %s`, JSON(a))
		}
		for _, x := range l {
			parts = append(parts, Text(x))
		}
	}
	return strings.Join(parts, Text(args[0])), nil
}

func strSplit(r *resolver, arg any) (any, error) {
	args, err := r.list(arg)
	if err != nil {
		return nil, err
	}
	if len(args) < 2 || len(args) > 3 {
		return nil, invalid(`Incorrect arguments to "str_split" should be: [<delimiter>, <string>, (index)]`)
	}
	var parts []any
	if args[1] != nil {
		for p := range strings.SplitSeq(Text(args[1]), Text(args[0])) {
			parts = append(parts, p)
		}
	}
	if len(args) == 2 {
		return parts, nil
	}
	v, ok := Step(parts, args[2:])
	if !ok {
		return nil, invalid(`Incorrect index to "str_split" should be between 0 and %d`, len(parts)-1)
	}
	return v, nil
}

func mapMerge(r *resolver, arg any) (any, error) {
	args, err := r.list(arg)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for _, a := range args {
		m, ok := a.(map[string]any)
		if !ok && a != nil {
			return nil, invalid(`Incorrect arguments to "map_merge": expected a list of maps`)
		}
		maps.Copy(out, m)
	}
	return out, nil
}

func mapReplace(r *resolver, arg any) (any, error) {
	args, err := r.list(arg)
	if err != nil {
		return nil, err
	}
	if len(args) != 2 {
		return nil, invalid(`Incorrect arguments to "map_replace" should be: [{map}, {keys: {…}, values: {…}}]`)
	}
	in, _ := args[0].(map[string]any)
	by, _ := args[1].(map[string]any)
	keys, _ := by["keys"].(map[string]any)
	values, _ := by["values"].(map[string]any)
	out := make(map[string]any, len(in))
	for k, v := range in {
		if nk, ok := keys[k]; ok {
			k = Text(nk)
		}
		if s, scalar := v.(string); scalar {
			if nv, ok := values[s]; ok {
				v = nv
			}
		}
		out[k] = v
	}
	return out, nil
}

func listConcat(unique bool) function {
	return func(r *resolver, arg any) (any, error) {
		args, err := r.list(arg)
		if err != nil {
			return nil, err
		}
		out := []any{}
		for _, a := range args {
			l, ok := a.([]any)
			if !ok && a != nil {
				return nil, invalid(`Incorrect arguments to "list_concat": expected a list of lists`)
			}
			for _, x := range l {
				if !unique || !slices.ContainsFunc(out, func(y any) bool { return JSON(x) == JSON(y) }) {
					out = append(out, x)
				}
			}
		}
		return out, nil
	}
}
