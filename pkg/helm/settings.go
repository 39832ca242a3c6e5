package helm

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/helm/chart"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Members of additionalParams. Those of the first group are Tacker's.
const (
	paramNamespace  = "namespace"
	paramChartPath  = "helm_chart_path"
	paramParameters = "helm_parameters"
	paramValueNames = "helm_value_names"

	paramChartName    = "helm_chart_name"
	paramChartVersion = "helm_chart_version"
	paramRepository   = "helm_repository_url"
	paramUsername     = "helm_repository_username"
	paramPassword     = "helm_repository_password"
	paramValueFiles   = "helm_value_files"
)

// Members of additionalParams in version 1 of Tacker's interface, which can name several releases.
const (
	paramUseHelm       = "use_helm"
	paramInstall       = "using_helm_install_param"
	paramReplicaValues = "helm_replica_values"
	paramMapping       = "vdu_mapping"
)

// maxReleases bounds the releases of an instance.
const maxReleases = 16

// settings are what additionalParams say about the releases of an instance.
type settings struct {
	namespace string
	releases  []spec
	workloads map[string]workload // by VDU, as vdu_mapping says
}

// spec is a release as the parameters describe it.
type spec struct {
	name   string       // of the release
	path   string       // of the chart in the package; "" for one on a server
	source chart.Source // of the chart on a server
	files  []string     // values files of the package
	// parameters are single values by their path in the values, as of helm --set.
	parameters sol.KeyValuePairs
	// set are arguments of helm --set.
	set []string
	// replicas are the paths of the values that hold the number of VNFCs, by VDU.
	replicas map[string]string
}

// workload is the Kubernetes object whose pods are the VNFCs of a VDU.
type workload struct{ kind, name, release string }

// ReleaseName is the name of the release of an instance, as Tacker makes it.
func ReleaseName(instanceID string) string { return "vnf" + strings.ReplaceAll(instanceID, "-", "") }

// defaultNamespace is that of instances whose parameters name none.
const defaultNamespace = "default"

var (
	validNamespace = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	validRelease   = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
)

// reader reads additionalParams and gathers what is wrong with them.
type reader struct{ bad []lcm.InvalidParam }

func (r *reader) reject(at, format string, args ...any) {
	r.bad = append(r.bad, lcm.InvalidParam{Pointer: at, Detail: fmt.Sprintf(format, args...)})
}

// text returns a member that is a string or absent.
func (r *reader) text(m sol.KeyValuePairs, at, name string) string {
	v, ok := m[name]
	s, isText := v.(string)
	if ok && v != nil && !isText {
		r.reject(at+"/"+name, "is not a string")
	}
	return s
}

// list returns a member that is a list of strings or absent.
func (r *reader) list(m sol.KeyValuePairs, at, name string) []string {
	if m[name] == nil {
		return nil
	}
	list, ok := m[name].([]any)
	if !ok {
		r.reject(at+"/"+name, "is not a list of strings")
	}
	var out []string
	for n, e := range list {
		s, ok := e.(string)
		if !ok || s == "" {
			r.reject(fmt.Sprintf("%s/%s/%d", at, name, n), "is not a string")
			continue
		}
		out = append(out, s)
	}
	return out
}

// object returns a member that is an object or absent.
func (r *reader) object(m sol.KeyValuePairs, at, name string) sol.KeyValuePairs {
	if m[name] == nil {
		return nil
	}
	o, ok := m[name].(map[string]any)
	if !ok {
		r.reject(at+"/"+name, "is not an object")
	}
	return o
}

// parse reads the additionalParams of an instance. f is the flavour whose VDUs they name. The error is
// CodeUnprocessable with a pointer for everything that is wrong.
func parse(params sol.KeyValuePairs, f *vnfd.Flavour, instanceID string) (settings, error) {
	const at = "/additionalParams"
	r := &reader{}
	s := settings{namespace: r.text(params, at, paramNamespace)}
	if s.namespace == "" {
		s.namespace = defaultNamespace
	}
	if !validNamespace.MatchString(s.namespace) {
		r.reject(at+"/"+paramNamespace, "is not the name of a namespace")
	}
	s.workloads = r.mapping(params, at, f)
	if params[paramInstall] != nil || params[paramUseHelm] != nil {
		s.releases = r.several(params, at, f, s.workloads)
	} else {
		s.releases = r.single(params, at, f, instanceID)
	}
	s.identified(f)
	return s, lcm.Unprocessable(r.bad...)
}

// single reads the form with one chart. Without one the charts of the flavour's object packages are taken, each with
// the same values.
func (r *reader) single(params sol.KeyValuePairs, at string, f *vnfd.Flavour, instanceID string) []spec {
	s := spec{
		name: ReleaseName(instanceID), path: r.text(params, at, paramChartPath),
		source: chart.Source{
			Repository: r.text(params, at, paramRepository), Name: r.text(params, at, paramChartName),
			Version:  r.text(params, at, paramChartVersion),
			Username: r.text(params, at, paramUsername), Password: r.text(params, at, paramPassword),
		},
		files: r.list(params, at, paramValueFiles), parameters: r.object(params, at, paramParameters),
		replicas: map[string]string{},
	}
	if s.source.Repository == "" && strings.HasPrefix(s.source.Name, "oci://") { // as in helm install
		s.source.Repository, s.source.Name = path.Split(s.source.Name)
	}
	charts := charted(f)
	if s.path != "" || s.source.Name != "" || s.source.Repository != "" || len(charts) == 0 {
		r.origin(s, at, at+"/"+paramChartPath, at+"/"+paramChartName, at+"/"+paramRepository)
		charts = nil
	}
	if len(charts) > maxReleases {
		r.reject("/flavourId", "has %d object packages with charts; at most %d are possible", len(charts), maxReleases)
	}
	names := r.object(params, at, paramValueNames)
	for _, vdu := range slices.Sorted(maps.Keys(names)) {
		here := at + "/" + paramValueNames + "/" + lcm.Escape(vdu)
		if f.VDU(vdu) == nil {
			r.reject(here, "the flavour %s has no such VDU", f.ID)
			continue
		}
		member, _ := names[vdu].(map[string]any)
		replica, _ := member["replica"].(string)
		if replica == "" {
			r.reject(here+"/replica", "is missing: the name of the value that holds the number of pods")
			continue
		}
		s.replicas[vdu] = replica
	}
	if charts == nil {
		return []spec{s}
	}
	return s.packaged(charts)
}

// origin checks that a release has one chart.
func (r *reader) origin(s spec, at, pathAt, nameAt, serverAt string) {
	remote := s.source.Name != "" || s.source.Repository != ""
	switch {
	case s.path == "" && !remote:
		r.reject(at, "%s or %s is required", path.Base(pathAt), path.Base(nameAt))
	case s.path != "" && remote:
		r.reject(pathAt, "cannot be used together with %s", path.Base(nameAt))
	case s.path != "":
	case s.source.Name == "":
		r.reject(nameAt, "is required with %s", path.Base(serverAt))
	default:
		if err := s.source.Check(); err != nil {
			r.reject(serverAt, "%v", err)
		}
	}
}

// mapping reads vdu_mapping.
func (r *reader) mapping(params sol.KeyValuePairs, at string, f *vnfd.Flavour) map[string]workload {
	out := map[string]workload{}
	all := r.object(params, at, paramMapping)
	for _, vdu := range slices.Sorted(maps.Keys(all)) {
		here := at + "/" + paramMapping + "/" + lcm.Escape(vdu)
		m, ok := all[vdu].(map[string]any)
		if f.VDU(vdu) == nil {
			r.reject(here, "the flavour %s has no such VDU", f.ID)
			continue
		}
		w := workload{
			kind: r.text(m, here, "kind"), name: r.text(m, here, "name"), release: r.text(m, here, "helmreleasename"),
		}
		if !ok || w.name == "" || w.kind == "" {
			r.reject(here, "is not an object with kind and name")
		}
		out[vdu] = w
	}
	return out
}

// several reads the form of version 1.
func (r *reader) several(
	params sol.KeyValuePairs, at string, f *vnfd.Flavour, workloads map[string]workload,
) []spec {
	list, _ := params[paramInstall].([]any)
	here := at + "/" + paramInstall
	if !truth(params[paramUseHelm]) {
		r.reject(at+"/"+paramUseHelm, "is not true, which %s requires", paramInstall)
	}
	if len(list) == 0 || len(list) > maxReleases {
		r.reject(here, "is not a list of 1 to %d releases", maxReleases)
		return nil
	}
	var out []spec
	for n, e := range list {
		m, ok := e.(map[string]any)
		here := fmt.Sprintf("%s/%d", here, n)
		if !ok {
			r.reject(here, "is not an object")
			continue
		}
		s := r.install(m, here)
		if slices.ContainsFunc(out, func(o spec) bool { return o.name == s.name }) {
			r.reject(here+"/helmreleasename", "names the release of another member of the list")
		}
		out = append(out, s)
	}
	r.replicaValues(params, at, f, out, workloads)
	return out
}

// install reads a member of using_helm_install_param.
func (r *reader) install(m sol.KeyValuePairs, at string) spec {
	s := spec{
		name: r.text(m, at, "helmreleasename"), set: r.list(m, at, "helmparameter"), replicas: map[string]string{},
	}
	if !validRelease.MatchString(s.name) || len(s.name) > 53 {
		r.reject(at+"/helmreleasename", "is not the name of a Helm release")
	}
	if truth(m["exthelmchart"]) {
		s.source = chart.Source{
			Repository: r.text(m, at, "exthelmrepo_url"), Name: r.text(m, at, "helmchartname"),
			Version: r.text(m, at, "helmchartversion"),
		}
	} else {
		s.path = r.text(m, at, "helmchartfile_path")
	}
	r.origin(s, at, at+"/helmchartfile_path", at+"/helmchartname", at+"/exthelmrepo_url")
	return s
}

// replicaValues reads helm_replica_values, which names a value for each aspect, and gives it to the VDUs that the
// aspect scales.
func (r *reader) replicaValues(
	params sol.KeyValuePairs, at string, f *vnfd.Flavour, list []spec, workloads map[string]workload,
) {
	values := r.object(params, at, paramReplicaValues)
	for _, aspect := range slices.Sorted(maps.Keys(values)) {
		here := at + "/" + paramReplicaValues + "/" + lcm.Escape(aspect)
		name, _ := values[aspect].(string)
		a := f.Aspect(aspect)
		if a == nil || name == "" {
			r.reject(here, "is not the name of a value for a scaling aspect of the flavour %s", f.ID)
			continue
		}
		for _, vdu := range scaledBy(a) {
			n := slices.IndexFunc(list, func(s spec) bool {
				return len(list) == 1 || s.name == workloads[vdu].release ||
					strings.HasPrefix(f.VDU(vdu).DisplayName, s.name+"-")
			})
			if n < 0 {
				r.reject(here, "no release belongs to the VDU %s; give it in %s", vdu, paramMapping)
				continue
			}
			list[n].replicas[vdu] = name
		}
	}
}

// scaledBy lists the VDUs of an aspect.
func scaledBy(a *vnfd.ScalingAspect) []string {
	vdus := map[string]bool{}
	for _, step := range a.Steps {
		for vdu := range step {
			vdus[vdu] = true
		}
	}
	return slices.Sorted(maps.Keys(vdus))
}

// truth reads a boolean, which version 1 also writes as text.
func truth(v any) bool {
	s, _ := v.(string)
	return v == true || strings.EqualFold(s, "true")
}
