package frame

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"

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
	// Form returns what is encoded for a resource after attributes were selected; nil for the resource itself.
	Form func(T) any
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
	out := newArray(&r.frame.answers)
	defer out.release()
	last, more, err := l.write(r, out, q)
	if err != nil {
		return err
	}
	if more {
		q.linkNext(w, r, last)
	}
	out.send(w)
	return nil
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
	q := &listQuery[T]{path: path, values: values, filter: f, selection: selection, size: r.pageSize}
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

// listBatch is how many resources of a List are in memory at the same time.
const listBatch = 32

// write adds the first resources of a query that match its filter to out, at most a page. more says that others may
// match; last is the id of the resource after which they are looked for.
func (l List[T]) write(r *Request, out *array, q *listQuery[T]) (last string, more bool, err error) {
	limits := r.frame.opts.Limits
	fetch := Fetch{After: q.after, Limit: min(q.size+1, listBatch), Filter: q.filter}
	search := progress{began: r.began}
	for written := 0; ; {
		got, err := l.Fetch(r.Context(), fetch)
		if err != nil {
			return "", false, err
		}
		for n := range got {
			if search.isOver(limits) {
				return last, true, nil
			}
			size, ok, err := matches(q.filter, got[n])
			if err != nil {
				return "", false, err
			}
			if size > 0 {
				search.bytes, search.count = search.bytes+size, search.count+1
			}
			fetch.After = l.ID(&got[n])
			if ok {
				if written == q.size || out.size > limits.PageBytes {
					return last, true, nil
				}
				raw, err := l.encode(q.selection.Apply(got[n]))
				if err != nil {
					return "", false, err
				}
				if err := out.add(func(buf []byte) ([]byte, error) { return append(buf, raw...), nil }); err != nil {
					return "", false, err
				}
				written++
			}
			last = fetch.After
		}
		if len(got) < fetch.Limit {
			return last, false, nil
		}
	}
}

func (l List[T]) encode(v T) ([]byte, error) {
	if l.Form != nil {
		return json.Marshal(l.Form(v))
	}
	return json.Marshal(v)
}

// matches evaluates the filter on what the client would see, and returns the size of that.
func matches(f filter.Filter, v any) (size int, ok bool, err error) {
	if f.Empty() {
		return 0, true, nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return 0, false, err
	}
	ok, err = matchesJSON(f, raw)
	return len(raw), ok, err
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
