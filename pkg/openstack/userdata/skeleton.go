package userdata

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// maxIndex bounds the lists that a template can ask for.
const maxIndex = 64

// skeleton builds the value that has a nil leaf at every path; an int in a path is the index of a list.
func skeleton(paths [][]any) map[string]any {
	root := map[string]any{}
	for _, p := range paths {
		if v, ok := grow(root, p).(map[string]any); ok {
			root = v
		}
	}
	return root
}

func grow(at any, path []any) any {
	if len(path) == 0 {
		return at
	}
	switch k := path[0].(type) {
	case string:
		m, ok := at.(map[string]any)
		if at != nil && !ok {
			return at // the template contradicts itself; the first use wins
		}
		if m == nil {
			m = map[string]any{}
		}
		m[k] = grow(m[k], path[1:])
		return m
	case int:
		l, ok := at.([]any)
		if at != nil && !ok || k < 0 || k >= maxIndex {
			return at
		}
		for len(l) <= k {
			l = append(l, nil)
		}
		l[k] = grow(l[k], path[1:])
		return l
	}
	return at
}

// entries ranges over the maps below nfv.<kind> by name.
func entries(nfv map[string]any, kind string) []entry {
	m, _ := nfv[kind].(map[string]any)
	var out []entry
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if leaves, ok := m[name].(map[string]any); ok {
			out = append(out, entry{name, leaves})
		}
	}
	return out
}

type entry struct {
	name   string
	leaves map[string]any
}

// unconnected finds the connection points whose network is not given.
func unconnected(nfv map[string]any) []lcm.InvalidParam {
	var bad []lcm.InvalidParam
	for _, cp := range entries(nfv, "CP") {
		if network, asked := cp.leaves["network"]; asked && network == nil {
			name, _ := split(cp.name)
			detail := fmt.Sprintf(
				"no external virtual link has an extCps entry with cpdId %s, and the template needs the network of %s",
				name, cp.name,
			)
			if !slices.ContainsFunc(bad, func(b lcm.InvalidParam) bool { return b.Detail == detail }) {
				bad = append(bad, lcm.InvalidParam{Pointer: "/extVirtualLinks", Detail: detail})
			}
		}
	}
	return bad
}

// Compact returns v without members that are nil and without maps that are empty because of that.
func Compact(v map[string]any) map[string]any {
	out := make(map[string]any, len(v))
	for k, e := range v {
		if m, ok := e.(map[string]any); ok {
			c := Compact(m)
			if len(c) == 0 && len(m) > 0 {
				continue
			}
			e = c
		}
		if e != nil {
			out[k] = e
		}
	}
	return out
}
