package frame

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol/filter"
	"github.com/gybe-nfv/gybe/pkg/sol/selector"
)

// Resource is a stored resource with its links.
type Resource struct {
	*lcm.Document
	// Links is the value of _links.
	Links Links
}

// linksMember is the only attribute that is not stored.
const linksMember = "_links"

// size is the length of what appendTo adds.
func (d Resource) size() int {
	n := len(d.Brief)
	if len(d.Details) > 0 {
		n += len(d.Details) - len("{}") + len(",")
	}
	if !d.Links.none() {
		n += len(`,"`+linksMember+`":`) + d.Links.size()
	}
	return n
}

// appendTo adds the resource to buf, as one JSON object.
func (d Resource) appendTo(buf []byte) []byte {
	buf = append(buf, d.Brief[:len(d.Brief)-1]...)
	if len(d.Details) > 0 {
		buf = append(buf, ',')
		buf = append(buf, d.Details[1:len(d.Details)-1]...)
	}
	if !d.Links.none() {
		buf = append(buf, `,"`+linksMember+`":`...)
		buf = d.Links.appendTo(buf)
	}
	return append(buf, '}')
}

// WriteResource answers with a stored resource. Nothing of it is decoded.
func WriteResource(w http.ResponseWriter, status int, d Resource) error {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(d.size()+1))
	w.WriteHeader(status)
	buf, release := borrow()
	*buf = append(d.appendTo((*buf)[:0]), '\n')
	_, _ = w.Write(*buf) // an error means that the client is gone
	release()
	return nil
}

// Resources serves a list of stored resources with attribute filter, attribute selectors and paging (SOL013 clauses 5.2
// to 5.4). T is the type of the resources. Only the attributes of a filter that the store does not evaluate are
// decoded.
type Resources[T any] struct {
	// Path of the list, e.g. /vnflcm/v2/vnf_instances.
	Path string
	// Selectors knows what is left out by default, and so is not in lcm.Document.Brief.
	Selectors selector.Spec[T]
	// Query makes a query of the expressions that the store evaluates, and returns the others.
	Query func(f filter.Filter) (lcm.Query, filter.Filter)
	// Fetch returns the resources of a query, in the order of the list.
	Fetch func(ctx context.Context, q lcm.Query) ([]Resource, error)
}

// Serve answers with one page.
func (l Resources[T]) Serve(w http.ResponseWriter, r *Request) error {
	q, err := parseList(r, l.Path, l.Selectors)
	if err != nil {
		return err
	}
	query, rest := l.Query(q.filter)
	query.After, query.Limit = q.after, q.size+1
	query.Brief = !slices.ContainsFunc(
		l.Selectors.ExcludedByDefault(), func(a string) bool { return q.selection.Wants(a) || names(rest, a) },
	)
	page, more, err := l.page(r.Context(), query, rest, q.size)
	if err != nil {
		return err
	}
	if more {
		q.linkNext(w, r, page[len(page)-1].ID)
	}
	if err := l.choose(q.selection, page); err != nil {
		return err
	}
	writeResources(w, page)
	return nil
}

// page returns the first resources of a query that match a filter.
func (l Resources[T]) page(
	ctx context.Context, q lcm.Query, f filter.Filter, size int,
) (page []Resource, more bool, err error) {
	needed := neededBy[T](f)
	var whole, part []byte
	return fillPage(size, q.Limit,
		func(after string) ([]Resource, error) {
			if after != "" {
				q.After = after
			}
			return l.Fetch(ctx, q)
		},
		func(d Resource) (bool, error) {
			if f.Empty() {
				return true, nil
			}
			whole = d.appendTo(whole[:0])
			var err error
			if part, err = needed.AppendJSON(part[:0], whole); err != nil {
				return false, err
			}
			return matchesJSON(f, part)
		},
		func(d Resource) string { return d.ID })
}

// neededBy selects the attributes that a filter looks at. Below a path with @key it takes everything.
func neededBy[T any](f filter.Filter) selector.Selection[T] {
	var paths [][]string
	for _, e := range f.Exprs {
		var path []string
		for _, s := range e.Path {
			if s.Key {
				break
			}
			path = append(path, s.Name)
		}
		paths = append(paths, path)
	}
	return selector.KeepOnly[T](paths...)
}

// choose replaces resources by ones with the selected attributes only.
func (l Resources[T]) choose(s selector.Selection[T], page []Resource) error {
	switch {
	case s.Whole():
		return nil
	case l.Selectors.IsDefault(s):
		for n, d := range page {
			brief := *d.Document
			brief.Details = nil // they are there when the filter needs them
			page[n].Document = &brief
		}
		return nil
	}
	var whole, chosen []byte // chosen has room for several resources
	for n, d := range page {
		whole = d.appendTo(whole[:0])
		if cap(chosen)-len(chosen) < len(whole) {
			chosen = make([]byte, 0, max(chunk, len(whole)))
		}
		begin := len(chosen)
		var err error
		if chosen, err = s.AppendJSON(chosen, whole); err != nil {
			return err
		}
		page[n] = Resource{Document: &lcm.Document{ID: d.ID, Brief: chosen[begin:len(chosen):len(chosen)]}}
	}
	return nil
}

// names says whether a filter looks at a top-level attribute.
func names(f filter.Filter, attribute string) bool {
	return slices.ContainsFunc(
		f.Exprs, func(e filter.Expr) bool { return len(e.Path) > 0 && e.Path[0].Name == attribute },
	)
}

// chunk is how much of a list is written at once.
const chunk = 32 << 10

var chunks = sync.Pool{New: func() any { b := make([]byte, 0, 2*chunk); return &b }}

// borrow returns a buffer, which may grow. release MUST be called when it is not used any more.
func borrow() (buf *[]byte, release func()) {
	buf, _ = chunks.Get().(*[]byte)
	return buf, func() {
		if cap(*buf) <= 4*chunk {
			chunks.Put(buf)
		}
	}
}

// writeResources answers with a JSON array, one element a line.
func writeResources(w http.ResponseWriter, list []Resource) {
	size := len("[]\n")
	for _, d := range list {
		size += len(",\n") + d.size()
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(size))
	w.WriteHeader(http.StatusOK)

	pooled, release := borrow()
	defer release()
	buf := (*pooled)[:0]
	buf = append(buf, '[')
	for n, d := range list {
		if n > 0 {
			buf = append(buf, ',')
		}
		buf = d.appendTo(append(buf, '\n'))
		if len(buf) >= chunk {
			_, _ = w.Write(buf) // an error means that the client is gone
			buf = buf[:0]
		}
	}
	if len(list) > 0 {
		buf = append(buf, '\n')
	}
	buf = append(buf, "]\n"...)
	_, _ = w.Write(buf)
	*pooled = buf
}
