package lcm

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// MergePatch applies a JSON merge patch (RFC 7396) and returns the result; it changes neither target nor patch.
func MergePatch(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	t, _ := target.(map[string]any)
	out := make(map[string]any, len(t)+len(p))
	maps.Copy(out, t)
	for k, v := range p {
		if v == nil {
			delete(out, k)
		} else {
			out[k] = MergePatch(out[k], v)
		}
	}
	return out
}

// mergePairs puts patch over target as MergePatch does. It returns nil when nothing is left.
func mergePairs(target, patch sol.KeyValuePairs) sol.KeyValuePairs {
	merged, _ := MergePatch(map[string]any(target), map[string]any(patch)).(map[string]any)
	if len(merged) == 0 {
		return nil
	}
	return merged
}

// mergeRaw is mergePairs for an object that is not decoded. It decodes only the members that the patch changes.
func mergeRaw(target sol.RawPairs, patch sol.KeyValuePairs) (sol.RawPairs, error) {
	if len(patch) == 0 {
		return target, nil
	}
	merged := sol.KeyValuePairs{}
	for name, value := range target.Members() {
		merged[name] = json.RawMessage(value)
	}
	for name, v := range patch {
		if v == nil {
			delete(merged, name)
			continue
		}
		raw, had := merged[name].(json.RawMessage)
		var old any
		if _, isObject := v.(map[string]any); isObject && had {
			if err := json.Unmarshal(raw, &old); err != nil {
				return "", fmt.Errorf("decode member %q: %w", name, err)
			}
		}
		merged[name] = MergePatch(old, v)
	}
	return merged.Raw()
}

// differenceOfRaw is difference for objects that are not decoded. It decodes only the members that differ.
func differenceOfRaw(a, b sol.RawPairs) (sol.KeyValuePairs, error) {
	if a == b {
		return nil, nil
	}
	old, from, to := maps.Collect(a.Members()), map[string]any{}, map[string]any{}
	decode := func(in map[string]any, name, value string) error {
		var v any
		if err := json.Unmarshal([]byte(value), &v); err != nil {
			return fmt.Errorf("decode member %q: %w", name, err)
		}
		in[name] = v
		return nil
	}
	for name, value := range b.Members() {
		if had, ok := old[name]; ok && had == value {
			delete(old, name)
		} else if err := decode(to, name, value); err != nil {
			return nil, err
		}
	}
	for name, value := range old {
		if err := decode(from, name, value); err != nil {
			return nil, err
		}
	}
	return difference(from, to), nil
}

// difference is the smallest merge patch that makes b out of a; nil when they are equal. What b lacks is null in it.
func difference(a, b map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range b {
		old, had := a[k]
		if had && reflect.DeepEqual(old, v) {
			continue
		}
		from, isObject := old.(map[string]any)
		if to, ok := v.(map[string]any); ok && isObject {
			out[k] = difference(from, to)
			continue
		}
		out[k] = v
	}
	for k := range a {
		if _, ok := b[k]; !ok {
			out[k] = nil
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
