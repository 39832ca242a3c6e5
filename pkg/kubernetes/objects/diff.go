package objects

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Change is a field that differs between two versions of an object.
type Change struct {
	// Path is that of the field, such as spec.template.spec.containers[web].image. Elements of a list that have names
	// are named, others are counted from 0.
	Path string
	// Old and New are the values in JSON form; nil if the field is not there. Values of a Secret are Hidden.
	Old, New any
}

// Hidden stands for a value of a Secret.
const Hidden = "(hidden)"

// String returns the change on one line.
func (c Change) String() string {
	switch {
	case c.Old == nil:
		return fmt.Sprintf("%s: + %v", c.Path, c.New)
	case c.New == nil:
		return fmt.Sprintf("%s: - %v", c.Path, c.Old)
	}
	return fmt.Sprintf("%s: %v -> %v", c.Path, c.Old, c.New)
}

// The bounds of a summary.
const (
	maxFields = 20
	maxValue  = 80 // runes
)

// Summarize lists changes on one line: at most 20, and the beginnings of long values.
func Summarize(changes []Change) string {
	var out []string
	for _, c := range changes[:min(len(changes), maxFields)] {
		c.Old, c.New = beginning(c.Old), beginning(c.New)
		out = append(out, c.String())
	}
	if more := len(changes) - len(out); more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, "; ")
}

// beginning is that of a long value; nil stays nil.
func beginning(v any) any {
	if v == nil {
		return nil
	}
	text := []rune(fmt.Sprint(v))
	if len(text) <= maxValue {
		return v
	}
	return string(text[:maxValue]) + "…"
}

// Diff returns the fields that differ, ordered by path, without the status and the fields of metadata that the API
// server writes. before or after may be nil: the object is created or deleted.
func Diff(before, after *unstructured.Unstructured) []Change {
	d := differ{secret: isSecret(before) || isSecret(after)}
	d.compare("", own(before), own(after))
	slices.SortStableFunc(d.out, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return d.out
}

func isSecret(o *unstructured.Unstructured) bool {
	return o != nil && o.GetKind() == "Secret" && o.GetAPIVersion() == "v1"
}

// own returns the content without what the API server writes.
func own(o *unstructured.Unstructured) any {
	if o == nil {
		return nil
	}
	out := maps.Clone(o.Object)
	delete(out, "status")
	if meta, ok := out["metadata"].(map[string]any); ok {
		meta = maps.Clone(meta)
		for _, name := range []string{
			"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink",
			"deletionTimestamp", "deletionGracePeriodSeconds",
		} {
			delete(meta, name)
		}
		out["metadata"] = meta
	}
	return out
}

type differ struct {
	secret bool
	out    []Change
}

// hides says that a field may have the content of a Secret; kubectl keeps a copy of it in an annotation.
func (d *differ) hides(path string) bool {
	return d.secret && (strings.HasPrefix(path, "data.") || strings.HasPrefix(path, "data[") ||
		strings.HasPrefix(path, "stringData.") || strings.HasPrefix(path, "stringData[") ||
		strings.Contains(path, "last-applied-configuration"))
}

func (d *differ) compare(path string, before, after any) {
	if reflect.DeepEqual(before, after) {
		return
	}
	old, oldMap := members(before)
	now, nowMap := members(after)
	if (oldMap || before == nil) && (nowMap || after == nil) && len(old)+len(now) > 0 {
		names := maps.Clone(old)
		if names == nil {
			names = map[string]any{}
		}
		maps.Copy(names, now)
		for name := range names {
			d.compare(join(path, name), old[name], now[name])
		}
		return
	}
	if d.hides(path) {
		if before != nil {
			before = Hidden
		}
		if after != nil {
			after = Hidden
		}
	}
	d.out = append(d.out, Change{Path: path, Old: before, New: after})
}

// members returns the members of an object, or the elements of a list of objects by their names or numbers.
func members(v any) (map[string]any, bool) {
	switch v := v.(type) {
	case map[string]any:
		return v, true
	case []any:
		out := map[string]any{}
		for n, e := range v {
			m, ok := e.(map[string]any)
			if !ok {
				return nil, false // a list of values is compared as a whole
			}
			name, ok := m["name"].(string)
			if !ok {
				name = strconv.Itoa(n)
			}
			key := "[" + name + "]"
			if _, twice := out[key]; twice {
				key = "[" + strconv.Itoa(n) + "]"
			}
			out[key] = m
		}
		return out, true
	}
	return nil, false
}

func join(path, name string) string {
	switch {
	case strings.HasPrefix(name, "["):
		return path + name
	case strings.ContainsAny(name, "./"):
		return path + "[" + name + "]"
	case path == "":
		return name
	}
	return path + "." + name
}
