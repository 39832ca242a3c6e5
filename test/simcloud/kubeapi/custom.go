package kubeapi

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

const definitionKind = "CustomResourceDefinition"

// Resources returns the built-in resources and those that CustomResourceDefinitions define.
func (s *Store) Resources() []Resource {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.resources()
}

// resources is Resources; the lock is held.
func (s *Store) resources() []Resource {
	out := slices.Clip(builtin)
	definitions := s.objs["customresourcedefinitions.apiextensions.k8s.io"]
	for _, name := range slices.Sorted(maps.Keys(definitions)) {
		d := definitions[name]
		base, ok := customResource(d)
		if !ok {
			continue
		}
		for _, v := range objectsAt(d, "spec", "versions") {
			if v["served"] == true {
				r := base
				r.Version, r.Status = String(v, "name"), At(v, "subresources", "status") != nil
				out = append(out, r)
			}
		}
	}
	return out
}

// customResource returns the resource of a definition, without a version.
func customResource(d Object) (Resource, bool) {
	text := func(path ...string) string { return String(d, append([]string{"spec"}, path...)...) }
	r := Resource{
		Group: text("group"), Kind: text("names", "kind"), Plural: text("names", "plural"),
		Singular: strings.ToLower(text("names", "kind")), Namespaced: text("scope") == "Namespaced", Custom: true,
	}
	return r, r.Group != "" && r.Kind != "" && r.Plural != ""
}

// fillDefinition checks the name of a definition, and accepts it.
func (s *Store) fillDefinition(r Resource, o Object) error {
	c, ok := customResource(o)
	if !ok {
		return r.invalid(Name(o), field.Required(field.NewPath("spec", "names", "plural"), ""))
	}
	if Name(o) != c.GR() {
		return r.invalid(Name(o), field.Invalid(field.NewPath("metadata", "name"), Name(o),
			`must be spec.names.plural+"."+spec.group`))
	}
	Set(o, []any{
		condition(o, s.now(), "NamesAccepted", "True", "NoConflicts", "no conflicts found"),
		condition(o, s.now(), "Established", "True", "InitialNamesAccepted", "the initial names have been accepted"),
	}, "status", "conditions")
	return nil
}

// copyOf returns a store with the same objects, on which a dry run can do everything.
func (s *Store) copyOf() *Store {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := &Store{
		now: s.now, rev: s.rev, changed: make(chan struct{}), onCreate: s.onCreate,
		objs:      map[string]map[string]Object{},
		appliedBy: maps.Clone(s.appliedBy),
		nodePorts: s.nodePorts,
	}
	for gr, m := range s.objs {
		out.objs[gr] = maps.Clone(m)
	}
	return out
}

func (s *Store) terminating(namespace string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return At(s.objs["namespaces"][key("", namespace)], "metadata", "deletionTimestamp") != nil
}

// endNamespaces removes what is in namespaces that are being deleted, and then the namespaces.
func (c *Cluster) endNamespaces() {
	for _, ns := range c.list("Namespace", "") {
		if Meta(ns)["deletionTimestamp"] == nil {
			continue
		}
		left := 0
		for _, r := range c.store.Resources() {
			if !r.Namespaced {
				continue
			}
			all, _ := c.store.List(r, Name(ns))
			for _, o := range all {
				_, _ = c.store.Delete(r, Name(ns), Name(o), "")
			}
			all, _ = c.store.List(r, Name(ns))
			left += len(all)
		}
		if left == 0 && !c.holds(Name(ns)) {
			c.store.drop(Kind("Namespace"), ns)
		}
	}
}

// drop removes an object for good.
func (s *Store) drop(r Resource, o Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cur, ok := s.objs[r.GR()][key(Namespace(o), Name(o))]; ok {
		s.put(r, "DELETED", Copy(cur), cur)
	}
}
