package kubeapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// stream serves a watch.
func (c call) stream() error {
	sel, err := c.selector()
	if err != nil {
		return err
	}
	q := c.req.URL.Query()
	from, rv := int64(0), q.Get("resourceVersion")
	sendInitial := q.Get("sendInitialEvents") == "true"
	initial := rv == "" || rv == "0" || sendInitial
	if !initial {
		if from, err = strconv.ParseInt(rv, 10, 64); err != nil {
			return apierrors.NewBadRequest("invalid resource version: " + rv)
		}
	}
	ctx := c.req.Context()
	if n, err := strconv.Atoi(q.Get("timeoutSeconds")); err == nil && n > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(n)*time.Second)
		defer cancel()
	}
	flush := http.NewResponseController(c.w)
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(http.StatusOK)
	_ = flush.Flush()
	enc := json.NewEncoder(c.w)
	send := func(kind string, o any) error {
		if err := enc.Encode(map[string]any{"type": kind, "object": o}); err != nil {
			return err
		}
		return flush.Flush()
	}
	bookmark := func(rev int64, end bool) error {
		meta := map[string]any{"resourceVersion": strconv.FormatInt(rev, 10)}
		if end {
			meta["annotations"] = map[string]any{metav1.InitialEventsAnnotationKey: "true"}
		}
		return send("BOOKMARK", map[string]any{"kind": c.res.Kind, "apiVersion": c.res.APIVersion(), "metadata": meta})
	}
	if initial {
		all, rev := c.h.c.store.List(c.res, c.namespace)
		for _, o := range all {
			if (c.name == "" || Name(o) == c.name) && sel.matches(o) {
				if send("ADDED", o) != nil {
					return nil
				}
			}
		}
		from = rev
		if sendInitial && bookmark(rev, true) != nil {
			return nil
		}
	}
	idle := func(rev int64) error {
		if q.Get("allowWatchBookmarks") != "true" {
			return nil
		}
		return bookmark(rev, false)
	}
	err = c.h.c.store.watch(ctx, c.h.c.watches(), c.res, c.namespace, c.name, sel, from, send, idle)
	var st apierrors.APIStatus
	if errors.As(err, &st) {
		s := st.Status()
		s.Kind, s.APIVersion = "Status", "v1"
		_ = send("ERROR", s)
	}
	return nil
}
