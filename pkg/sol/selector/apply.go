package selector

import (
	"bytes"
	"encoding/json"
	"reflect"
)

var rawType = reflect.TypeFor[json.RawMessage]()

// keep removes from v what the tree does not list. Simple and mandatory attributes stay.
// v is settable; targets of pointers, slices and maps are copied before they are
// changed.
func keep(v reflect.Value, t *tree) {
	if t.leaf() {
		return
	}
	if v.Type() == rawType {
		rewriteRaw(v, func(x any) any { return keepOpen(x, t) })
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, f := range attributesOf(v.Type()) {
			child := t.at(f.Name)
			switch {
			case child != nil:
				keep(v.Field(f.Index), child)
			case !f.stays:
				v.Field(f.Index).SetZero()
			}
		}
	case reflect.Map:
		copied := reflect.MakeMap(v.Type())
		for name, child := range t.children {
			key := reflect.ValueOf(name).Convert(v.Type().Key())
			if e := v.MapIndex(key); e.IsValid() {
				copied.SetMapIndex(key, changed(e, func(e reflect.Value) { keep(e, child) }))
			}
		}
		v.Set(copied)
	default:
		descend(v, func(e reflect.Value) { keep(e, t) })
	}
}

// drop removes from v what the tree lists. Simple and mandatory attributes stay.
func drop(v reflect.Value, t *tree) {
	if v.Type() == rawType {
		rewriteRaw(v, func(x any) any { return dropOpen(x, t) })
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, f := range attributesOf(v.Type()) {
			child := t.at(f.Name)
			switch {
			case child == nil:
			case !child.leaf():
				drop(v.Field(f.Index), child)
			case !f.stays:
				v.Field(f.Index).SetZero()
			}
		}
	case reflect.Map:
		if v.IsNil() {
			return
		}
		copied := reflect.MakeMapWithSize(v.Type(), v.Len())
		for entries := v.MapRange(); entries.Next(); {
			child := t.at(entries.Key().String())
			switch {
			case child == nil:
				copied.SetMapIndex(entries.Key(), entries.Value())
			case !child.leaf():
				copied.SetMapIndex(entries.Key(), changed(entries.Value(), func(e reflect.Value) { drop(e, child) }))
			}
		}
		v.Set(copied)
	default:
		descend(v, func(e reflect.Value) { drop(e, t) })
	}
}

// descend copies the content of a pointer, slice or interface and changes the copy.
func descend(v reflect.Value, change func(reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			copied := reflect.New(v.Type().Elem())
			copied.Elem().Set(v.Elem())
			change(copied.Elem())
			v.Set(copied)
		}
	case reflect.Slice:
		copied := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(copied, v)
		for i := range copied.Len() {
			change(copied.Index(i))
		}
		if !v.IsNil() {
			v.Set(copied)
		}
	case reflect.Interface:
		if !v.IsNil() {
			v.Set(changed(v.Elem(), change))
		}
	default: // scalars have no parts
	}
}

// changed returns a changed copy of a value that cannot be set, such as an
// element of a map.
func changed(v reflect.Value, change func(reflect.Value)) reflect.Value {
	copied := reflect.New(v.Type()).Elem()
	copied.Set(v)
	change(copied)
	return copied
}

// rewriteRaw changes raw JSON; invalid JSON is not changed.
func rewriteRaw(v reflect.Value, change func(any) any) {
	dec := json.NewDecoder(bytes.NewReader(v.Bytes()))
	dec.UseNumber()
	var x any
	if dec.Decode(&x) != nil {
		return
	}
	if out, err := json.Marshal(change(x)); err == nil {
		v.SetBytes(out)
	}
}

func keepOpen(x any, t *tree) any {
	v := reflect.ValueOf(&x).Elem()
	keep(v, t)
	return x
}

func dropOpen(x any, t *tree) any {
	v := reflect.ValueOf(&x).Elem()
	drop(v, t)
	return x
}
