package kube

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

func decode64(t string) string {
	b, err := base64.StdEncoding.DecodeString(t)
	if err != nil {
		return t
	}
	return string(b)
}

// create runs apply, create and replace.
func (k *ctl) create(verb string, args []string) error {
	if verb == "create" && len(args) > 0 {
		if args[0] == "token" && len(args) > 1 {
			return k.createToken(args[1])
		}
		o, err := k.generate(args)
		if err != nil {
			return err
		}
		if k.f.get("dry-run") == "client" {
			if k.f.get("output") == "yaml" {
				k.p.Printf("%s", toYAML(o))
			}
			return nil
		}
		return k.createOne("create", o)
	}
	objs, err := k.manifests()
	if err != nil {
		return err
	}
	status := error(nil)
	for _, o := range objs {
		if err := k.createOne(verb, o); err != nil {
			var se *serverError
			if !errors.As(err, &se) {
				return err
			}
			k.p.Errorf("Error from server (%s): error when creating \"%s\": %s\n", se.reason, k.f.get("filename"), se.text)
			status = errPrinted
		}
	}
	if status == nil && verb == "apply" {
		k.n.network(k)
	}
	return status
}

func (k *ctl) createOne(verb string, o kubeapi.Object) error {
	apiVersion, kind := kubeapi.String(o, "apiVersion"), kubeapi.String(o, "kind")
	r, err := k.kind(apiVersion, kind)
	if err != nil {
		return err
	}
	ns := kubeapi.Namespace(o)
	if r.Namespaced && ns == "" {
		ns = k.ns
	}
	name := kubeapi.Name(o)
	if verb != "create" {
		if cur, err := k.call(http.MethodGet, k.path(r, ns, name), "", nil); err == nil {
			next, err := k.call(http.MethodPatch, k.path(r, ns, name), "application/merge-patch+json", encode(o))
			if err != nil {
				return err
			}
			what := "configured"
			if kubeapi.String(cur, "metadata", "resourceVersion") == kubeapi.String(next, "metadata", "resourceVersion") {
				what = "unchanged"
			}
			k.p.Printf("%s/%s %s\n", typeName(r), name, what)
			return nil
		} else if !notFound(err) {
			return err
		}
	}
	out, err := k.call(http.MethodPost, k.path(r, ns, ""), "application/json", encode(o))
	if err != nil {
		return err
	}
	if f := k.f.get("output"); f == "yaml" || f == "json" || f == "name" {
		return k.print(r, []kubeapi.Object{out}, false)
	}
	k.p.Printf("%s/%s created\n", typeName(r), kubeapi.Name(out))
	return nil
}

func (k *ctl) createToken(account string) error {
	ttl := int64(3600)
	if d, err := time.ParseDuration(k.f.get("duration")); err == nil {
		ttl = int64(d.Seconds())
	}
	o, err := k.call(http.MethodPost, "/api/v1/namespaces/"+url.PathEscape(k.ns)+"/serviceaccounts/"+url.PathEscape(account)+"/token", "application/json",
		encode(map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": map[string]any{"expirationSeconds": ttl}}))
	if err != nil {
		return err
	}
	k.p.Printf("%s\n", kubeapi.String(o, "status", "token"))
	return nil
}

// generate makes the object of kubectl create KIND NAME.
func (k *ctl) generate(args []string) (kubeapi.Object, error) {
	kind := args[0]
	args = args[1:]
	sub := ""
	if kind == "secret" && len(args) > 0 {
		sub, args = args[0], args[1:]
	}
	if len(args) == 0 {
		return nil, errors.New("error: exactly one NAME is required, got 0")
	}
	meta := map[string]any{"name": args[0]}
	data := map[string]any{}
	for _, l := range k.f.vals["from-literal"] {
		key, v, _ := strings.Cut(l, "=")
		data[key] = v
	}
	for _, l := range k.f.vals["from-file"] {
		key, file, ok := strings.Cut(l, "=")
		if !ok {
			file = l
			key = l[strings.LastIndexByte(l, '/')+1:]
		}
		b, err := k.p.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("error: error reading %s: no such file or directory", file)
		}
		data[key] = string(b)
	}
	switch kind {
	case "namespace", "ns":
		return kubeapi.Object{"apiVersion": "v1", "kind": "Namespace", "metadata": meta}, nil
	case "serviceaccount", "sa":
		return kubeapi.Object{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}, nil
	case "configmap", "cm":
		return kubeapi.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}, nil
	case "secret":
		t := map[string]string{"generic": "Opaque", "tls": "kubernetes.io/tls", "docker-registry": "kubernetes.io/dockerconfigjson"}[sub]
		if v := k.f.get("type"); v != "" {
			t = v
		}
		return kubeapi.Object{"apiVersion": "v1", "kind": "Secret", "type": t, "metadata": meta, "stringData": data}, nil
	case "clusterrolebinding", "rolebinding":
		role := map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": k.f.get("clusterrole")}
		if k.f.get("role") != "" {
			role["kind"], role["name"] = "Role", k.f.get("role")
		}
		var subjects []any
		for _, s := range k.f.list("serviceaccount") {
			ns, name, _ := strings.Cut(s, ":")
			subjects = append(subjects, map[string]any{"kind": "ServiceAccount", "namespace": ns, "name": name})
		}
		for _, s := range k.f.list("user") {
			subjects = append(subjects, map[string]any{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": s})
		}
		for _, s := range k.f.list("group") {
			subjects = append(subjects, map[string]any{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": s})
		}
		kd := map[string]string{"clusterrolebinding": "ClusterRoleBinding", "rolebinding": "RoleBinding"}[kind]
		return kubeapi.Object{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kd, "metadata": meta, "roleRef": role, "subjects": subjects}, nil
	case "deployment", "deploy":
		n := int64(1)
		if v, err := strconv.ParseInt(k.f.get("replicas"), 10, 64); err == nil {
			n = v
		}
		labels := map[string]any{"app": args[0]}
		meta["labels"] = labels
		return kubeapi.Object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": map[string]any{
			"replicas": n, "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"containers": []any{map[string]any{"name": args[0], "image": k.f.get("image")}}}},
		}}, nil
	}
	return nil, fmt.Errorf("error: unknown command %q for \"kubectl create\"", kind)
}

func (k *ctl) delete(args []string) error {
	var names []target
	if k.f.get("filename") != "" {
		objs, err := k.manifests()
		if err != nil {
			return err
		}
		for _, o := range objs {
			r, err := k.kind(kubeapi.String(o, "apiVersion"), kubeapi.String(o, "kind"))
			if err != nil {
				return err
			}
			if ns := kubeapi.Namespace(o); ns != "" {
				k.ns = ns
			}
			names = append(names, target{r, kubeapi.Name(o)})
		}
	} else {
		r, t, err := k.targets(args)
		if err != nil {
			return err
		}
		names = t
		if len(names) == 0 {
			if !k.f.on("all") && k.f.get("selector") == "" && k.f.get("field-selector") == "" {
				return errors.New("error: resource(s) were provided, but no name was specified")
			}
			objs, err := k.list(r, k.ns)
			if err != nil {
				return err
			}
			for _, o := range objs {
				names = append(names, target{r, kubeapi.Name(o)})
			}
		}
	}
	status := error(nil)
	for _, t := range names {
		if _, err := k.call(http.MethodDelete, k.path(t.res, k.ns, t.name), "", nil); err != nil {
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
		where := ""
		if t.res.Namespaced {
			where = fmt.Sprintf(" from %s namespace", k.ns)
		}
		k.p.Printf("%s \"%s\" deleted%s\n", typeName(t.res), t.name, where)
	}
	return status
}

// split parts TYPE NAME… from KEY=VALUE and KEY- words.
func split(args []string) (what, words []string) {
	for _, a := range args {
		if len(what) >= 1 && (strings.Contains(a, "=") || strings.HasSuffix(a, "-") || strings.Contains(a, ":")) {
			words = append(words, a)
		} else {
			what = append(what, a)
		}
	}
	return what, words
}

// mark is label and annotate.
func (k *ctl) mark(verb string, args []string) error {
	what, words := split(args)
	r, names, err := k.targets(what)
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
	field := map[string]string{"label": "labels", "annotate": "annotations"}[verb]
	for _, t := range names {
		cur, err := k.call(http.MethodGet, k.path(t.res, k.ns, t.name), "", nil)
		if err != nil {
			return err
		}
		have, _ := kubeapi.At(cur, "metadata", field).(map[string]any)
		patch, changed, removed := map[string]any{}, false, false
		for _, w := range words {
			if key, ok := strings.CutSuffix(w, "-"); ok && !strings.Contains(w, "=") {
				patch[key] = nil
				_, removed = have[key]
				continue
			}
			key, v, _ := strings.Cut(w, "=")
			if old, ok := have[key]; ok && old != v && !k.f.on("overwrite") {
				return fmt.Errorf("error: '%s' already has a value (%v), and --overwrite is false", key, old)
			}
			changed = changed || have[key] != v
			patch[key] = v
		}
		if _, err := k.call(http.MethodPatch, k.path(t.res, k.ns, t.name), "application/merge-patch+json", encode(map[string]any{"metadata": map[string]any{field: patch}})); err != nil {
			return err
		}
		switch {
		case verb == "annotate":
			k.p.Printf("%s/%s annotated\n", typeName(t.res), t.name)
		case changed:
			k.p.Printf("%s/%s labeled\n", typeName(t.res), t.name)
		case removed:
			k.p.Printf("%s/%s unlabeled\n", typeName(t.res), t.name)
		default:
			k.p.Printf("%s/%s not labeled\n", typeName(t.res), t.name)
		}
	}
	return nil
}

func (k *ctl) taint(args []string) error {
	what, words := split(args)
	r, names, err := k.targets(what)
	if err != nil {
		return err
	}
	if len(names) == 0 && k.f.on("all") {
		objs, err := k.list(r, "")
		if err != nil {
			return err
		}
		for _, o := range objs {
			names = append(names, target{r, kubeapi.Name(o)})
		}
	}
	for _, t := range names {
		o, err := k.call(http.MethodGet, k.path(r, "", t.name), "", nil)
		if err != nil {
			return err
		}
		taints, _ := kubeapi.At(o, "spec", "taints").([]any)
		for _, w := range words {
			spec, remove := strings.CutSuffix(w, "-")
			kv, effect, _ := strings.Cut(spec, ":")
			key, value, _ := strings.Cut(kv, "=")
			n := len(taints)
			taints = slices.DeleteFunc(slices.Clone(taints), func(x any) bool {
				m, _ := x.(map[string]any)
				return m["key"] == key && (effect == "" || m["effect"] == effect)
			})
			if remove && len(taints) == n {
				return fmt.Errorf("error: taint \"%s\" not found", spec)
			}
			if !remove {
				taint := map[string]any{"key": key, "effect": effect}
				if value != "" {
					taint["value"] = value
				}
				taints = append(taints, taint)
			}
		}
		if _, err := k.call(http.MethodPatch, k.path(r, "", t.name), "application/merge-patch+json", encode(map[string]any{"spec": map[string]any{"taints": taints}})); err != nil {
			return err
		}
		k.p.Printf("node/%s tainted\n", t.name)
	}
	return nil
}

func (k *ctl) cordon(args []string, on bool) error {
	for _, name := range args {
		name = strings.TrimPrefix(strings.TrimPrefix(name, "node/"), "nodes/")
		o, err := k.call(http.MethodGet, "/api/v1/nodes/"+url.PathEscape(name), "", nil)
		if err != nil {
			return err
		}
		word := map[bool]string{true: "cordoned", false: "uncordoned"}[on]
		if (kubeapi.At(o, "spec", "unschedulable") == true) == on {
			k.p.Printf("node/%s already %s\n", name, word)
			continue
		}
		var v any
		if on {
			v = true
		}
		if _, err := k.call(http.MethodPatch, "/api/v1/nodes/"+url.PathEscape(name), "application/merge-patch+json", encode(map[string]any{"spec": map[string]any{"unschedulable": v}})); err != nil {
			return err
		}
		k.p.Printf("node/%s %s\n", name, word)
	}
	return nil
}

func (k *ctl) drain(args []string) error {
	for _, name := range args {
		if err := k.cordon([]string{name}, true); err != nil {
			return err
		}
		pods, err := k.call(http.MethodGet, "/api/v1/pods?fieldSelector="+url.QueryEscape("spec.nodeName="+name), "", nil)
		if err != nil {
			return err
		}
		var evict, daemons, bare []kubeapi.Object
		for _, p := range items(pods) {
			switch kind := ownerKind(p); {
			case kubeapi.String(p, "metadata", "annotations", "kubernetes.io/config.mirror") != "":
			case kind == "DaemonSet":
				daemons = append(daemons, p)
			case kind == "" && !k.f.on("force"):
				bare = append(bare, p)
			default:
				evict = append(evict, p)
			}
		}
		full := func(l []kubeapi.Object) string {
			var out []string
			for _, p := range l {
				out = append(out, kubeapi.Namespace(p)+"/"+kubeapi.Name(p))
			}
			return strings.Join(out, ", ")
		}
		if len(daemons) > 0 && !k.f.on("ignore-daemonsets") {
			return fmt.Errorf("error: unable to drain node \"%s\" due to error: cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore): %s, continuing command...\nThere are pending nodes to be drained:\n %s\ncannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore): %s", name, full(daemons), name, full(daemons))
		}
		if len(bare) > 0 {
			return fmt.Errorf("error: unable to drain node \"%s\" due to error: cannot delete Pods that declare no controller (use --force to override): %s, continuing command...", name, full(bare))
		}
		if len(daemons) > 0 {
			k.p.Errorf("Warning: ignoring DaemonSet-managed Pods: %s\n", full(daemons))
		}
		timeout := time.Duration(0)
		if t := k.f.get("timeout"); t != "" {
			timeout, _ = time.ParseDuration(t)
		}
		if err := k.evict(name, evict, timeout); err != nil {
			return err
		}
		k.p.Printf("node/%s drained\n", name)
	}
	return nil
}

func ownerKind(p kubeapi.Object) string {
	l, _ := kubeapi.At(p, "metadata", "ownerReferences").([]any)
	for _, x := range l {
		if m, ok := x.(map[string]any); ok {
			s, _ := m["kind"].(string)
			return s
		}
	}
	return ""
}

// evict evicts pods, waiting for disruption budgets until the timeout.
func (k *ctl) evict(node string, pods []kubeapi.Object, timeout time.Duration) error {
	limit := time.Now().Add(24 * time.Hour)
	if timeout > 0 {
		limit = time.Now().Add(max(k.p.Sys.Clock.Real(timeout), time.Millisecond))
	}
	for _, p := range pods {
		ns, name := kubeapi.Namespace(p), kubeapi.Name(p)
		k.p.Printf("evicting pod %s/%s\n", ns, name)
		for {
			_, err := k.call(http.MethodPost, "/api/v1/namespaces/"+url.PathEscape(ns)+"/pods/"+url.PathEscape(name)+"/eviction", "application/json",
				encode(map[string]any{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]any{"name": name, "namespace": ns}}))
			var se *serverError
			if err == nil || notFound(err) {
				k.p.Printf("pod/%s evicted\n", name)
				break
			}
			if !errors.As(err, &se) || se.code != http.StatusTooManyRequests {
				return err
			}
			k.p.Errorf("error when evicting pods/\"%s\" -n \"%s\" (will retry after 5s): %s\n", name, ns, se.text)
			if time.Now().After(limit) {
				return fmt.Errorf("error: unable to drain node \"%s\" due to error: error when evicting pods/\"%s\" -n \"%s\": global timeout reached: %s, continuing command...", node, name, ns, timeout)
			}
			if k.p.Sleep(max(5*time.Second, 0)) != nil {
				return exit(1)
			}
		}
	}
	return nil
}

func (k *ctl) patch(args []string) error {
	_, names, err := k.targets(args)
	if err != nil {
		return err
	}
	body := []byte(k.f.get("patch"))
	if j, err := yaml.YAMLToJSON(body); err == nil {
		body = j
	}
	kind := map[string]string{"": "application/strategic-merge-patch+json", "strategic": "application/strategic-merge-patch+json", "merge": "application/merge-patch+json", "json": "application/json-patch+json"}[k.f.get("type")]
	for _, t := range names {
		path := k.path(t.res, k.ns, t.name)
		if s := k.f.get("subresource"); s != "" {
			path += "/" + s
		}
		if _, err := k.call(http.MethodPatch, path, kind, body); err != nil {
			return err
		}
		k.p.Printf("%s/%s patched\n", typeName(t.res), t.name)
	}
	return nil
}

func (k *ctl) scale(args []string) error {
	_, names, err := k.targets(args)
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(k.f.get("replicas"), 10, 64)
	if err != nil {
		return errors.New("error: required flag(s) \"replicas\" not set")
	}
	for _, t := range names {
		if _, err := k.call(http.MethodPatch, k.path(t.res, k.ns, t.name), "application/merge-patch+json", encode(map[string]any{"spec": map[string]any{"replicas": n}})); err != nil {
			return err
		}
		k.p.Printf("%s/%s scaled\n", typeName(t.res), t.name)
	}
	return nil
}

// until polls until ready says yes or the timeout of the command line is over.
func (k *ctl) until(def time.Duration, ready func() (bool, error)) (bool, error) {
	timeout := def
	if t := k.f.get("timeout"); t != "" {
		d, err := time.ParseDuration(t)
		if err != nil {
			return false, fmt.Errorf("error: invalid argument %q for \"--timeout\" flag", t)
		}
		timeout = d
	}
	end := time.Now().Add(max(k.p.Sys.Clock.Real(timeout), 50*time.Millisecond))
	for {
		ok, err := ready()
		if ok || err != nil {
			return ok, err
		}
		if time.Now().After(end) {
			return false, nil
		}
		if !k.n.pause(k.ctx) {
			return false, exit(1)
		}
	}
}

func (k *ctl) wait(args []string) error {
	r, names, err := k.targets(args)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		objs, err := k.list(r, k.ns)
		if err != nil {
			return err
		}
		if len(objs) == 0 {
			return errors.New("error: no matching resources found")
		}
		for _, o := range objs {
			names = append(names, target{r, kubeapi.Name(o)})
		}
	}
	cond, value := k.f.get("for"), ""
	if c, ok := strings.CutPrefix(cond, "condition="); ok {
		cond, value, _ = strings.Cut(c, "=")
		if value == "" {
			value = "True"
		}
	}
	for _, t := range names {
		ok, err := k.until(30*time.Second, func() (bool, error) {
			o, err := k.call(http.MethodGet, k.path(t.res, k.ns, t.name), "", nil)
			switch {
			case err != nil && cond == "delete" && notFound(err):
				return true, nil
			case err != nil:
				return false, err
			case cond == "delete":
				return false, nil
			case strings.EqualFold(cond, "Available") && t.res.Kind == "Deployment":
				return kubeapi.Int(o, "status", "availableReplicas") >= kubeapi.Int(o, "spec", "replicas"), nil
			}
			return strings.EqualFold(conditionStatus(o, cond), value), nil
		})
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("error: timed out waiting for the condition on %s/%s", t.res.Plural, t.name)
		}
		word := "condition met"
		if cond == "delete" {
			word = "deleted"
		}
		k.p.Printf("%s/%s %s\n", typeName(t.res), t.name, word)
	}
	return nil
}

func (k *ctl) rollout(args []string) error {
	if len(args) < 2 {
		return errors.New("error: Required resource not specified.") //nolint:revive // kubectl's words
	}
	_, names, err := k.targets(args[1:])
	if err != nil {
		return err
	}
	for _, t := range names {
		if args[0] != "status" {
			k.p.Printf("%s/%s %sed\n", typeName(t.res), t.name, args[0])
			continue
		}
		ok, err := k.until(10*time.Minute, func() (bool, error) {
			o, err := k.call(http.MethodGet, k.path(t.res, k.ns, t.name), "", nil)
			if err != nil {
				return false, err
			}
			if t.res.Kind == "DaemonSet" {
				return kubeapi.Int(o, "status", "numberReady") >= kubeapi.Int(o, "status", "desiredNumberScheduled") && kubeapi.Int(o, "status", "desiredNumberScheduled") > 0, nil
			}
			return kubeapi.Int(o, "status", "readyReplicas") >= kubeapi.Int(o, "spec", "replicas"), nil
		})
		if err != nil {
			return err
		}
		if !ok {
			return errors.New("error: timed out waiting for the condition")
		}
		k.p.Printf("%s \"%s\" successfully rolled out\n", t.res.Singular, t.name)
	}
	return nil
}

func (k *ctl) logs(args []string) error {
	if len(args) == 0 {
		return errors.New("error: expected 'logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]'.")
	}
	st, b, err := k.c.do(k.ctx, http.MethodGet, "/api/v1/namespaces/"+url.PathEscape(k.ns)+"/pods/"+url.PathEscape(strings.TrimPrefix(args[0], "pod/"))+"/log", "", nil)
	if err != nil {
		return errors.New(connectError(err))
	}
	if st >= 300 {
		return apiError(st, b)
	}
	k.p.Printf("%s", b)
	return nil
}

// exec knows one program in pods: etcdctl in the etcd pods, given as arguments or, with sh, on standard input.
func (k *ctl) exec(args, rest []string) error {
	if len(args) == 0 {
		return errors.New("error: pod, type/name or --filename must be specified")
	}
	pod := strings.TrimPrefix(args[0], "pod/")
	o, err := k.call(http.MethodGet, "/api/v1/namespaces/"+url.PathEscape(k.ns)+"/pods/"+url.PathEscape(pod), "", nil)
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		rest = args[1:]
	}
	if !strings.HasPrefix(kubeapi.Name(o), "etcd-") {
		return fmt.Errorf("error: Internal error occurred: error executing command in container: exec: %q: executable file not found in $PATH", strings.Join(rest, " "))
	}
	cl := k.n.reg.byCA(k.c.ca)
	if cl == nil {
		return errors.New("error: unable to upgrade connection: the cluster is gone")
	}
	lines := [][]string{rest}
	if len(rest) > 0 && (rest[0] == "sh" || rest[0] == "/bin/sh" || rest[0] == "bash") {
		text := ""
		if len(rest) > 2 && rest[1] == "-c" {
			text = rest[2]
		} else {
			b, err := k.p.ReadFile("-")
			if err != nil {
				return err
			}
			text = string(b)
		}
		lines = nil
		for l := range strings.Lines(text) {
			if f := strings.Fields(l); len(f) > 0 {
				lines = append(lines, f)
			}
		}
	}
	for _, l := range lines {
		if err := k.etcdctl(cl, l); err != nil {
			return err
		}
	}
	return nil
}

func (k *ctl) etcdctl(cl *kubeapi.Cluster, words []string) error {
	for len(words) > 0 && strings.Contains(words[0], "=") && !strings.HasPrefix(words[0], "-") {
		words = words[1:]
	}
	if len(words) == 0 || words[0] != "etcdctl" {
		return fmt.Errorf("sh: %s: not found\ncommand terminated with exit code 127", strings.Join(words, " "))
	}
	f := parseFlags(words[1:], "cluster", map[string]string{"w": "write-out"})
	switch cmd := strings.Join(f.args[:min(2, len(f.args))], " "); cmd {
	case "member list":
		for _, m := range cl.Members() {
			k.p.Printf("%s, started, %s, https://%s:2380, https://%s:2379, false\n", m.ID, m.Name, m.Name, m.Name)
		}
	case "member remove":
		for _, m := range cl.Members() {
			if len(f.args) > 2 && m.ID == f.args[2] {
				cl.RemoveMember(m.Name)
				k.p.Printf("Member %s removed from cluster %s\n", m.ID, cl.CAHash()[7:23])
				return nil
			}
		}
		return errors.New("{\"level\":\"warn\",\"msg\":\"retrying of unary invoker failed\",\"error\":\"rpc error: code = NotFound desc = etcdserver: member not found\"}\nError: etcdserver: member not found\ncommand terminated with exit code 1")
	case "endpoint health", "endpoint status":
		if !cl.Quorum() {
			return errors.New("Error: unhealthy cluster\ncommand terminated with exit code 1")
		}
		for _, m := range cl.Members() {
			k.p.Printf("https://%s:2379 is healthy: successfully committed proposal: took = 5ms\n", m.Name)
		}
	default:
		return fmt.Errorf("Error: unknown command %q for \"etcdctl\"\ncommand terminated with exit code 1", cmd)
	}
	return nil
}
