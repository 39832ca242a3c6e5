package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// ctl is one run of kubectl.
type ctl struct {
	n   *Node
	ctx context.Context //nolint:containedctx // lives as long as the call
	p   *process.Proc
	f   *process.Flags
	c   *client
	ns  string
}

// errPrinted says that the message is out already.
var errPrinted = errors.New("printed")

func (n *Node) kubectl(ctx context.Context, p *process.Proc) int {
	var rest []string
	if i := slices.Index(p.Args, "--"); i >= 0 {
		p.Args, rest = p.Args[:i], p.Args[i+1:]
	}
	f, ok := p.Options(false, "n:o:l:A", "kubeconfig:=kubeconfig", "server:=server", "request-timeout:=timeout",
		"namespace:=n", "output:=o",
		"selector:=l", "all-namespaces=A", "no-headers=no-headers", "ignore-not-found=ignore", "raw:=raw")
	if !ok {
		return 1
	}
	if len(f.Args) == 0 {
		p.Printf("kubectl controls the Kubernetes cluster manager.\n")
		return 0
	}
	k := &ctl{n: n, ctx: ctx, p: p, f: f}
	err := k.open()
	if err == nil {
		defer k.c.close()
		err = k.run(f.Args[0], f.Args[1:], rest)
	}
	if err != nil && !errors.Is(err, errPrinted) {
		p.Errorf("%s\n", describe(err))
	}
	if err != nil {
		return 1
	}
	return 0
}

// run dispatches the command.
func (k *ctl) run(verb string, args, rest []string) error {
	switch verb {
	case "get":
		return k.get(args)
	case "delete":
		return k.delete(args)
	case "exec":
		return k.exec(args, rest)
	}
	return fmt.Errorf("error: unknown command %q for \"kubectl\": get, delete and exec are simulated", verb)
}

// open finds the kubeconfig and makes the client.
func (k *ctl) open() error {
	p, f := k.p, k.f
	name := f.Val("kubeconfig")
	explicit := name != ""
	name = cmp.Or(name, p.Env["KUBECONFIG"], p.Env["HOME"]+"/.kube/config")
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
	if s := f.Val("server"); s != "" {
		conf.server = s
	}
	var timeout time.Duration
	if t := f.Val("timeout"); t != "" {
		if timeout, err = time.ParseDuration(t); err != nil {
			return fmt.Errorf("error: invalid argument %q for \"--request-timeout\" flag", t)
		}
	}
	k.ns = cmp.Or(f.Val("n"), conf.namespace, "default")
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

// apiError is an answer that refuses.
func apiError(code int, body []byte) error {
	st := metav1.Status{Code: int32(code)}
	if json.Unmarshal(body, &st) != nil || st.Reason == "" && st.Message == "" {
		st.Message = strings.TrimSpace(string(body))
	}
	st.Reason = cmp.Or(st.Reason, metav1.StatusReasonInternalError)
	return &apierrors.StatusError{ErrStatus: st}
}

// describe returns an error as kubectl prints it.
func describe(err error) string {
	var st *apierrors.StatusError
	if !errors.As(err, &st) {
		return err.Error()
	}
	switch {
	case apierrors.IsUnauthorized(err):
		return "error: You must be logged in to the server (Unauthorized)"
	case apierrors.IsInvalid(err):
		return "The " + strings.TrimPrefix(st.ErrStatus.Message, "The ")
	}
	return fmt.Sprintf("Error from server (%s): %s", st.ErrStatus.Reason, st.ErrStatus.Message)
}

// resource finds a resource by a name on the command line.
func resource(name string) (kubeapi.Resource, error) {
	r, ok := kubeapi.Find(name)
	if !ok {
		return r, fmt.Errorf("error: the server doesn't have a resource type \"%s\"", name)
	}
	return r, nil
}

func items(list kubeapi.Object) (out []kubeapi.Object) {
	l, _ := list["items"].([]any)
	for _, x := range l {
		if o, ok := x.(map[string]any); ok {
			out = append(out, o)
		}
	}
	return out
}

// targets reads TYPE NAME… or TYPE/NAME….
func (k *ctl) targets(args []string) (r kubeapi.Resource, names []string, err error) {
	if len(args) == 0 {
		return r, nil, errors.New("error: required resource not specified")
	}
	kind, name, slash := strings.Cut(args[0], "/")
	if slash {
		names = append(names, name)
	}
	r, err = resource(kind)
	return r, append(names, args[1:]...), err
}

// each calls do for every name, prints what is not found, and goes on.
func (k *ctl) each(names []string, do func(name string) error) error {
	result := error(nil)
	for _, name := range names {
		err := do(name)
		switch {
		case err == nil, apierrors.IsNotFound(err) && k.f.Has("ignore"):
		case apierrors.IsNotFound(err):
			k.p.Errorf("%s\n", describe(err))
			result = errPrinted
		default:
			return err
		}
	}
	return result
}

func (k *ctl) delete(args []string) error {
	r, names, err := k.targets(args)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return errors.New("error: resource(s) were provided, but no name was specified")
	}
	return k.each(names, func(name string) error {
		_, err := k.call(http.MethodDelete, r.Path(k.ns, name), "", nil)
		if err == nil {
			k.p.Printf("%s \"%s\" deleted\n", typeName(r), name)
		}
		return err
	})
}

// get prints objects as -o says, or else what the server lays out in columns.
func (k *ctl) get(args []string) error {
	if raw := k.f.Val("raw"); raw != "" {
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
	r, names, err := k.targets(args)
	if err != nil {
		return err
	}
	if k.f.Has("A") {
		k.ns = ""
	}
	if len(names) > 0 {
		return k.each(names, func(name string) error { return k.show(r, r.Path(k.ns, name)) })
	}
	path := r.Path(k.ns, "")
	if s := k.f.Val("l"); s != "" {
		path += "?labelSelector=" + url.QueryEscape(s)
	}
	return k.show(r, path)
}

// show prints what is at a path.
func (k *ctl) show(r kubeapi.Resource, path string) error {
	out := k.f.Val("o")
	k.c.table = out == "" || out == "wide"
	o, err := k.call(http.MethodGet, path, "", nil)
	if err != nil {
		return err
	}
	template, isPath := strings.CutPrefix(out, "jsonpath=")
	switch {
	case k.c.table:
		return k.table(o, out == "wide")
	case out == "name":
		for _, x := range append(items(o), o) {
			if n := kubeapi.Name(x); n != "" {
				k.p.Printf("%s/%s\n", typeName(r), n)
			}
		}
		return nil
	case isPath:
		jp := jsonpath.New("out").AllowMissingKeys(true)
		if err := jp.Parse(template); err != nil {
			return fmt.Errorf("error: error parsing jsonpath %s, %w", template, err)
		}
		return jp.Execute(k.p.Out(), o)
	case out == "yaml":
		b, err := yaml.Marshal(o)
		k.p.Printf("%s", b)
		return err
	case out == "json":
		b, err := json.MarshalIndent(o, "", "    ")
		k.p.Printf("%s\n", b)
		return err
	}
	return fmt.Errorf("error: unable to match a printer suitable for the output format %q, "+
		"allowed formats are: json,jsonpath,name,wide,yaml", out)
}

// table prints the columns that the server sends.
func (k *ctl) table(o kubeapi.Object, wide bool) error {
	var t metav1.Table
	if err := json.Unmarshal(encode(o), &t); err != nil {
		return fmt.Errorf("error: cannot read the answer: %w", err)
	}
	if len(t.Rows) == 0 {
		k.p.Errorf("No resources found\n")
		return nil
	}
	w := tabwriter.NewWriter(k.p.Out(), 0, 8, 3, ' ', 0)
	line := func(cell func(i int) string) {
		var cells []string
		for i, c := range t.ColumnDefinitions {
			if wide || c.Priority == 0 {
				cells = append(cells, cell(i))
			}
		}
		_, _ = fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	if !k.f.Has("no-headers") {
		line(func(i int) string { return strings.ToUpper(t.ColumnDefinitions[i].Name) })
	}
	for _, row := range t.Rows {
		line(func(i int) string { return fmt.Sprint(row.Cells[i]) })
	}
	return w.Flush()
}

// typeName is how kubectl names a resource in its messages: "deployment.apps", "node".
func typeName(r kubeapi.Resource) string {
	if r.Group == "" {
		return r.Singular
	}
	return r.Singular + "." + r.Group
}

func encode(o any) []byte {
	b, err := json.Marshal(o)
	if err != nil {
		return []byte("{}")
	}
	return b
}
