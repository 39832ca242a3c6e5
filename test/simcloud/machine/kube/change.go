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
