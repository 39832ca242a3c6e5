package kubeapi

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Object is an API object in JSON form. Objects handed out by a Store must not be changed.
type Object = map[string]any

// maxEvents bounds the history that watches can start from.
const maxEvents = 4096

// event is one change.
type event struct {
	rev       int64
	kind      string // ADDED, MODIFIED, DELETED
	gr        string
	obj, prev Object
}

// Store holds the objects of one cluster. It is safe for concurrent use.
type Store struct {
	now func() time.Time

	mu        sync.RWMutex
	objs      map[string]map[string]Object // by GR, then namespace/name
	rev       int64
	events    []event
	changed   chan struct{}
	onCreate  func(Resource, Object) error // completes or refuses a new object
	appliedBy map[string][]byte            // by GR, namespace/name and manager: what it has applied last
	nodePorts portRange
}

// NewStore returns a cluster with the namespaces and roles that every cluster has. now stamps objects.
func NewStore(now func() time.Time) *Store {
	s := &Store{
		now: now, objs: map[string]map[string]Object{},
		appliedBy: map[string][]byte{}, rev: 1, changed: make(chan struct{}), nodePorts: usualPorts,
	}
	for _, ns := range []string{"default", "kube-system", "kube-public", "kube-node-lease"} {
		s.mustCreate("Namespace", "", ns, nil)
	}
	s.bootstrapRoles()
	return s
}

func key(namespace, name string) string { return namespace + "/" + name }

// Rev is the present resource version.
func (s *Store) Rev() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.rev
}

// Get returns an object.
func (s *Store) Get(r Resource, namespace, name string) (Object, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if o, ok := s.objs[r.GR()][key(namespace, name)]; ok {
		return o, nil
	}
	return nil, apierrors.NewNotFound(r.GroupResource(), name)
}

// List returns the objects of a namespace (all of them for ""), sorted by namespace and name, and the resource version.
func (s *Store) List(r Resource, namespace string) ([]Object, int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	m := s.objs[r.GR()]
	keys := slices.Sorted(maps.Keys(m))
	out := make([]Object, 0, len(keys))
	for _, k := range keys {
		if namespace == "" || strings.HasPrefix(k, namespace+"/") {
			out = append(out, m[k])
		}
	}
	return out, s.rev
}

// applied remembers what a manager applies to an object, and returns what it has applied before.
func (s *Store) applied(r Resource, namespace, name, manager string, now []byte) (before []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := r.GR() + " " + key(namespace, name) + " " + manager
	before = s.appliedBy[k]
	if _, there := s.objs[r.GR()][key(namespace, name)]; !there {
		before = nil // of an object that was deleted
	}
	s.appliedBy[k] = now
	return before
}

// Meta returns the metadata of an object, creating it if it is missing.
func Meta(o Object) map[string]any {
	m, ok := o["metadata"].(map[string]any)
	if !ok {
		m = map[string]any{}
		o["metadata"] = m
	}
	return m
}

// Name and Namespace of an object.
func names(o Object) (namespace, name string) {
	m, _ := o["metadata"].(map[string]any)
	namespace, _ = m["namespace"].(string)
	name, _ = m["name"].(string)
	return namespace, name
}

// Name is the name of an object.
func Name(o Object) string { _, n := names(o); return n }

// Namespace is the namespace of an object.
func Namespace(o Object) string { n, _ := names(o); return n }

// At digs a value out of nested maps; nil if a step is missing.
func At(o Object, path ...string) any {
	var v any = o
	for _, p := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[p]
	}
	return v
}

// String is At as a string.
func String(o Object, path ...string) string {
	t, _ := At(o, path...).(string)
	return t
}

// Int is At as an integer.
func Int(o Object, path ...string) int64 {
	switch v := At(o, path...).(type) {
	case int64:
		return v
	case float64:
		return int64(v)
	}
	return 0
}

// Set stores a value in nested maps, making the missing ones.
func Set(o Object, v any, path ...string) {
	m := o
	for _, p := range path[:len(path)-1] {
		next, ok := m[p].(map[string]any)
		if !ok {
			next = map[string]any{}
			m[p] = next
		}
		m = next
	}
	m[path[len(path)-1]] = v
}

// Copy is a deep copy.
func Copy(o Object) Object { return runtime.DeepCopyJSON(o) }

// Create stores a new object. The given one is not kept.
func (s *Store) Create(r Resource, namespace string, in Object) (Object, error) {
	o := Copy(in)
	m := Meta(o)
	if ns, _ := m["namespace"].(string); r.Namespaced && ns != "" && ns != namespace {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the namespace of the provided object does not match the "+
			"namespace sent on the request (%s != %s)", ns, namespace))
	}
	delete(m, "namespace")
	if r.Namespaced {
		m["namespace"] = namespace
	}
	name, path := Name(o), field.NewPath("metadata", "name")
	if name == "" {
		return nil, r.invalid("", field.Required(path, "name or generateName is required"))
	}
	if s.terminating(namespace) && r.Namespaced {
		e := apierrors.NewForbidden(r.GroupResource(), name, fmt.Errorf(
			"unable to create new content in namespace %s because it is being terminated", namespace))
		e.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: "NamespaceTerminating"}}
		return nil, e
	}
	if errs := validation.IsDNS1123Subdomain(name); len(errs) > 0 && r.Group != "rbac.authorization.k8s.io" {
		return nil, r.invalid(name, field.Invalid(path, name, errs[0]))
	}
	o["apiVersion"], o["kind"] = r.APIVersion(), r.Kind
	if err := s.prepare(r, o); err != nil {
		return nil, err
	}
	if s.onCreate != nil {
		if err := s.onCreate(r, o); err != nil {
			return nil, err
		}
	}
	m["uid"] = uuid.NewString()
	m["creationTimestamp"] = s.now().UTC().Format(time.RFC3339)
	if r.Status {
		m["generation"] = int64(1)
	}
	if err := s.insert(r, o); err != nil {
		return nil, err
	}
	s.created(r, o)
	return o, nil
}

// insert stores an object if its name is free and its namespace exists.
func (s *Store) insert(r Resource, o Object) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	namespace, name := names(o)
	if _, ok := s.objs[r.GR()][key(namespace, name)]; ok {
		return apierrors.NewAlreadyExists(r.GroupResource(), name)
	}
	if _, ok := s.objs["namespaces"][key("", namespace)]; r.Namespaced && !ok {
		return apierrors.NewNotFound(Kind("Namespace").GroupResource(), namespace)
	}
	s.put(r, "ADDED", o, nil)
	return nil
}

// put stores an object and records the event. The lock is held.
func (s *Store) put(r Resource, kind string, o, prev Object) {
	s.rev++
	Meta(o)["resourceVersion"] = strconv.FormatInt(s.rev, 10)
	gr, k := r.GR(), key(Namespace(o), Name(o))
	if kind == "DELETED" {
		delete(s.objs[gr], k)
	} else {
		if s.objs[gr] == nil {
			s.objs[gr] = map[string]Object{}
		}
		s.objs[gr][k] = o
	}
	s.events = append(s.events, event{s.rev, kind, gr, o, prev})
	if len(s.events) > maxEvents {
		s.events = slices.Clone(s.events[maxEvents/2:])
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// Update replaces an object by the result of change, which gets a copy of it. A resourceVersion in the result must be
// the present one. The status stays if the resource has that subresource.
func (s *Store) Update(
	r Resource, namespace, name string, change func(Object) (Object, error),
) (Object, error) {
	return s.update(r, namespace, name, false, change)
}

// UpdateStatus is Update for the status: the rest of the object stays.
func (s *Store) UpdateStatus(
	r Resource, namespace, name string, change func(Object) (Object, error),
) (Object, error) {
	return s.update(r, namespace, name, true, change)
}

func (s *Store) update(
	r Resource, namespace, name string, status bool, change func(Object) (Object, error),
) (Object, error) {
	for {
		cur, err := s.Get(r, namespace, name)
		if err != nil {
			return nil, err
		}
		next, err := change(Copy(cur))
		if err != nil {
			return nil, err
		}
		o, again, err := s.replace(r, cur, next, status)
		if !again {
			return o, err
		}
	}
}

func (s *Store) replace(r Resource, cur, next Object, status bool) (o Object, again bool, err error) {
	namespace, name := names(cur)
	m := Meta(next)
	sent, _ := m["resourceVersion"].(string)
	if sent != "" && sent != Meta(cur)["resourceVersion"] {
		return nil, false, apierrors.NewConflict(r.GroupResource(), name, errors.New(
			"the object has been modified; please apply your changes to the latest version and try again",
		))
	}
	if n, _ := m["name"].(string); n != "" && n != name {
		return nil, false, apierrors.NewBadRequest(fmt.Sprintf(
			"the name of the object (%s) does not match the name on the URL (%s)", n, name))
	}
	if u, _ := m["uid"].(string); u != "" && u != Meta(cur)["uid"] {
		return nil, false, updateOfAnother(r, name, u, Meta(cur)["uid"])
	}
	if status {
		st := next["status"]
		next = Copy(cur)
		if st != nil {
			next["status"] = st
		}
	} else if r.Status && r.Kind != "Namespace" {
		if st, ok := cur["status"]; ok {
			next["status"] = st
		} else {
			delete(next, "status")
		}
	}
	m = Meta(next)
	for _, k := range []string{"uid", "creationTimestamp", "generation", "deletionTimestamp"} {
		if v, ok := Meta(cur)[k]; ok {
			m[k] = v
		} else {
			delete(m, k)
		}
	}
	m["name"] = name
	if r.Namespaced {
		m["namespace"] = namespace
	}
	next["apiVersion"], next["kind"] = r.APIVersion(), r.Kind
	m["resourceVersion"] = Meta(cur)["resourceVersion"]
	if r.Kind == "Service" {
		if err := s.fillPorts(r, next, cur); err != nil {
			return nil, false, err
		}
	}
	if equal(cur, next) {
		return cur, false, nil
	}
	if !equalAny(cur["spec"], next["spec"]) && m["generation"] != nil {
		m["generation"] = Int(cur, "metadata", "generation") + 1
	}
	if err := s.check(r, cur, next); err != nil {
		return nil, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now, ok := s.objs[r.GR()][key(namespace, name)]
	if !ok {
		return nil, false, apierrors.NewNotFound(r.GroupResource(), name)
	}
	if Meta(now)["resourceVersion"] != Meta(cur)["resourceVersion"] {
		return nil, true, nil // another request was faster: read again
	}
	if fin, _ := m["finalizers"].([]any); m["deletionTimestamp"] != nil && len(fin) == 0 {
		s.put(r, "DELETED", next, cur)
		return next, false, nil
	}
	s.put(r, "MODIFIED", next, cur)
	return next, false, nil
}

// Delete removes an object, or marks it if finalizers hold it. uid, if not empty, must be the object's.
func (s *Store) Delete(r Resource, namespace, name, uid string) (Object, error) {
	return s.delete(r, namespace, name, uid, 0)
}

// delete is Delete for an object that gets some seconds to stop.
func (s *Store) delete(r Resource, namespace, name, uid string, grace int64) (Object, error) {
	o, gone, err := s.mark(r, namespace, name, uid, grace)
	if gone {
		s.deleted(r, o)
	}
	return o, err
}

// mark marks an object as being deleted. It removes the object if finalizers and time do not hold it.
func (s *Store) mark(r Resource, namespace, name, uid string, grace int64) (o Object, gone bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.objs[r.GR()][key(namespace, name)]
	switch {
	case !ok:
		return nil, false, apierrors.NewNotFound(r.GroupResource(), name)
	case uid != "" && Meta(o)["uid"] != uid:
		return nil, false, anotherObject(r, name, uid, Meta(o)["uid"])
	}
	next := Copy(o)
	finalizers, _ := Meta(o)["finalizers"].([]any)
	switch {
	case len(finalizers) == 0 && grace == 0 && r.Kind != "Namespace":
		s.put(r, "DELETED", next, o)
		return next, true, nil
	case Meta(o)["deletionTimestamp"] == nil:
		end := s.now().Add(time.Duration(grace) * time.Second)
		Meta(next)["deletionTimestamp"] = end.UTC().Format(time.RFC3339)
		if Meta(next)["deletionGracePeriodSeconds"] = grace; r.Kind == "Namespace" {
			delete(Meta(next), "deletionGracePeriodSeconds")
			Set(next, "Terminating", "status", "phase")
		}
		s.put(r, "MODIFIED", next, o)
	}
	return next, false, nil
}

// mustCreate makes an object of a built-in kind from its parts; it panics if that fails, which is a bug of the caller.
func (s *Store) mustCreate(kind, namespace, name string, rest Object) {
	o := Object{}
	if rest != nil {
		o = Copy(rest)
	}
	Meta(o)["name"] = name
	if _, err := s.Create(Kind(kind), namespace, o); err != nil {
		panic(err)
	}
}
