package hot

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"io"
	"maps"
	"slices"
	"strings"
)

func ifElse(r *resolver, arg any) (any, error) {
	args, ok := arg.([]any)
	if !ok || len(args) < 2 || len(args) > 3 {
		return nil, invalid(`Arguments to "if" must be of the form: [condition_name, value_if_true, value_if_false]`)
	}
	yes, err := r.condition(args[0])
	if err != nil {
		return nil, err
	}
	if yes {
		return r.resolve(args[1])
	}
	if len(args) == 2 {
		return noValue{}, nil
	}
	return r.resolve(args[2])
}

func boolean(*resolver, any) (any, error) {
	return nil, invalid("Condition functions may be used in conditions only")
}

// EvaluateCondition returns the truth of a condition: a boolean, the name of one, or a condition function.
func EvaluateCondition(c any, sc Scope) (bool, error) { return (&resolver{sc}).condition(c) }

func (r *resolver) condition(c any) (bool, error) {
	switch c := c.(type) {
	case nil:
		return true, nil
	case bool:
		return c, nil
	case string:
		return r.Condition(c)
	case map[string]any:
		for name, arg := range c {
			if len(c) == 1 {
				return r.conditionFunction(name, arg)
			}
		}
	}
	return false, invalid("Invalid condition: %s", JSON(c))
}

func (r *resolver) conditionFunction(name string, arg any) (bool, error) {
	args, _ := arg.([]any)
	switch name {
	case "not":
		v, err := r.condition(arg)
		return !v, err
	case "and", "or":
		if len(args) < 2 {
			return false, invalid("The minimum number of condition arguments to %q is 2.", name)
		}
		for _, a := range args {
			v, err := r.condition(a)
			if err != nil || v == (name == "or") {
				return v, err
			}
		}
		return name == "and", nil
	case "equals", "contains":
		if len(args) != 2 {
			return false, invalid("Arguments to %q must be of the form: [value_1, value_2]", name)
		}
		v, err := r.list(args)
		if err != nil {
			return false, err
		}
		if name == "equals" {
			return JSON(v[0]) == JSON(v[1]), nil
		}
		l, _ := v[1].([]any)
		return slices.ContainsFunc(l, func(x any) bool { return JSON(x) == JSON(v[0]) }), nil
	}
	v, err := r.resolve(map[string]any{name: arg})
	if err != nil {
		return false, err
	}
	b, err := Boolean(v)
	if err != nil {
		return false, invalid("Invalid condition: %s", JSON(v))
	}
	return b == true, nil
}

func repeat(r *resolver, arg any) (any, error) {
	m, ok := arg.(map[string]any)
	if !ok || m["for_each"] == nil || m["template"] == nil {
		return nil, invalid(`"repeat" syntax should be {"template": …, "for_each": {"<var>": […]}}`)
	}
	each, err := r.resolve(m["for_each"])
	if err != nil {
		return nil, err
	}
	vars, _ := each.(map[string]any)
	permutations := m["permutations"] != false
	rows := []map[string]any{{}}
	first := true
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		list, ok := vars[name].([]any)
		if !ok {
			return nil, invalid(`The values of "for_each" must be lists`)
		}
		var next []map[string]any
		switch {
		case permutations || first:
			for _, row := range rows {
				for _, v := range list {
					c := maps.Clone(row)
					c[name] = v
					next = append(next, c)
				}
			}
		case len(list) != len(rows):
			return nil, invalid(`The values of "for_each" must have the same length`)
		default:
			for i, row := range rows {
				row[name] = list[i]
			}
			next = rows
		}
		rows, first = next, false
	}
	out := []any{}
	for _, row := range rows {
		v, err := r.resolve(substitute(m["template"], row))
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// substitute replaces variables in all strings of v, keys included; a string that is only a variable becomes its value.
func substitute(v any, row map[string]any) any {
	switch v := v.(type) {
	case string:
		if x, ok := row[v]; ok {
			return x
		}
		for name, x := range row {
			v = strings.ReplaceAll(v, name, Text(x))
		}
		return v
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = substitute(v[i], row)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[Text(substitute(k, row))] = substitute(x, row)
		}
		return out
	}
	return v
}

// Substitute replaces one variable in all strings of v, as groups do with their index.
func Substitute(v any, name, value string) any {
	return Map(v, func(v any) any {
		if text, ok := v.(string); ok {
			return strings.ReplaceAll(text, name, value)
		}
		return v
	})
}

func digest(r *resolver, arg any) (any, error) {
	args, err := r.list(arg)
	if err != nil {
		return nil, err
	}
	if len(args) != 2 {
		return nil, invalid(`"digest" syntax should be [<algorithm>, <value>]`)
	}
	alg := Text(args[0])
	sum, ok := map[string]hash.Hash{
		"md5": md5.New(), "sha1": sha1.New(), "sha256": sha256.New(), "sha512": sha512.New(),
	}[alg]
	if !ok {
		return nil, invalid("Algorithm must be one of %s; have %s", "md5, sha1, sha256, sha512", alg)
	}
	_, _ = io.WriteString(sum, Text(args[1])) // never fails
	return hex.EncodeToString(sum.Sum(nil)), nil
}
