package kube

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"k8s.io/client-go/util/jsonpath"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

// builtinResources are the resources of every cluster.
var builtinResources = sync.OnceValue(func() []kubeapi.Resource { return kubeapi.NewStore(time.Now).Resources() })

func (k *ctl) get(args []string) error {
	if raw := k.f.get("raw"); raw != "" {
		st, b, err := k.c.do(k.ctx, http.MethodGet, raw, "", nil)
		if err != nil {
			return errors.New(connectError(err))
		}
		if st >= 300 {
			return apiError(st, b)
		}
		k.p.Printf("%s", b)
		return nil
	}
	if k.f.get("filename") != "" {
		objs, err := k.manifests()
		if err != nil {
			return err
		}
		for _, o := range objs {
			args = append(args, strings.ToLower(fmt.Sprint(o["kind"]))+"/"+kubeapi.Name(o))
		}
	}
	if len(args) == 1 && strings.Contains(args[0], ",") {
		for i, kind := range strings.Split(args[0], ",") {
			if i > 0 {
				k.p.Printf("\n")
			}
			if err := k.get([]string{kind}); err != nil {
				return err
			}
		}
		return nil
	}
	r, names, err := k.targets(args)
	if err != nil {
		return err
	}
	ns := k.ns
	if k.all {
		ns = ""
	}
	if len(names) == 0 {
		objs, err := k.list(r, ns)
		if err != nil {
			return err
		}
		return k.print(r, objs, true)
	}
	var objs []kubeapi.Object
	status := error(nil)
	for _, t := range names {
		o, err := k.call(http.MethodGet, k.path(t.res, k.ns, t.name), "", nil)
		if err != nil {
			if notFound(err) && k.f.on("ignore-not-found") {
				continue
			}
			if !notFound(err) {
				return err
			}
			k.p.Errorf("%s\n", err.Error())
			status = errPrinted
			continue
		}
		objs = append(objs, o)
	}
	if len(objs) == 0 {
		return status
	}
	return errors.Join(k.print(r, objs, false), status)
}

// print shows objects as -o says.
func (k *ctl) print(r kubeapi.Resource, objs []kubeapi.Object, list bool) error {
	out := k.f.get("output")
	whole := func() any {
		if !list && len(objs) == 1 {
			return objs[0]
		}
		l := make([]any, len(objs))
		for i, o := range objs {
			l[i] = o
		}
		return map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""}, "items": l}
	}
	switch {
	case out == "json":
		b, err := json.MarshalIndent(whole(), "", "    ")
		if err != nil {
			return err
		}
		k.p.Printf("%s\n", b)
	case out == "yaml":
		k.p.Printf("%s", toYAML(whole()))
	case out == "name":
		for _, o := range objs {
			k.p.Printf("%s/%s\n", typeName(r), kubeapi.Name(o))
		}
	case strings.HasPrefix(out, "jsonpath"):
		return k.jsonpath(out, whole())
	case strings.HasPrefix(out, "custom-columns="):
		return k.columns(strings.TrimPrefix(out, "custom-columns="), objs)
	case out == "" || out == "wide":
		k.table(r, objs, out == "wide")
	default:
		return fmt.Errorf("error: unable to match a printer suitable for the output format %q, allowed formats are: custom-columns,json,jsonpath,name,wide,yaml", out)
	}
	return nil
}

// typeName is how kubectl names a resource in its messages: "deployment.apps", "node".
func typeName(r kubeapi.Resource) string {
	if r.Group == "" {
		return r.Singular
	}
	return r.Singular + "." + r.Group
}

func (k *ctl) jsonpath(out string, data any) error {
	_, tmpl, _ := strings.Cut(out, "=")
	if !strings.HasPrefix(tmpl, "{") && tmpl != "" && !strings.Contains(tmpl, "{") {
		tmpl = "{" + tmpl + "}"
	}
	jp := jsonpath.New("out").AllowMissingKeys(true)
	if err := jp.Parse(tmpl); err != nil {
		return fmt.Errorf("error: error parsing jsonpath %s, %w", tmpl, err)
	}
	var b bytes.Buffer
	if err := jp.Execute(&b, data); err != nil {
		return fmt.Errorf("error: error executing jsonpath %q: %w", tmpl, err)
	}
	k.p.Printf("%s", b.String())
	return nil
}

func (k *ctl) columns(spec string, objs []kubeapi.Object) error {
	var heads, paths []string
	for c := range strings.SplitSeq(spec, ",") {
		h, p, _ := strings.Cut(c, ":")
		heads, paths = append(heads, h), append(paths, p)
	}
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 8, 3, ' ', 0)
	if !k.f.on("no-headers") {
		_, _ = fmt.Fprintln(w, strings.Join(heads, "\t"))
	}
	for _, o := range objs {
		var row []string
		for _, p := range paths {
			jp := jsonpath.New("col").AllowMissingKeys(true)
			if err := jp.Parse("{" + p + "}"); err != nil {
				return fmt.Errorf("error: error parsing jsonpath %s, %w", p, err)
			}
			var v bytes.Buffer
			if err := jp.Execute(&v, o); err != nil || v.Len() == 0 {
				v.Reset()
				v.WriteString("<none>")
			}
			row = append(row, v.String())
		}
		_, _ = fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush()
	k.p.Printf("%s", b.String())
	return nil
}

// table prints the columns that kubectl shows for a kind.
func (k *ctl) table(r kubeapi.Resource, objs []kubeapi.Object, wide bool) {
	if len(objs) == 0 {
		switch {
		case k.f.on("ignore-not-found"):
		case r.Namespaced && !k.all:
			k.p.Errorf("No resources found in %s namespace.\n", k.ns)
		default:
			k.p.Errorf("No resources found\n")
		}
		return
	}
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 8, 3, ' ', 0)
	heads, row := k.layout(r, wide)
	extra := k.f.list("label-columns")
	if k.all && r.Namespaced {
		heads = append([]string{"NAMESPACE"}, heads...)
	}
	for _, l := range extra {
		heads = append(heads, strings.ToUpper(l[strings.LastIndexByte(l, '/')+1:]))
	}
	if k.f.on("show-labels") {
		heads = append(heads, "LABELS")
	}
	if !k.f.on("no-headers") {
		_, _ = fmt.Fprintln(w, strings.Join(heads, "\t"))
	}
	for _, o := range objs {
		cells := row(o)
		if k.all && r.Namespaced {
			cells = append([]string{kubeapi.Namespace(o)}, cells...)
		}
		labels, _ := kubeapi.At(o, "metadata", "labels").(map[string]any)
		for _, l := range extra {
			v, _ := labels[l].(string)
			cells = append(cells, v)
		}
		if k.f.on("show-labels") {
			var all []string
			for _, key := range slices.Sorted(maps.Keys(labels)) {
				all = append(all, fmt.Sprintf("%s=%v", key, labels[key]))
			}
			cells = append(cells, or(strings.Join(all, ","), "<none>"))
		}
		_, _ = fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush()
	k.p.Printf("%s", b.String())
}

func or(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

func (k *ctl) age(o kubeapi.Object) string {
	t, err := time.Parse(time.RFC3339, kubeapi.String(o, "metadata", "creationTimestamp"))
	if err != nil {
		return "<unknown>"
	}
	d := max(time.Since(t), 0)
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 10*time.Minute:
		return fmt.Sprintf("%dm%ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 3*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	}
	return fmt.Sprintf("%dh", int(d.Hours()))
}

// layout gives the headings and the cells of a kind.
func (k *ctl) layout(r kubeapi.Resource, wide bool) ([]string, func(kubeapi.Object) []string) {
	num := func(o kubeapi.Object, path ...string) string {
		switch v := kubeapi.At(o, path...).(type) {
		case float64:
			return strconv.FormatInt(int64(v), 10)
		case int64:
			return strconv.FormatInt(v, 10)
		}
		return "0"
	}
	switch r.GR() {
	case "nodes":
		heads := []string{"NAME", "STATUS", "ROLES", "AGE", "VERSION"}
		if wide {
			heads = append(heads, "INTERNAL-IP", "EXTERNAL-IP", "OS-IMAGE", "KERNEL-VERSION", "CONTAINER-RUNTIME")
		}
		return heads, func(o kubeapi.Object) []string {
			row := []string{kubeapi.Name(o), nodeStatus(o), nodeRoles(o), k.age(o), kubeapi.String(o, "status", "nodeInfo", "kubeletVersion")}
			if wide {
				row = append(row, or(nodeAddress(o), "<none>"), "<none>", kubeapi.String(o, "status", "nodeInfo", "osImage"), kubeapi.String(o, "status", "nodeInfo", "kernelVersion"),
					kubeapi.String(o, "status", "nodeInfo", "containerRuntimeVersion"))
			}
			return row
		}
	case "pods":
		heads := []string{"NAME", "READY", "STATUS", "RESTARTS", "AGE"}
		if wide {
			heads = append(heads, "IP", "NODE", "NOMINATED NODE", "READINESS GATES")
		}
		return heads, func(o kubeapi.Object) []string {
			cs, _ := kubeapi.At(o, "spec", "containers").([]any)
			ready := 0
			if conditionStatus(o, "Ready") == "True" {
				ready = len(cs)
			}
			phase := kubeapi.String(o, "status", "phase")
			if kubeapi.At(o, "metadata", "deletionTimestamp") != nil {
				phase = "Terminating"
			}
			row := []string{kubeapi.Name(o), fmt.Sprintf("%d/%d", ready, len(cs)), phase, "0", k.age(o)}
			if wide {
				row = append(row, or(kubeapi.String(o, "status", "podIP"), "<none>"), or(kubeapi.String(o, "spec", "nodeName"), "<none>"), "<none>", "<none>")
			}
			return row
		}
	case "deployments.apps", "statefulsets.apps":
		heads := []string{"NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"}
		if r.Kind == "StatefulSet" {
			return []string{"NAME", "READY", "AGE"}, func(o kubeapi.Object) []string {
				return []string{kubeapi.Name(o), num(o, "status", "readyReplicas") + "/" + num(o, "spec", "replicas"), k.age(o)}
			}
		}
		return heads, func(o kubeapi.Object) []string {
			return []string{kubeapi.Name(o), num(o, "status", "readyReplicas") + "/" + num(o, "spec", "replicas"), num(o, "status", "updatedReplicas"), num(o, "status", "availableReplicas"), k.age(o)}
		}
	case "daemonsets.apps":
		return []string{"NAME", "DESIRED", "CURRENT", "READY", "UP-TO-DATE", "AVAILABLE", "NODE SELECTOR", "AGE"}, func(o kubeapi.Object) []string {
			return []string{
				kubeapi.Name(o), num(o, "status", "desiredNumberScheduled"), num(o, "status", "currentNumberScheduled"), num(o, "status", "numberReady"),
				num(o, "status", "updatedNumberScheduled"), num(o, "status", "numberAvailable"), "<none>", k.age(o),
			}
		}
	case "namespaces":
		return []string{"NAME", "STATUS", "AGE"}, func(o kubeapi.Object) []string {
			return []string{kubeapi.Name(o), kubeapi.String(o, "status", "phase"), k.age(o)}
		}
	case "services":
		return []string{"NAME", "TYPE", "CLUSTER-IP", "EXTERNAL-IP", "PORT(S)", "AGE"}, func(o kubeapi.Object) []string {
			ports, _ := kubeapi.At(o, "spec", "ports").([]any)
			var list []string
			for _, x := range ports {
				if m, ok := x.(map[string]any); ok {
					t := fmt.Sprint(m["port"])
					if m["nodePort"] != nil {
						t += ":" + fmt.Sprint(m["nodePort"])
					}
					list = append(list, t+"/"+or(fmt.Sprint(m["protocol"]), "TCP"))
				}
			}
			return []string{kubeapi.Name(o), kubeapi.String(o, "spec", "type"), or(kubeapi.String(o, "spec", "clusterIP"), "<none>"), "<none>", or(strings.Join(list, ","), "<none>"), k.age(o)}
		}
	case "secrets":
		return []string{"NAME", "TYPE", "DATA", "AGE"}, func(o kubeapi.Object) []string {
			d, _ := o["data"].(map[string]any)
			return []string{kubeapi.Name(o), kubeapi.String(o, "type"), strconv.Itoa(len(d)), k.age(o)}
		}
	case "configmaps":
		return []string{"NAME", "DATA", "AGE"}, func(o kubeapi.Object) []string {
			d, _ := o["data"].(map[string]any)
			return []string{kubeapi.Name(o), strconv.Itoa(len(d)), k.age(o)}
		}
	case "persistentvolumes":
		return []string{"NAME", "CAPACITY", "ACCESS MODES", "RECLAIM POLICY", "STATUS", "CLAIM", "STORAGECLASS", "AGE"}, func(o kubeapi.Object) []string {
			return []string{
				kubeapi.Name(o), kubeapi.String(o, "spec", "capacity", "storage"), "RWX", kubeapi.String(o, "spec", "persistentVolumeReclaimPolicy"), kubeapi.String(o, "status", "phase"),
				kubeapi.String(o, "spec", "claimRef", "name"), kubeapi.String(o, "spec", "storageClassName"), k.age(o),
			}
		}
	}
	return []string{"NAME", "AGE"}, func(o kubeapi.Object) []string { return []string{kubeapi.Name(o), k.age(o)} }
}

func conditionStatus(o kubeapi.Object, kind string) string {
	l, _ := kubeapi.At(o, "status", "conditions").([]any)
	for _, x := range l {
		if m, ok := x.(map[string]any); ok && m["type"] == kind {
			s, _ := m["status"].(string)
			return s
		}
	}
	return ""
}

func nodeStatus(o kubeapi.Object) string {
	s := "NotReady"
	switch conditionStatus(o, "Ready") {
	case "True":
		s = "Ready"
	case "":
		s = "Unknown"
	}
	if kubeapi.At(o, "spec", "unschedulable") == true {
		s += ",SchedulingDisabled"
	}
	return s
}

func nodeRoles(o kubeapi.Object) string {
	labels, _ := kubeapi.At(o, "metadata", "labels").(map[string]any)
	var roles []string
	for _, l := range slices.Sorted(maps.Keys(labels)) {
		if r, ok := strings.CutPrefix(l, "node-role.kubernetes.io/"); ok {
			roles = append(roles, r)
		}
	}
	return or(strings.Join(roles, ","), "<none>")
}

func nodeAddress(o kubeapi.Object) string {
	l, _ := kubeapi.At(o, "status", "addresses").([]any)
	for _, x := range l {
		if m, ok := x.(map[string]any); ok && m["type"] == "InternalIP" {
			s, _ := m["address"].(string)
			return s
		}
	}
	return ""
}

func (k *ctl) describe(args []string) error {
	r, names, err := k.targets(args)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		objs, err := k.list(r, k.ns)
		if err != nil {
			return err
		}
		for _, o := range objs {
			names = append(names, target{r, kubeapi.Name(o)})
		}
	}
	for _, t := range names {
		o, err := k.call(http.MethodGet, k.path(t.res, k.ns, t.name), "", nil)
		if err != nil {
			return err
		}
		k.p.Printf("Name:         %s\n", kubeapi.Name(o))
		if t.res.Namespaced {
			k.p.Printf("Namespace:    %s\n", kubeapi.Namespace(o))
		}
		if t.res.Kind == "Secret" {
			k.p.Printf("Type:  %s\n\nData\n====\n", kubeapi.String(o, "type"))
			data, _ := o["data"].(map[string]any)
			for _, key := range slices.Sorted(maps.Keys(data)) {
				v, _ := data[key].(string)
				plain := decode64(v)
				if key == "token" {
					k.p.Printf("token:      %s\n", plain)
				} else {
					k.p.Printf("%s:  %d bytes\n", key, len(plain))
				}
			}
			continue
		}
		k.p.Printf("%s", toYAML(o))
	}
	return nil
}
