package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

const kubectlSwitches = "all-namespaces A no-headers show-labels watch w overwrite ignore-daemonsets delete-emptydir-data delete-local-data force ignore-not-found all client raw-output minify raw " +
	"recursive R server-side force-conflicts now stdin i tty t it client-only short cascade insecure-skip-tls-verify wait list save-config validate match-server-version quiet q previous"

var kubectlShort = map[string]string{
	"n": "namespace", "o": "output", "l": "selector", "f": "filename", "A": "all-namespaces", "w": "watch", "L": "label-columns", "s": "server", "c": "container", "k": "kustomize",
	"R": "recursive", "i": "stdin", "t": "tty", "p": "patch",
}

// ctl is one run of kubectl.
type ctl struct {
	n   *Node
	ctx context.Context //nolint:containedctx // lives as long as the call
	p   *process.Proc
	f   flagSet
	c   *client
	ns  string
	all bool
}

// errPrinted says that the message is out already.
var errPrinted = errors.New("printed")

// exit ends kubectl with a status other than 1.
type exit int

func (e exit) Error() string { return strconv.Itoa(int(e)) }

func (n *Node) kubectl(ctx context.Context, p *process.Proc) int {
	args := p.Args[1:]
	var rest []string
	if i := slices.Index(args, "--"); i >= 0 {
		args, rest = args[:i], args[i+1:]
	}
	switches := kubectlSwitches
	if slices.Contains(args, "get") {
		switches = strings.Replace(switches, " raw ", " ", 1)
	}
	// cascade, wait and force may carry a value with =, which parseFlags minds.
	f := parseFlags(args, switches, kubectlShort)
	k := &ctl{n: n, ctx: ctx, p: p, f: f}
	if len(f.args) == 0 {
		p.Printf("kubectl controls the Kubernetes cluster manager.\n")
		return 0
	}
	if f.args[0] == "version" && (f.on("client") || f.on("client-only")) {
		p.Printf("Client Version: %s\nKustomize Version: v5.6.0\n", n.version("kubectl"))
		return 0
	}
	err := k.open()
	if err == nil {
		if k.c != nil {
			defer k.c.close()
		}
		err = k.run(f.args[0], f.args[1:], rest)
	}
	var e exit
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return int(e)
	case errors.Is(err, errPrinted):
	default:
		p.Errorf("%s\n", err.Error())
	}
	return 1
}

// open finds the kubeconfig and makes the client.
func (k *ctl) open() error {
	p, f := k.p, k.f
	name := f.get("kubeconfig")
	explicit := name != ""
	if name == "" {
		if name = p.Env["KUBECONFIG"]; name == "" {
			name = p.Env["HOME"] + "/.kube/config"
		}
	}
	conf := &config{server: "http://localhost:8080"}
	b, err := p.ReadFile(name)
	switch {
	case err == nil:
		if conf, err = loadConfig(b); err != nil {
			return fmt.Errorf("error: error loading config file \"%s\": %w", name, err)
		}
	case explicit:
		return fmt.Errorf("error: stat %s: %s", name, strings.ToLower(process.Reason(err)))
	case process.Reason(err) == "Permission denied":
		return fmt.Errorf("error: error loading config file \"%s\": open %s: permission denied", name, name)
	}
	if s := f.get("server"); s != "" {
		conf.server = s
	}
	if t := f.get("token"); t != "" {
		conf.token, conf.cert = t, nil
	}
	if ca := f.get("certificate-authority"); ca != "" {
		if conf.ca, err = p.ReadFile(ca); err != nil {
			return fmt.Errorf("error: unable to read certificate-authority %s", ca)
		}
	}
	if f.on("insecure-skip-tls-verify") {
		conf.insecure, conf.ca = true, nil
	}
	var timeout time.Duration
	if t := f.get("request-timeout"); t != "" && t != "0" {
		if timeout, err = time.ParseDuration(t); err != nil {
			if timeout, err = time.ParseDuration(t + "s"); err != nil {
				return fmt.Errorf("error: invalid argument %q for \"--request-timeout\" flag", t)
			}
		}
	}
	k.ns = f.get("namespace")
	if k.ns == "" {
		k.ns = conf.namespace
	}
	if k.ns == "" {
		k.ns = "default"
	}
	k.all = f.on("all-namespaces")
	k.c, err = conf.connect(p, timeout)
	return err
}

// call makes a request; answers other than 2xx become kubectl's errors.
func (k *ctl) call(method, path, contentType string, body []byte) (kubeapi.Object, error) {
	st, b, err := k.c.do(k.ctx, method, path, contentType, body)
	if err != nil {
		return nil, errors.New(connectError(err))
	}
	if st >= 300 {
		return nil, apiError(st, b)
	}
	var o kubeapi.Object
	if err := json.Unmarshal(b, &o); err != nil {
		return nil, fmt.Errorf("error: cannot read the answer: %w", err)
	}
	return o, nil
}

// serverError is an answer that refuses.
type serverError struct {
	code         int
	reason, text string
}

func (e *serverError) Error() string {
	if e.code == http.StatusUnauthorized {
		return "error: You must be logged in to the server (Unauthorized)"
	}
	if e.reason == "Invalid" {
		return "The " + strings.TrimPrefix(e.text, "The ")
	}
	return fmt.Sprintf("Error from server (%s): %s", e.reason, e.text)
}

func apiError(code int, b []byte) error {
	var st struct{ Reason, Message string }
	if json.Unmarshal(b, &st) != nil || st.Reason == "" && st.Message == "" {
		return &serverError{code, "InternalError", strings.TrimSpace(string(b))}
	}
	if st.Reason == "" {
		st.Reason = "InternalError"
	}
	return &serverError{code, st.Reason, st.Message}
}

func notFound(err error) bool {
	var e *serverError
	return errors.As(err, &e) && e.code == http.StatusNotFound
}

// resource finds a resource by a name on the command line, asking the server only for what is not built in.
func (k *ctl) resource(name string) (kubeapi.Resource, error) {
	for _, r := range builtinResources() {
		if matches(r, name) {
			return r, nil
		}
	}
	crds, err := k.call(http.MethodGet, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "", nil)
	if err != nil {
		return kubeapi.Resource{}, err
	}
	for _, o := range items(crds) {
		r := custom(o)
		if matches(r, name) {
			return r, nil
		}
	}
	return kubeapi.Resource{}, fmt.Errorf("error: the server doesn't have a resource type \"%s\"", name)
}

// kind finds the resource of a manifest.
func (k *ctl) kind(apiVersion, kind string) (kubeapi.Resource, error) {
	for _, r := range builtinResources() {
		if r.APIVersion() == apiVersion && r.Kind == kind {
			return r, nil
		}
	}
	crds, err := k.call(http.MethodGet, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "", nil)
	if err != nil {
		return kubeapi.Resource{}, err
	}
	for _, o := range items(crds) {
		if r := custom(o); r.Kind == kind && strings.HasPrefix(apiVersion, r.Group+"/") {
			return r, nil
		}
	}
	return kubeapi.Resource{}, fmt.Errorf("error: unable to recognize: no matches for kind \"%s\" in version \"%s\"", kind, apiVersion)
}

func matches(r kubeapi.Resource, name string) bool {
	want, group, has := strings.Cut(strings.ToLower(name), ".")
	if has && group != r.Group {
		return false
	}
	return want == r.Plural || want == r.Singular || want == strings.ToLower(r.Kind) || slices.Contains(r.Short, want)
}

func custom(o kubeapi.Object) kubeapi.Resource {
	r := kubeapi.Resource{
		Group: kubeapi.String(o, "spec", "group"), Kind: kubeapi.String(o, "spec", "names", "kind"), Plural: kubeapi.String(o, "spec", "names", "plural"),
		Singular: kubeapi.String(o, "spec", "names", "singular"), Namespaced: kubeapi.String(o, "spec", "scope") == "Namespaced",
	}
	if vs, _ := kubeapi.At(o, "spec", "versions").([]any); len(vs) > 0 {
		if m, ok := vs[0].(map[string]any); ok {
			r.Version, _ = m["name"].(string)
		}
	}
	return r
}

func items(list kubeapi.Object) []kubeapi.Object {
	l, _ := list["items"].([]any)
	out := make([]kubeapi.Object, 0, len(l))
	for _, x := range l {
		if o, ok := x.(map[string]any); ok {
			if o["kind"] == nil {
				if kd, _ := list["kind"].(string); kd != "" {
					o["kind"] = strings.TrimSuffix(kd, "List")
				}
				o["apiVersion"] = list["apiVersion"]
			}
			out = append(out, o)
		}
	}
	return out
}

// path is the URL of a collection or an object.
func (k *ctl) path(r kubeapi.Resource, ns, name string) string {
	p := r.Prefix()
	if r.Namespaced && ns != "" {
		p += "/namespaces/" + url.PathEscape(ns)
	}
	p += "/" + r.Plural
	if name != "" {
		p += "/" + url.PathEscape(name)
	}
	return p
}

// list fetches a collection with the selectors of the command line.
func (k *ctl) list(r kubeapi.Resource, ns string) ([]kubeapi.Object, error) {
	q := url.Values{}
	if s := k.f.get("selector"); s != "" {
		q.Set("labelSelector", s)
	}
	if s := k.f.get("field-selector"); s != "" {
		q.Set("fieldSelector", s)
	}
	path := k.path(r, ns, "")
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	o, err := k.call(http.MethodGet, path, "", nil)
	if err != nil {
		return nil, err
	}
	return items(o), nil
}

// target is an object named on the command line.
type target struct {
	res  kubeapi.Resource
	name string
}

// targets reads TYPE NAME…, TYPE/NAME… or TYPE (with a selector or --all).
func (k *ctl) targets(args []string) (kubeapi.Resource, []target, error) {
	if len(args) == 0 {
		return kubeapi.Resource{}, nil, errors.New("error: You must specify the type of resource to get. Use \"kubectl api-resources\" for a complete list of supported resources.\n\nerror: required resource not specified")
	}
	if strings.Contains(args[0], "/") {
		var out []target
		for _, a := range args {
			kind, name, _ := strings.Cut(a, "/")
			r, err := k.resource(kind)
			if err != nil {
				return r, nil, err
			}
			out = append(out, target{r, name})
		}
		return out[0].res, out, nil
	}
	r, err := k.resource(args[0])
	if err != nil {
		return r, nil, err
	}
	var out []target
	for _, a := range args[1:] {
		out = append(out, target{r, a})
	}
	return r, out, nil
}

// manifests reads the files of -f: YAML or JSON, several documents, lists taken apart.
func (k *ctl) manifests() ([]kubeapi.Object, error) {
	var out []kubeapi.Object
	for _, name := range k.f.list("filename") {
		data, err := k.manifest(name)
		if err != nil {
			return nil, err
		}
		d := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
		for {
			var o kubeapi.Object
			if err := d.Decode(&o); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("error: error parsing %s: %w", name, err)
			}
			if len(o) == 0 {
				continue
			}
			if o["kind"] == nil {
				return nil, fmt.Errorf("error: error validating \"%s\": error validating data: kind not set; if you choose to ignore these errors, turn validation off with --validate=false", name)
			}
			if l, ok := o["items"].([]any); ok && strings.HasSuffix(fmt.Sprint(o["kind"]), "List") {
				for _, x := range l {
					if m, ok := x.(map[string]any); ok {
						out = append(out, m)
					}
				}
				continue
			}
			out = append(out, o)
		}
	}
	if len(k.f.list("filename")) == 0 {
		return nil, errors.New("error: must specify one of -f and -k")
	}
	return out, nil
}

func (k *ctl) manifest(name string) ([]byte, error) {
	if strings.HasPrefix(name, "https://") || strings.HasPrefix(name, "http://") {
		b, err := k.n.os.Fetch(k.ctx, k.p, name)
		if err != nil {
			return nil, fmt.Errorf("error: unable to read URL \"%s\", %w", name, err)
		}
		return b, nil
	}
	b, err := k.p.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("error: the path \"%s\" does not exist", name)
	}
	return b, nil
}

func encode(o any) []byte {
	b, err := json.Marshal(o)
	if err != nil {
		return []byte("{}")
	}
	return b
}

func toYAML(o any) string {
	b, err := yaml.Marshal(o)
	if err != nil {
		return ""
	}
	return string(b)
}

// run dispatches the command.
func (k *ctl) run(verb string, args, rest []string) error {
	switch verb {
	case "get":
		return k.get(args)
	case "describe":
		return k.describe(args)
	case "apply", "create", "replace":
		return k.create(verb, args)
	case "delete":
		return k.delete(args)
	case "label", "annotate":
		return k.mark(verb, args)
	case "taint":
		return k.taint(args)
	case "cordon", "uncordon":
		return k.cordon(args, verb == "cordon")
	case "drain":
		return k.drain(args)
	case "patch":
		return k.patch(args)
	case "scale":
		return k.scale(args)
	case "wait":
		return k.wait(args)
	case "rollout":
		return k.rollout(args)
	case "exec":
		return k.exec(args, rest)
	case "logs":
		return k.logs(args)
	case "cluster-info":
		if _, err := k.call(http.MethodGet, "/version", "", nil); err != nil {
			return err
		}
		k.p.Printf("Kubernetes control plane is running at %s\nCoreDNS is running at %s/api/v1/namespaces/kube-system/services/kube-dns:dns/proxy\n", k.c.server, k.c.server)
		return nil
	case "version":
		k.p.Printf("Client Version: %s\nKustomize Version: v5.6.0\n", k.n.version("kubectl"))
		o, err := k.call(http.MethodGet, "/version", "", nil)
		if err != nil {
			return err
		}
		k.p.Printf("Server Version: %v\n", o["gitVersion"])
		return nil
	case "config":
		return k.config(args)
	case "api-resources":
		for _, r := range builtinResources() {
			k.p.Printf("%-36s %-12s %-34s %-8v %s\n", r.Plural, strings.Join(r.Short, ","), r.APIVersion(), r.Namespaced, r.Kind)
		}
		return nil
	case "auth":
		return k.canI(args)
	case "completion", "options", "help":
		return nil
	}
	return fmt.Errorf("error: unknown command %q for \"kubectl\"", verb)
}

func (k *ctl) config(args []string) error {
	cfg := k.c.whole
	sub := ""
	if len(args) > 0 {
		sub = args[0]
	}
	switch {
	case cfg == nil:
		k.p.Printf("apiVersion: v1\nclusters: null\ncontexts: null\ncurrent-context: \"\"\nkind: Config\npreferences: {}\nusers: null\n")
	case sub == "current-context":
		k.p.Printf("%s\n", cfg.CurrentContext)
	case sub == "get-contexts":
		for _, n := range slices.Sorted(maps.Keys(cfg.Contexts)) {
			k.p.Printf("*         %s   %s   %s\n", n, cfg.Contexts[n].Cluster, cfg.Contexts[n].AuthInfo)
		}
	case sub == "view":
		text := fmt.Sprintf("apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: DATA+OMITTED\n    server: %s\n  name: %s\ncurrent-context: %s\nkind: Config\n", k.c.server, cfg.Contexts[cfg.CurrentContext].Cluster, cfg.CurrentContext)
		if o := k.f.get("output"); strings.HasPrefix(o, "jsonpath") {
			return k.jsonpath(o, map[string]any{"clusters": []any{map[string]any{"name": cfg.Contexts[cfg.CurrentContext].Cluster, "cluster": map[string]any{"server": k.c.server}}}, "current-context": cfg.CurrentContext})
		}
		k.p.Printf("%s", text)
	case sub == "use-context" || sub == "set-context" || sub == "set-cluster" || sub == "set-credentials":
		k.p.Printf("done.\n")
	}
	return nil
}

func (k *ctl) canI(args []string) error {
	if len(args) < 3 || args[0] != "can-i" {
		return errors.New("error: you must specify two or three arguments: verb, resource, and optional resourceName")
	}
	r, err := k.resource(args[2])
	if err != nil {
		return err
	}
	o, err := k.call(http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "application/json", encode(map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": map[string]any{"verb": args[1], "resource": r.Plural, "group": r.Group, "namespace": k.ns}},
	}))
	if err != nil {
		return err
	}
	if kubeapi.At(o, "status", "allowed") == true {
		k.p.Printf("yes\n")
		return nil
	}
	k.p.Printf("no\n")
	return exit(1)
}
