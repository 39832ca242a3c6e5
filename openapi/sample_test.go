package openapi_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"
)

// sample makes a value of a type in which every attribute has a value that the standard allows.
func (p solPackage) sample(t reflect.Type, name string) reflect.Value {
	v := reflect.New(t).Elem()
	switch t {
	case reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
		return v
	case reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"k":{"a":"1"}}`))
		return v
	}
	switch t.Kind() {
	case reflect.String:
		v.SetString(p.sampleText(t, name))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(p.sample(t.Elem(), name))
	case reflect.Slice:
		v.Set(reflect.Append(v, p.sample(t.Elem(), name)))
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(reflect.ValueOf("k").Convert(t.Key()), p.sample(t.Elem(), name))
	case reflect.Interface:
		v.Set(reflect.ValueOf(map[string]any{"a": "1", "b": "2"}))
	case reflect.Struct:
		for n := range t.NumField() {
			tag, _, _ := strings.Cut(t.Field(n).Tag.Get("json"), ",")
			if !slices.Contains(alternatives, tag) {
				v.Field(n).Set(p.sample(t.Field(n).Type, tag))
			}
		}
	default:
		panic("no sample for " + t.String())
	}
	return v
}

// alternatives are attributes that exclude others of the same object.
var alternatives = []string{"addressRange", "numDynamicAddresses", "associatedVnfVirtualLinkId", "vnfLinkPortId"}

func (p solPackage) sampleText(t reflect.Type, name string) string {
	if values := p.enums[t.Name()]; len(values) > 0 {
		text, _ := values[0].(string)
		return text
	}
	switch name {
	case "segmentationType":
		return "VLAN"
	case "packageSecurityOption":
		return "OPTION_1"
	case "containerFormat":
		return "BARE"
	case "diskFormat":
		return "QCOW2"
	case "artifactClassification":
		return "TESTING"
	case "fixedAddresses", "addresses", "minAddress", "maxAddress":
		return "10.0.0.1"
	case "macAddress":
		return "fa:16:3e:00:00:01"
	case "href", "callbackUri", "imageUri", "artifactURI":
		return "http://127.0.0.1/x"
	}
	return "x"
}

// paths lists the attributes of a JSON value, with those below them; elements of lists have no place in a path.
func paths(v any, prefix string) (out []string) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			out = append(out, paths(e, prefix)...)
		}
	case map[string]any:
		for name, member := range v {
			path := strings.TrimPrefix(prefix+"/"+name, "/")
			out = append(append(out, path), paths(member, path)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
