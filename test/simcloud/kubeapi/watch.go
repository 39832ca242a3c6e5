package kubeapi

import (
	"context"
	"fmt"
	"slices"
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

// indexed are the fields by which objects of a kind are selected, besides name and namespace. Other kinds have those
// two only.
var indexed = map[string][]string{
	"Pod": {
		"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "status.phase",
		"status.podIP",
	},
	"Event": {
		"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
		"involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason",
		"reportingComponent", "source", "type",
	},
}

// checkFields refuses a selector of fields that are not indexed.
func checkFields(kind string, f fields.Selector) error {
	for _, r := range f.Requirements() {
		switch {
		case r.Field == "metadata.name" || r.Field == "metadata.namespace":
		case indexed[kind] == nil:
			return apierrors.NewBadRequest(fmt.Sprintf(
				"%q is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", r.Field,
			))
		case !slices.Contains(indexed[kind], r.Field):
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
	return o != nil && (s.labels.Empty() || s.labels.Matches(labelsOf(o))) && s.fields.Matches(fieldSet{o})
}

// fieldSet lets every field that is a text be selected.
type fieldSet struct{ o Object }

// Has implements fields.Fields.
func (f fieldSet) Has(name string) bool { return f.Get(name) != "" }

// Get implements fields.Fields.
func (f fieldSet) Get(name string) string { return String(f.o, strings.Split(name, ".")...) }

// watch calls send for every change after revision from of the objects that match, until ctx ends or send fails. A
// from that is too old gives 410 Gone. idle is called when there is nothing to send for a while.
func (s *Store) watch(
	ctx context.Context, stop <-chan struct{}, r Resource, namespace, name string, sel selector, from int64,
	send func(kind string, o any) error, idle func(rev int64) error,
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
