package kubeapi

import (
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func (c call) create() error {
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
	if c.res.Namespaced && c.namespace == "" {
		return notFoundPath()
	}
	out, err := c.h.c.store.Create(c.res, c.namespace, o)
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusCreated, out)
	return nil
}

func (c call) change(patch bool) error {
	update := c.h.c.store.Update
	switch c.sub {
	case "":
	case "status":
		update = c.h.c.store.UpdateStatus
	default:
		return notFoundPath()
	}
	var next func(cur Object) (Object, error)
	if patch {
		p, err := c.patch()
		if err != nil {
			return err
		}
		if p.manager != "" {
			if _, err := c.h.c.store.Get(c.res, c.namespace, c.name); apierrors.IsNotFound(err) {
				Meta(p.object)["name"] = c.name
				if c.dry() {
					return c.dryCreate(p.object)
				}
				out, err := c.h.c.store.Create(c.res, c.namespace, p.object)
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
	if c.dry() {
		return c.dryChange(next)
	}
	out, err := update(c.res, c.namespace, c.name, next)
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusOK, out)
	return nil
}

// dry says that the request must change nothing.
func (c call) dry() bool { return c.req.URL.Query().Get("dryRun") == metav1.DryRunAll }

// dryChange answers with what a change would lead to.
func (c call) dryChange(next func(cur Object) (Object, error)) error {
	cur, err := c.h.c.store.Get(c.res, c.namespace, c.name)
	if err != nil {
		return err
	}
	out, err := next(Copy(cur))
	if err == nil {
		err = c.h.c.store.check(c.res, cur, out)
	}
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusOK, out)
	return nil
}

// dryCreate answers with the object that would be created.
func (c call) dryCreate(o Object) error {
	if c.res.Namespaced {
		if _, err := c.h.c.store.Get(Kind("Namespace"), "", c.namespace); err != nil {
			return err
		}
	}
	if err := c.h.c.store.check(c.res, nil, o); err != nil {
		return err
	}
	writeJSON(c.w, http.StatusCreated, o)
	return nil
}

func (c call) delete() error {
	if c.sub != "" || c.name == "" {
		return apierrors.NewMethodNotSupported(c.res.GroupResource(), "delete")
	}
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
	old, err := c.h.c.store.Get(c.res, c.namespace, c.name)
	if err != nil {
		return err
	}
	if old, err = c.remove(old, String(opts, "preconditions", "uid"), c.grace(opts)); err != nil {
		return err
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
