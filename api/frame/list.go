package frame

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol/filter"
	"github.com/gybe-nfv/gybe/pkg/sol/paging"
	"github.com/gybe-nfv/gybe/pkg/sol/selector"
)

// ListParams are the query parameters of every list of SOL013.
var ListParams = []string{
	"filter", selector.ParamAllFields, selector.ParamFields, selector.ParamExcludeFields, selector.ParamExcludeDefault,
	paging.Param,
}

// List serves a list of resources of type T with attribute filter, attribute selectors and paging (SOL013
// clauses 5.2 to 5.4).
type List[T any] struct {
	// Path of the list, e.g. /vnflcm/v2/vnf_instances.
	Path string
	// Selectors knows what is left out by default.
	Selectors selector.Spec[T]
	// ID returns the id that lists are sorted by.
	ID func(*T) string
	// Fetch returns at most limit resources after an id, in order of id, as the client may see them.
	Fetch func(ctx context.Context, q Fetch) ([]T, error)
}

// Fetch says which resources are wanted.
type Fetch struct {
	After string
	Limit int
	// Filter lets the store answer simple expressions itself; it need not.
	Filter filter.Filter
}

// Serve answers with one page.
func (l List[T]) Serve(w http.ResponseWriter, r *Request) error {
	q, err := parseList(r, l.Path, l.Selectors)
	if err != nil {
		return err
	}
	page, more, err := l.page(r.Context(), Fetch{After: q.after, Limit: q.size + 1, Filter: q.filter}, q.size)
	if err != nil {
		return err
	}
	if more {
		q.linkNext(w, r, l.ID(&page[len(page)-1]))
	}
	for i := range page {
		page[i] = q.selection.Apply(page[i])
	}
	return writeList(w, page)
}

// listQuery is the query of a list of T.
type listQuery[T any] struct {
	path      string
	values    url.Values
	filter    filter.Filter
	selection selector.Selection[T]
	after     string // id
	size      int
}

// parseList reads the query parameters of a list.
func parseList[T any](r *Request, path string, selectors selector.Spec[T]) (*listQuery[T], error) {
	values := r.QueryValues()
	f, err := filter.ParseFor[T](values.Get("filter"))
	if err != nil {
		return nil, lcm.Errorf(lcm.CodeInvalid, "%s", err)
	}
	if len(values["filter"]) > 1 {
		return nil, lcm.Errorf(lcm.CodeInvalid, "the filter is given %d times", len(values["filter"])).WithHint(
			"join expressions with ;",
		)
	}
	selection, err := selectors.Parse(values)
	if err != nil {
		return nil, lcm.Errorf(lcm.CodeInvalid, "%s", err)
	}
	q := &listQuery[T]{path: path, values: values, filter: f, selection: selection, size: r.frame.opts.PageSize}
	if text, ok := values[paging.Param]; ok {
		m, err := r.frame.opts.Markers.Decode(text[0], binding(r, path, values))
		if err != nil {
			return nil, lcm.Errorf(lcm.CodeInvalid, "%s", err).WithHint(
				"follow the links as they are, or start again without a marker",
			)
		}
		q.after = m.ID
	}
	return q, nil
}

// binding is what a marker is valid for: a list of a project.
func binding(r *Request, path string, values url.Values) string {
	return paging.Binding(projectName(r.Principal)+" "+path, values)
}

// linkNext adds the link to the page that begins after a resource.
func (q *listQuery[T]) linkNext(w http.ResponseWriter, r *Request, last string) {
	marker := r.frame.opts.Markers.Encode(paging.Marker{ID: last}, binding(r, q.path, q.values))
	w.Header().Set("Link", paging.Link(r.Public(q.path), q.values, marker))
}

// page returns the first resources of a query that match its filter.
func (l List[T]) page(ctx context.Context, q Fetch, size int) (page []T, more bool, err error) {
	return fillPage(size, q.Limit,
		func(after string) ([]T, error) {
			if after != "" {
				q.After = after
			}
			return l.Fetch(ctx, q)
		},
		func(v T) (bool, error) { return matches(q.Filter, v) },
		func(v T) string { return l.ID(&v) })
}

// fillPage fetches lists of at most limit until it has size resources that match, or has read all. more says that
// others match. fetch gets the id of the last resource that was read, "" at first.
func fillPage[T any](
	size, limit int, fetch func(after string) ([]T, error), match func(T) (bool, error), id func(T) string,
) (page []T, more bool, err error) {
	page = make([]T, 0, min(size, 64))
	for after := ""; ; {
		got, err := fetch(after)
		if err != nil {
			return nil, false, err
		}
		for _, v := range got {
			ok, err := match(v)
			if err != nil {
				return nil, false, err
			}
			if !ok {
				continue
			}
			if len(page) == size {
				return page, true, nil
			}
			page = append(page, v)
		}
		if len(got) < limit {
			return page, false, nil
		}
		after = id(got[len(got)-1])
	}
}

// matches evaluates the filter on what the client would see.
func matches(f filter.Filter, v any) (bool, error) {
	if f.Empty() {
		return true, nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return false, err
	}
	return matchesJSON(f, raw)
}

// matchesJSON evaluates the filter on a resource that is encoded.
func matchesJSON(f filter.Filter, raw []byte) (bool, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var decoded any
	if err := dec.Decode(&decoded); err != nil {
		return false, err
	}
	return f.Match(decoded), nil
}

// writeList answers with a JSON array, one element a line.
func writeList[T any](w http.ResponseWriter, list []T) error {
	var buf bytes.Buffer
	buf.WriteByte('[')
	for i := range list {
		if i > 0 {
			buf.WriteByte(',')
		}
		raw, err := json.Marshal(list[i])
		if err != nil {
			return err
		}
		buf.WriteByte('\n')
		buf.Write(raw)
	}
	if len(list) > 0 {
		buf.WriteByte('\n')
	}
	buf.WriteString("]\n")
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(buf.Len()))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(buf.Bytes())
	return nil
}
