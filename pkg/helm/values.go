package helm

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// maxValues bounds a values file, in bytes.
const maxValues = 1 << 20

// values makes the values of a release: the values files in their order, then the parameters, then the numbers of VNFCs
// by VDU. They are laid over the chart's own.
func (s *spec) values(files fs.FS, counts map[string]int) (map[string]any, error) {
	out := map[string]any{}
	for _, name := range s.files {
		v, err := valuesFile(files, name)
		if err != nil {
			return nil, err
		}
		out = loader.MergeMaps(out, v)
	}
	for _, arg := range s.set {
		if err := strvals.ParseInto(arg, out); err != nil {
			return nil, badParameter("helmparameter", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.parameters)) {
		if err := set(out, name, s.parameters[name]); err != nil {
			return nil, badParameter(paramParameters+" "+name, err)
		}
	}
	for vdu, name := range s.replicas {
		n, ok := counts[vdu]
		if !ok {
			continue
		}
		if err := strvals.ParseInto(fmt.Sprintf("%s=%d", name, n), out); err != nil {
			return nil, badParameter("the name of the value with the number of VNFCs of "+vdu, err)
		}
	}
	return out, nil
}

// set gives the value at a path. A string is read as helm --set reads it, except that its commas separate nothing
// outside of braces.
func set(values map[string]any, name string, v any) error {
	switch v := v.(type) {
	case map[string]any, []any:
		marker := map[string]any{}
		if err := strvals.ParseInto(name+"=x", marker); err != nil {
			return err
		}
		replace(marker, v)
		maps.Copy(values, loader.MergeMaps(values, marker))
		return nil
	case string:
		if !strings.HasPrefix(v, "{") && !strings.Contains(v, `\,`) {
			v = strings.ReplaceAll(v, ",", `\,`)
		}
		return strvals.ParseInto(name+"="+v, values)
	case nil:
		return strvals.ParseInto(name+"=null", values)
	case float64:
		return strvals.ParseInto(fmt.Sprintf("%s=%.17g", name, v), values)
	}
	return strvals.ParseInto(fmt.Sprintf("%s=%v", name, v), values)
}

// replace puts v in the place of the only leaf of m.
func replace(m map[string]any, v any) {
	for key, member := range m {
		if inner, ok := member.(map[string]any); ok {
			replace(inner, v)
			continue
		}
		m[key] = v
	}
}

func valuesFile(files fs.FS, name string) (map[string]any, error) {
	fail := func(err error) error {
		e := lcm.Errorf(lcm.CodeUnprocessable, "the values file %s cannot be used: %w", name, err)
		e.Title = "Invalid Helm values"
		return e
	}
	f, err := files.Open(name)
	if err != nil {
		return nil, fail(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	v, err := loader.LoadValues(io.LimitReader(f, maxValues))
	if err != nil {
		return nil, fail(err)
	}
	return v, nil
}

func badParameter(what string, err error) error {
	e := lcm.Errorf(lcm.CodeUnprocessable, "%s: %w", what, err)
	e.Title, e.Hint = "Invalid Helm values", "write it as an argument of helm --set"
	return e
}
