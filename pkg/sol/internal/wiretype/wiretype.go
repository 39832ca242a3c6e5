// Package wiretype describes Go structs as their JSON attributes, so that filters
// and selectors can be checked against the served types.
package wiretype

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// Field is one attribute of a struct.
type Field struct {
	// Name is the attribute's JSON name.
	Name string
	// Index is the field's index in the struct.
	Index int
	// Required means that the attribute is always written (no omitempty).
	Required bool
	// Type is the field's Go type.
	Type reflect.Type
}

var cache sync.Map // reflect.Type → []Field

// Fields returns the attributes of a struct type in the order of their
// declaration. Embedded structs are not supported; the wire types have none.
func Fields(t reflect.Type) []Field {
	if known, ok := cache.Load(t); ok {
		if fields, ok := known.([]Field); ok {
			return fields
		}
	}
	var fields []Field
	for i := range t.NumField() {
		f := t.Field(i)
		tag, ok := f.Tag.Lookup("json")
		if !ok || tag == "-" || !f.IsExported() {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		fields = append(fields, Field{Name: name, Index: i, Required: !optional, Type: f.Type})
	}
	cache.Store(t, fields)
	return fields
}

// Names returns the attribute names of a struct type, sorted.
func Names(t reflect.Type) []string {
	fields := Fields(t)
	names := make([]string, 0, len(fields))
	for _, f := range fields {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return names
}

// Kind classifies a type by its JSON form.
type Kind int

// Values of Kind.
const (
	// KindOpen is a value of unknown shape: any, or raw JSON.
	KindOpen Kind = iota
	KindString
	KindInteger
	KindNumber
	KindBool
	KindTime
	// KindObject is a struct with known attributes.
	KindObject
	// KindMap is a JSON object with arbitrary keys.
	KindMap
	// KindList is a JSON array.
	KindList
)

var (
	timeType = reflect.TypeFor[time.Time]()
	rawType  = reflect.TypeFor[json.RawMessage]()
)

// Of returns the kind of a type and the type without pointers.
func Of(t reflect.Type) (Kind, reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case timeType:
		return KindTime, t
	case rawType:
		return KindOpen, t
	}
	switch t.Kind() {
	case reflect.String:
		return KindString, t
	case reflect.Bool:
		return KindBool, t
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return KindInteger, t
	case reflect.Float32, reflect.Float64:
		return KindNumber, t
	case reflect.Struct:
		return KindObject, t
	case reflect.Map:
		return KindMap, t
	case reflect.Slice, reflect.Array:
		return KindList, t
	default:
		return KindOpen, t
	}
}

// Find returns the attribute of a struct type.
func Find(t reflect.Type, name string) (Field, bool) {
	for _, f := range Fields(t) {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}
