package kubeapi

import (
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func (c call) create(dry bool) error {
	if c.sub != "" {
		return c.action()
	}
	o, err := c.object()
	if err != nil {
		return err
	}
	if c.name != "" {
		return apierrors.NewMethodNotSupported(c.res.GroupResource(), "create")
	}
	ns := c.namespace
	if c.res.Namespaced && ns == "" {
		return notFoundPath()
	}
	out, err := c.h.c.store.Create(c.res, ns, o, dry)
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusCreated, out)
	return nil
}

func (c call) change(patch, dry bool) error {
	if c.sub != "" && c.sub != "status" && c.sub != "scale" && c.sub != "finalize" {
		return notFoundPath()
	}
	var next func(cur Object) (Object, error)
	code := http.StatusOK
	if patch {
		p, err := c.patch()
		if err != nil {
			return err
		}
		if p.manager != "" {
			if _, err := c.h.c.store.Get(c.res, c.namespace, c.name); apierrors.IsNotFound(err) {
				Meta(p.object)["name"] = c.name
				out, err := c.h.c.store.Create(c.res, c.namespace, p.object, dry)
				if err != nil {
					return err
				}
				writeJSON(c.w, http.StatusCreated, out)
				return nil
			}
		}
		next = p.run
	} else {
		o, err := c.object()
		if err != nil {
			return err
		}
		next = func(Object) (Object, error) { return Copy(o), nil }
	}
	var out Object
	var err error
	if c.sub == "scale" {
		out, err = c.scale(next, dry)
	} else {
		out, err = c.h.c.store.Update(c.res, c.namespace, c.name, c.sub == "status", dry, next)
	}
	if err != nil {
		return err
	}
	writeJSON(c.w, code, out)
	return nil
}

func (c call) delete() error {
	b, kind, err := c.body()
	if err != nil {
		return err
	}
	opts := Object{}
	if len(b) > 0 {
		if kind == "application/vnd.kubernetes.protobuf" {
			opts, err = c.protobuf(b)
		} else {
			opts, err = decode(b)
		}
		if err != nil {
			return err
		}
	}
	if c.sub != "" {
		return apierrors.NewMethodNotSupported(c.res.GroupResource(), "delete")
	}
	old, err := c.h.c.store.Get(c.res, c.namespace, c.name)
	if err != nil {
		return err
	}
	if c.req.URL.Query().Get("dryRun") != "All" {
		if old, err = c.remove(old, String(opts, "preconditions", "uid"), c.grace(opts)); err != nil {
			return err
		}
	}
	if c.res.Kind == "Pod" || Meta(old)["deletionTimestamp"] != nil {
		writeJSON(c.w, http.StatusOK, old)
		return nil
	}
	writeJSON(c.w, http.StatusOK, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess,
		Details: &metav1.StatusDetails{
			Name: c.name, Group: c.res.Group, Kind: c.res.Plural, UID: types.UID(String(old, "metadata", "uid")),
		},
	})
	return nil
}

// grace is how long pods get to stop, in seconds.
func (c call) grace(opts Object) int64 {
	if n, err := strconv.ParseInt(c.req.URL.Query().Get("gracePeriodSeconds"), 10, 64); err == nil {
		return n
	}
	if At(opts, "gracePeriodSeconds") != nil {
		return Int(opts, "gracePeriodSeconds")
	}
	return 30
}

func (c call) remove(o Object, uid string, grace int64) (Object, error) {
	if c.res.Kind == "Pod" {
		return c.h.c.deletePod(Namespace(o), Name(o), uid, grace)
	}
	return c.h.c.store.Delete(c.res, Namespace(o), Name(o), uid)
}

func (c call) deleteAll() error {
	sel, err := c.selector()
	if err != nil {
		return err
	}
	all, _ := c.h.c.store.List(c.res, c.namespace)
	for _, o := range all {
		if sel.matches(o) {
			if _, err := c.remove(o, "", c.grace(nil)); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
	}
	writeJSON(c.w, http.StatusOK, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess,
	})
	return nil
}
