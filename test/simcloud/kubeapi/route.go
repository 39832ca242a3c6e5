package kubeapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (h *handler) route(w http.ResponseWriter, req *http.Request, u User, path string) error {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	var r []string
	var prefix string
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		prefix, r = "/api/"+parts[1], parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		prefix, r = "/apis/"+parts[1]+"/"+parts[2], parts[3:]
	default:
		a := attributes{verb: strings.ToLower(req.Method), path: cmp.Or(path, "/")}
		if err := h.c.store.authorize(u, a); err != nil {
			return err
		}
		return h.discovery(w, path)
	}
	watch := req.URL.Query().Get("watch")
	c := call{h: h, w: w, req: req, user: u, watch: watch == "true" || watch == "1", store: h.c.store}
	if c.dry = req.URL.Query().Get("dryRun") == metav1.DryRunAll; c.dry {
		c.store = h.c.store.copyOf()
	}
	// namespaces/{ns}/{resource}…, but namespaces/{name} and its subresources are the namespace itself.
	if r[0] == "namespaces" && len(r) >= 3 && r[2] != "status" {
		c.namespace, r = r[1], r[2:]
	}
	all := h.c.store.Resources()
	n := slices.IndexFunc(all, func(res Resource) bool { return res.Prefix() == prefix && res.Plural == r[0] })
	if n < 0 {
		if st, ok := reviews[prefix+"/"+r[0]]; ok {
			return c.review(st)
		}
		return notFoundPath()
	}
	c.res = all[n]
	if len(r) > 1 {
		c.name = r[1]
	}
	if len(r) > 2 {
		c.sub = strings.Join(r[2:], "/")
	}
	err := c.serve()
	if err == nil && !c.dry && isControlled(c.res) && req.Method != http.MethodGet && req.Method != http.MethodHead {
		h.c.control()
	}
	return err
}

func notFoundPath() error {
	e := apierrors.NewNotFound(Resource{}.GroupResource(), "")
	e.ErrStatus.Message = "the server could not find the requested resource"
	e.ErrStatus.Details = &metav1.StatusDetails{}
	return e
}

// writeError answers with a Status object.
func writeError(w http.ResponseWriter, err error) {
	var st apierrors.APIStatus
	s := metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
		Reason: metav1.StatusReasonInternalError, Message: err.Error(),
	}
	if errors.As(err, &st) {
		s = st.Status()
	}
	s.Kind, s.APIVersion = "Status", "v1"
	writeJSON(w, int(s.Code), s)
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(b, '\n'))
}

// call is one request for a resource.
type call struct {
	h                    *handler
	w                    http.ResponseWriter
	req                  *http.Request
	user                 User
	res                  Resource
	namespace, name, sub string
	watch                bool
	store                *Store // of the cluster; a copy for a dry run
	dry                  bool
}

func (c call) verb() string {
	switch c.req.Method {
	case http.MethodGet, http.MethodHead:
		switch {
		case c.watch:
			return "watch"
		case c.name == "":
			return "list"
		}
		return "get"
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		return "delete"
	}
	return strings.ToLower(c.req.Method)
}

func (c call) serve() error {
	verb := c.verb()
	a := attributes{verb: verb, namespace: c.namespace, name: c.name, sub: c.sub, res: c.res}
	if c.res.Kind == "Namespace" && c.name != "" {
		a.namespace = c.name
	}
	if err := c.h.c.store.authorize(c.user, a); err != nil {
		return err
	}
	if err := c.h.ready(); err != nil {
		return err
	}
	if c.res.Namespaced && c.namespace == "" && c.name != "" {
		return notFoundPath()
	}
	switch verb {
	case "watch":
		return c.stream()
	case "list":
		return c.list()
	case "get":
		return c.get()
	case "create":
		return c.create()
	case "update", "patch":
		return c.change(verb == "patch")
	case "delete":
		return c.delete()
	}
	return apierrors.NewMethodNotSupported(c.res.GroupResource(), verb)
}

func (c call) selector() (selector, error) {
	q := c.req.URL.Query()
	return parseSelector(c.res.Kind, q.Get("labelSelector"), q.Get("fieldSelector"))
}

func (c call) list() error {
	sel, err := c.selector()
	if err != nil {
		return err
	}
	all, rev := c.store.List(c.res, c.namespace)
	if c.res.Kind == "Lease" && c.namespace == leaseNamespace {
		all = c.h.c.nodeLeases()
	}
	items := []Object{}
	after := c.req.URL.Query().Get("continue")
	limit, _ := strconv.Atoi(c.req.URL.Query().Get("limit"))
	meta := map[string]any{"resourceVersion": strconv.FormatInt(rev, 10)}
	for _, o := range all {
		if after != "" && key(Namespace(o), Name(o)) <= after || !sel.matches(o) {
			continue
		}
		if limit > 0 && len(items) == limit {
			last := items[len(items)-1]
			meta["continue"] = key(Namespace(last), Name(last))
			break
		}
		items = append(items, o)
	}
	if c.wantsTable() {
		writeJSON(c.w, http.StatusOK, c.table(meta, items...))
		return nil
	}
	writeJSON(c.w, http.StatusOK, map[string]any{
		"kind": c.res.Kind + "List", "apiVersion": c.res.APIVersion(), "metadata": meta, "items": items,
	})
	return nil
}

func (c call) get() error {
	o, err := c.store.Get(c.res, c.namespace, c.name)
	if err != nil {
		return err
	}
	switch c.sub {
	case "scale":
		return c.answerScale(o)
	case "":
		if c.wantsTable() {
			writeJSON(c.w, http.StatusOK, c.table(nil, o))
			return nil
		}
		fallthrough
	case "status":
		writeJSON(c.w, http.StatusOK, o)
	default:
		return notFoundPath()
	}
	return nil
}
