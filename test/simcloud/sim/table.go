package sim

import "slices"

// Table keeps objects by id in the order they were made. It is guarded by the world's lock.
type Table[T any] struct {
	byID  map[string]*T
	order []string
}

// Add puts an object under its id.
func (t *Table[T]) Add(id string, v *T) {
	if t.byID == nil {
		t.byID = map[string]*T{}
	}
	if _, ok := t.byID[id]; !ok {
		t.order = append(t.order, id)
	}
	t.byID[id] = v
}

// Get returns the object of an id, nil without one.
func (t *Table[T]) Get(id string) *T { return t.byID[id] }

// Delete forgets an object.
func (t *Table[T]) Delete(id string) {
	if _, ok := t.byID[id]; !ok {
		return
	}
	delete(t.byID, id)
	i := slices.Index(t.order, id)
	t.order = slices.Delete(t.order, i, i+1)
}

// All returns the objects, oldest first.
func (t *Table[T]) All() []*T {
	out := make([]*T, 0, len(t.order))
	for _, id := range t.order {
		out = append(out, t.byID[id])
	}
	return out
}

// Filter returns the objects that keep lets pass, oldest first.
func (t *Table[T]) Filter(keep func(*T) bool) []*T {
	var out []*T
	for _, id := range t.order {
		if v := t.byID[id]; keep(v) {
			out = append(out, v)
		}
	}
	return out
}

// Len is the number of objects.
func (t *Table[T]) Len() int { return len(t.order) }

// Clear forgets all objects.
func (t *Table[T]) Clear() { t.byID, t.order = nil, nil }
