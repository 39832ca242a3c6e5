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
	out, err := c.store.Create(c.res, c.namespace, o)
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusCreated, out)
	return nil
}

func (c call) change(patch bool) error {
	update := c.store.Update
	switch c.sub {
	case "":
	case "status":
		update = c.store.UpdateStatus
	case "scale":
		return c.changeScale(patch)
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
			if _, err := c.store.Get(c.res, c.namespace, c.name); apierrors.IsNotFound(err) {
				Meta(p.object)["name"] = c.name
				out, err := c.store.Create(c.res, c.namespace, p.object)
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
	out, err := update(c.res, c.namespace, c.name, next)
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusOK, out)
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
	old, err := c.store.Get(c.res, c.namespace, c.name)
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
	if c.res.Kind == "Pod" && !c.dry {
		return c.h.c.deletePod(Namespace(o), Name(o), uid, grace)
	}
	return c.store.Delete(c.res, Namespace(o), Name(o), uid)
}
