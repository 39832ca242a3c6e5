package frame

import (
	"context"
	"iter"
	"net/http"
	"slices"

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
func (d Resource) appendTo(buf []byte) []byte { return d.appendParts(buf, d.Details) }

// appendBrief is appendTo without the details, which are there when a filter needs them.
func (d Resource) appendBrief(buf []byte) []byte { return d.appendParts(buf, nil) }

func (d Resource) appendParts(buf, details []byte) []byte {
	buf = append(buf, d.Brief[:len(d.Brief)-1]...)
	if len(details) > 0 {
		buf = append(buf, ',')
		buf = append(buf, details[1:len(details)-1]...)
	}
	if !d.Links.none() {
		buf = append(buf, `,"`+linksMember+`":`...)
		buf = d.Links.appendTo(buf)
	}
	return append(buf, '}')
}

// WriteResource answers with a stored resource. Nothing of it is decoded.
func WriteResource(w http.ResponseWriter, r *Request, status int, d Resource) error {
	memory := reservation{budget: &r.frame.answers}
	defer memory.release()
	if err := memory.take(int64(d.size()), manyAnswers); err != nil {
		return err
	}
	buf := borrow()
	*buf = append(d.appendTo(*buf), '\n')
	w.Header().Set("Content-Type", "application/json")
	send(w, status, [][]byte{*buf}, len(*buf))
	giveBack(buf)
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
	// Fetch returns the resources of a query, in the order of the list. They are valid until the loop ends. One without
	// Brief ends the page: the list goes on after it.
	Fetch func(ctx context.Context, q lcm.Query) iter.Seq2[Resource, error]
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
	out := newArray(&r.frame.answers)
	defer out.release()
	last, more, err := l.write(r, out, query, rest, q)
	if err != nil {
		return err
	}
	if more {
		q.linkNext(w, r, last)
	}
	out.send(w)
	return nil
}

// write adds the first resources of a query that match a filter to out, at most a page. more says that others may
// match; last is the id of the resource after which they are looked for.
func (l Resources[T]) write(
	r *Request, out *array, query lcm.Query, f filter.Filter, q *listQuery[T],
) (last string, more bool, err error) {
	limits, search := r.frame.opts.Limits, newSearch[T](r, f)
	add := l.chosen(q.selection)
	for written := 0; ; {
		read := 0
		for d, err := range l.Fetch(r.Context(), query) {
			if err != nil {
				return "", false, err
			}
			if d.Brief == nil { // the store has read enough; more may match
				return d.ID, true, nil
			}
			read++
			query.After = d.ID
			if search.isOver(limits) {
				return last, true, nil
			}
			ok, err := search.matches(d)
			if err != nil {
				return "", false, err
			}
			if !ok {
				last = d.ID
				continue
			}
			if written == q.size || out.size > limits.PageBytes {
				return last, true, nil
			}
			if err := out.add(func(buf []byte) ([]byte, error) { return add(buf, d) }); err != nil {
				return "", false, err
			}
			written, last = written+1, d.ID
		}
		if read < query.Limit {
			return last, false, nil
		}
	}
}

// chosen returns a function that adds the selected attributes of a resource to a buffer.
func (l Resources[T]) chosen(s selector.Selection[T]) func(buf []byte, d Resource) ([]byte, error) {
	switch {
	case s.Whole():
		return func(buf []byte, d Resource) ([]byte, error) { return d.appendTo(buf), nil }
	case l.Selectors.IsDefault(s):
		return func(buf []byte, d Resource) ([]byte, error) { return d.appendBrief(buf), nil }
	}
	var whole []byte
	return func(buf []byte, d Resource) ([]byte, error) {
		whole = d.appendTo(whole[:0])
		return s.AppendJSON(buf, whole)
	}
}
