package kubeapi

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// action serves POST to a subresource: eviction, token.
func (c call) action() error {
	o, err := c.object()
	if err != nil {
		return err
	}
	switch {
	case c.res.Kind == "Pod" && c.sub == "eviction":
		return c.evict(o)
	case c.res.Kind == "ServiceAccount" && c.sub == "token":
		return c.token(o)
	}
	return notFoundPath()
}

// evict deletes a pod unless a disruption budget forbids it.
func (c call) evict(o Object) error {
	pod, err := c.h.c.store.Get(c.res, c.namespace, c.name)
	if err != nil {
		return err
	}
	for _, b := range c.h.c.list("PodDisruptionBudget", c.namespace) {
		if !selects(At(b, "spec", "selector"), pod) || !isReady(pod) {
			continue
		}
		if st := c.h.c.budget(b); st.left() <= 0 {
			e := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
			e.ErrStatus.Details.Causes = []metav1.StatusCause{{
				Type: "DisruptionBudget",
				Message: fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently",
					Name(b), st.needed, st.healthy),
			}}
			return e
		}
	}
	grace := int64(30)
	if At(o, "deleteOptions", "gracePeriodSeconds") != nil {
		grace = Int(o, "deleteOptions", "gracePeriodSeconds")
	}
	uid := String(o, "deleteOptions", "preconditions", "uid")
	if _, err := c.h.c.deletePod(c.namespace, c.name, uid, grace); err != nil {
		return err
	}
	writeJSON(c.w, http.StatusCreated, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess,
		Code: http.StatusCreated,
	})
	return nil
}

// amount reads a number or a percentage of total.
func amount(v any, total int64) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case string:
		var pct int64
		if _, err := fmt.Sscanf(v, "%d%%", &pct); err == nil {
			return (total*pct + 99) / 100
		}
	}
	return 1
}

func (c call) token(o Object) error {
	sa, err := c.h.c.store.Get(c.res, c.namespace, c.name)
	if err != nil {
		return err
	}
	ttl := time.Duration(Int(o, "spec", "expirationSeconds")) * time.Second
	if ttl <= 0 {
		ttl = time.Hour
	}
	t, err := c.h.c.sign(c.namespace, c.name, String(sa, "metadata", "uid"), "", ttl)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	o["apiVersion"], o["kind"] = "authentication.k8s.io/v1", "TokenRequest"
	o["status"] = map[string]any{"token": t, "expirationTimestamp": c.h.c.now().Add(ttl).UTC().Format(time.RFC3339)}
	writeJSON(c.w, http.StatusCreated, o)
	return nil
}

// reviews are the create-only resources.
var reviews = map[string]string{
	"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": "SelfSubjectAccessReview",
	"/apis/authentication.k8s.io/v1/selfsubjectreviews":      "SelfSubjectReview",
	"/apis/authentication.k8s.io/v1/tokenreviews":            "TokenReview",
}

func (c call) review(kind string) error {
	o, err := c.object()
	if err != nil && !strings.Contains(err.Error(), "unknown conversion") {
		return err
	}
	if c.req.Method != http.MethodPost {
		return apierrors.NewMethodNotSupported(c.res.GroupResource(), strings.ToLower(c.req.Method))
	}
	switch kind {
	case "TokenReview":
		u, ok := c.h.c.bearer(String(o, "spec", "token"))
		o["status"] = Object{"authenticated": ok, "user": userInfo(u)}
	case "SelfSubjectReview":
		o["status"] = Object{"userInfo": userInfo(c.user)}
	default:
		want := func(name string) string { return String(o, "spec", "resourceAttributes", name) }
		a := attributes{
			verb: want("verb"), namespace: want("namespace"), name: want("name"), sub: want("subresource"),
			res: Resource{Group: want("group"), Plural: want("resource")},
		}
		o["status"] = Object{"allowed": c.h.c.store.authorize(c.user, a) == nil}
	}
	writeJSON(c.w, http.StatusCreated, o)
	return nil
}

func userInfo(u User) Object {
	groups := make([]any, 0, len(u.Groups))
	for _, g := range u.Groups {
		groups = append(groups, g)
	}
	return Object{"username": u.Name, "groups": groups}
}
