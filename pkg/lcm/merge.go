package lcm

import (
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
