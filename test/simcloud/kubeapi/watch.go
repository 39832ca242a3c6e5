package kubeapi

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// selector picks objects by labels and fields.
type selector struct {
	labels labels.Selector
	fields fields.Selector
}

// fieldsOf are the fields by which objects of a kind are selected, besides name and namespace; nil: by those two only.
var fieldsOf = map[string][]string{
	"Pod": {
		"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
		"status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName",
	},
	"Node":      {"spec.unschedulable"},
	"Namespace": {"status.phase"},
	"Secret":    {"type"},
	"Event": {
		"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
		"involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason",
		"reportingComponent", "source", "type",
	},
}

// checkFields refuses a selector of fields that are not indexed.
func checkFields(kind string, f fields.Selector) error {
	own := fieldsOf[kind]
	for _, r := range f.Requirements() {
		switch {
		case r.Field == "metadata.name" || r.Field == "metadata.namespace" || slices.Contains(own, r.Field):
		case own == nil:
			return apierrors.NewBadRequest(fmt.Sprintf(
				"%q is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", r.Field,
			))
		default:
			return apierrors.NewBadRequest("field label not supported: " + r.Field)
		}
	}
	return nil
}

func parseSelector(kind, label, field string) (selector, error) {
	l, err := labels.Parse(label)
	if err != nil {
		return selector{}, apierrors.NewBadRequest("unable to parse requirement: " + err.Error())
	}
	f, err := fields.ParseSelector(field)
	if err != nil {
		return selector{}, apierrors.NewBadRequest("unable to parse field selector: " + err.Error())
	}
	return selector{l, f}, checkFields(kind, f)
}

func (s selector) matches(o Object) bool {
	if o == nil {
		return false
	}
	if !s.labels.Empty() {
		set := labels.Set{}
		m, _ := At(o, "metadata", "labels").(map[string]any)
		for k, v := range m {
			t, _ := v.(string)
			set[k] = t
		}
		if !s.labels.Matches(set) {
			return false
		}
	}
	return s.fields.Empty() || s.fields.Matches(fieldSet{o})
}

// fieldSet lets every field with a scalar value be selected.
type fieldSet struct{ o Object }

// Has implements fields.Fields.
func (f fieldSet) Has(name string) bool { return f.Get(name) != "" }

// Get implements fields.Fields.
func (f fieldSet) Get(name string) string {
	switch v := At(f.o, strings.Split(name, ".")...).(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	}
	if name == "spec.unschedulable" {
		return "false"
	}
	return ""
}

// watch calls send for every change after revision from of the objects that match, until ctx ends or send fails. A
// from that is too old gives 410 Gone. idle is called when there is nothing to send for a while.
func (s *Store) watch(
	ctx context.Context, stop <-chan struct{}, r Resource, namespace, name string, sel selector, from int64, send func(
		kind string, o Object,
	) error, idle func(rev int64) error,
) error {
	const every = 30 * time.Second
	tick := time.NewTicker(every)
	defer tick.Stop()
	gr := r.GR()
	for {
		s.mu.RLock()
		changed, rev := s.changed, s.rev
		var batch []event
		if len(s.events) > 0 && s.events[0].rev > from+1 && from < s.rev {
			s.mu.RUnlock()
			return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", from, s.events[0].rev))
		}
		for i := len(s.events) - 1; i >= 0 && s.events[i].rev > from; i-- {
			if s.events[i].gr == gr {
				batch = append(batch, s.events[i])
			}
		}
		s.mu.RUnlock()
		for _, e := range slices.Backward(batch) {

			if namespace != "" && Namespace(e.obj) != namespace || name != "" && Name(e.obj) != name {
				continue
			}
			is, was := sel.matches(e.obj), sel.matches(e.prev)
			kind := e.kind
			switch {
			case kind == "DELETED" && !was:
				continue
			case kind == "MODIFIED" && is && !was:
				kind = "ADDED"
			case kind == "MODIFIED" && !is && was:
				kind = "DELETED"
			case !is && kind != "DELETED":
				continue
			}
			if err := send(kind, e.obj); err != nil {
				return err
			}
		}
		from = rev
		select {
		case <-changed:
		case <-tick.C:
			if err := idle(rev); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		case <-stop:
			return nil
		}
	}
}
