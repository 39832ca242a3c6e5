package store

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol/filter"
)

const (
	// batchBytes ends a batch of documents with their details. A list takes no more memory than a batch, and one
	// document.
	batchBytes = 1 << 20
	// searchWindow is how many rows one statement of a search reads. After searchTime, or searchWindows statements, the
	// search ends.
	searchWindow  = 4_000
	searchWindows = 8
	searchTime    = 10 * time.Millisecond
)

// list reads documents. A query for which every row has to be read goes through the list in windows, and ends after
// some of them with a document without JSON (lcm.Document). The documents are valid until the next one is read.
func (v *view[T, D]) list(ctx context.Context, s *Records, what string, q lcm.Query) iter.Seq2[*D, error] {
	return func(yield func(*D, error) bool) {
		p, _ := v.pages.Get().(*page[D])
		defer func() {
			p.reset()
			v.pages.Put(p)
		}()
		l := lister[T, D]{v, s, p, yield}
		q, search, err := l.narrow(ctx, q)
		switch {
		case err != nil:
		case search:
			err = l.search(ctx, q)
		default:
			_, _, err = l.read(ctx, q, "")
		}
		if err != nil {
			yield(nil, fault(what, err))
		}
	}
}

// lister yields the documents of one list.
type lister[T, D any] struct {
	*view[T, D]
	s     *Records
	page  *page[D]
	yield func(*D, error) bool
}

// narrow decides whether a query is a search. It replaces expressions whose index is not in the order of the list by
// the ids of the rows that satisfy them, if these are not more than a window: PostgreSQL would take any number of them
// to be spread over the whole list, and go through the list until it has found a page.
func (l *lister[T, D]) narrow(ctx context.Context, q lcm.Query) (narrowed lcm.Query, search bool, err error) {
	var apart []filter.Expr
	if q.InstanceID == "" {
		apart = apartOf(q.Where)
	}
	if len(apart) == 0 {
		return q, l.isSearch(q), nil
	}
	c, possible := l.clause(l.s, lcm.Query{Where: apart, Limit: searchWindow + 1})
	if !possible {
		return q, false, nil // reading it finds nothing
	}
	rows, err := l.s.pool.Query(ctx, "SELECT "+l.table.alias+".id::text"+c.from+c.limit, c.args...)
	if err != nil {
		return q, false, err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(ids) > searchWindow {
		return q, true, err
	}
	q.Where = append(slices.Clone(q.Where), filter.Expr{Op: filter.In, Path: filter.Path{{Name: "id"}}, Values: ids})
	return q, false, nil
}

// apartOf returns the expressions on operations whose index is not in the order of the list, unless another expression
// selects few rows.
func apartOf(exprs []filter.Expr) (out []filter.Expr) {
	for _, e := range exprs {
		name, _ := e.Attribute()
		column := operationFilter[name]
		switch column.reachOf(e, lcm.OperationColumns[name]) {
		case selects:
			return nil
		case ordered:
			if column.apart {
				out = append(out, e)
			}
		case searches:
		}
	}
	return out
}

// search yields the documents of a query window by window.
func (l *lister[T, D]) search(ctx context.Context, q lcm.Query) error {
	began := time.Now()
	for n := 0; n < searchWindows && (n == 0 || time.Since(began) < searchTime); n++ {
		until, err := l.windowEnd(ctx, q)
		if err != nil {
			return err
		}
		rows, done, err := l.read(ctx, q, until)
		if done || err != nil || until == "" || rows > 0 && rows == q.Limit {
			return err
		}
		q.After = until
		if q.Limit > 0 {
			q.Limit -= rows
		}
	}
	var end D
	l.document(&end).ID = q.After
	l.yield(&end, nil)
	return nil
}

// windowEnd returns the id of the last row of the next window; "" if it reaches to the end of the list.
func (l *lister[T, D]) windowEnd(ctx context.Context, q lcm.Query) (string, error) {
	q.Where, q.Limit = boundsOf(q.Where), 1
	c, possible := l.clause(l.s, q)
	if !possible {
		return "", nil
	}
	sql := "SELECT " + l.table.alias + ".id::text" + c.rows() + " OFFSET " + c.place(searchWindow-1)
	rows, err := l.s.pool.Query(ctx, sql, c.args...)
	if err != nil {
		return "", err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return strings.Join(ids, ""), err
}

// boundsOf returns the expressions that only shorten the list of operations at its ends, and one whose rows an index
// has in the order of the list: the others are searched among these rows. The type of the operation is the last
// choice: there are few types, and few operations with a state that is worth a search.
func boundsOf(exprs []filter.Expr) (out []filter.Expr) {
	var among *filter.Expr
	for _, e := range exprs {
		name, _ := e.Attribute()
		switch whole, start := operationFilter[name].bounds(e, lcm.OperationColumns[name]); {
		case start:
			out = append(out, e)
		case whole && (among == nil || name != "operation"):
			among = &e
		}
	}
	if among != nil {
		out = append(out, *among)
	}
	return out
}

// read yields documents up to a row, in batches if they have details. All rows of a batch are read before its first
// document is yielded: the caller may need a connection itself. n is the number of rows; done says that the caller
// wants no more.
func (l *lister[T, D]) read(ctx context.Context, q lcm.Query, until string) (n int, done bool, err error) {
	p := l.page
	for {
		c, possible := l.clause(l.s, q)
		if !possible {
			return n, false, nil
		}
		if until != "" {
			c.from += l.upTo(&c, until)
		}
		sql := l.brief + c.rows()
		if !q.Brief {
			sql = l.batch(&c)
		}
		docs, err := l.query(ctx, l.s, p, sql, c.args, q.Brief)
		if err != nil {
			return n, false, err
		}
		for i := range docs {
			if !l.yield(&docs[i], nil) {
				return n, true, nil
			}
		}
		n += p.rows
		if p.stored < batchBytes || p.rows == q.Limit {
			p.reset()
			return n, false, nil // there are no more
		}
		q.After = p.last
		if q.Limit > 0 {
			q.Limit -= p.rows
		}
		p.reset()
	}
}

// upTo is the condition that a row is not after another one.
func (v *view[T, D]) upTo(c *listClause, id string) string {
	columns := func(alias string) string { return alias + "." + strings.Join(v.position, ", "+alias+".") }
	return " AND (" + columns(v.table.alias) + ") <= (SELECT " + columns("u") + " FROM " + v.table.name +
		" u WHERE u.id = " + c.place(id) + ")"
}
