package render

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
)

// processName is the name by which a process knows that it is one for templates.
const processName = "gybe-helm-templates"

// Serve executes templates and ends the process, if Render has started it. In any other process it returns at once. A
// program that renders charts calls it first in main.
func Serve() {
	if len(os.Args) != 1 || os.Args[0] != processName {
		return
	}
	code := 0
	if err := serve(os.Stdin, os.Stdout); err != nil {
		code = 1
	}
	os.Exit(code)
}

func serve(from io.Reader, to io.Writer) error {
	for which, limit := range map[int]uint64{
		unix.RLIMIT_CPU: cpuTime, unix.RLIMIT_DATA: memory, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_CORE: 0,
	} {
		if err := unix.Setrlimit(which, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return err
		}
	}
	in, out := json.NewDecoder(from), json.NewEncoder(to)
	in.UseNumber()
	var input Input
	if err := in.Decode(&input); err != nil {
		return err
	}
	files, err := execute(input, func(apiVersion, kind, namespace, name string) (map[string]any, error) {
		if err := out.Encode(message{Lookup: []string{apiVersion, kind, namespace, name}}); err != nil {
			return nil, err
		}
		var a answer
		if err := in.Decode(&a); err != nil {
			return nil, err
		}
		if a.Error != "" {
			return nil, errors.New(a.Error)
		}
		object, _ := numbers(a.Object).(map[string]any)
		return object, nil
	})
	if err != nil {
		return out.Encode(message{Error: err.Error()})
	}
	return out.Encode(message{Files: files})
}

// execute renders the chart as Helm does.
func execute(
	in Input, lookup func(apiVersion, kind, namespace, name string) (map[string]any, error),
) (map[string]string, error) {
	list := make([]*archive.BufferedFile, 0, len(in.Files))
	for _, f := range in.Files {
		list = append(list, &archive.BufferedFile{Name: f.Name, Data: f.Data})
	}
	c, err := loader.LoadFiles(list)
	if err != nil {
		return nil, err
	}
	values, _ := numbers(in.Values).(map[string]any)
	if err := chartutil.ProcessDependencies(c, values); err != nil {
		return nil, err
	}
	all, err := util.ToRenderValues(c, values, in.Release, in.Capabilities)
	if err != nil {
		return nil, err
	}
	var e engine.Engine
	e.CustomTemplateFuncs = map[string]any{"lookup": lookup}
	files, err := e.Render(c, all) //nolint:staticcheck // a context would only end requests of a lookup, which is ours
	if err != nil {
		return nil, err
	}
	for name := range files {
		if strings.HasSuffix(name, "NOTES.txt") {
			delete(files, name)
		}
	}
	return files, nil
}

// numbers makes integers of numbers that are some, and floating-point numbers of the others.
func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64() // a JSON number that is too large becomes infinite
		return f
	case map[string]any:
		for key, member := range v {
			v[key] = numbers(member)
		}
	case common.Values:
		return numbers(map[string]any(v))
	case []any:
		for n := range v {
			v[n] = numbers(v[n])
		}
	}
	return v
}

// trim takes the name of the chart off the path of a rendered file.
func trim(name, chart string) string { return strings.TrimPrefix(name, chart+"/") }
