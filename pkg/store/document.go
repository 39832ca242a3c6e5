package store

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/render"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// view reads documents D from the rendered columns of a table of T.
type view[T, D any] struct {
	table *table[T]
	// all are the columns that a document is rendered from again.
	all selection[T]
	// columns are those that only D has; their targets are others.
	columns string
	others  func(*D) []any
	// isSearch says whether a query has to read every row.
	isSearch func(lcm.Query) bool
	// clause makes the list of a query; false when nothing can match.
	clause func(*Records, lcm.Query) (listClause, bool)
	// position are the columns by which lists are ordered.
	position []string
	// details are the columns with the parts of the details. They are sealed. targets are the places of the opened
	// parts in D; parts with the same place are joined.
	details  []string
	targets  func(*D) []*[]byte
	document func(*D) *lcm.Document
	render   func(*T) (*D, error)

	// Made by prepared: the select lists with and without details, and the statement that reads one row of a project.
	brief, whole, single string
	pages                *sync.Pool // of *page[D]
}

// prepared fills the texts that do not depend on a request. The format is an argument so that it is initialized before.
func (v view[T, D]) prepared(format string) view[T, D] {
	t, a := v.table, v.table.alias
	v.brief = "SELECT " + a + ".id::text, " + a + ".version, " + a + ".updated, " + a + ".rendered_brief, coalesce(" +
		a + ".rendered_version = " + a + ".version AND " + a + ".rendered_format = " + format + ", false), " + v.columns
	v.whole = v.brief + ", " + a + "." + strings.Join(v.details, ", "+a+".")
	v.pages = &sync.Pool{New: func() any { return new(page[D]) }}
	v.single = v.whole + " FROM " + t.name + " " + a + " WHERE " + a + ".id = $1 AND " + a + ".project = $2"
	return v
}

var instanceView = view[lcm.Instance, lcm.InstanceDocument]{
	table: &instances, all: instanceColumns,
	columns: "i.vnf_pkg_id::text, i.state, coalesce(i.rendered_flavour, ''), i.protection IS NOT NULL",
	details: []string{"rendered_details", "rendered_params"},
	targets: func(d *lcm.InstanceDocument) []*[]byte { return []*[]byte{&d.Details, &d.Params} },
	clause:  (*Records).instanceList, position: []string{"id"},
	isSearch: func(q lcm.Query) bool { return isSearch(q.Where, instanceFilter, lcm.InstanceColumns) },
	document: func(d *lcm.InstanceDocument) *lcm.Document { return &d.Document },
	others: func(d *lcm.InstanceDocument) []any {
		return []any{
			&repeated[string]{&d.VnfPkgID}, &repeated[sol.InstantiationState]{&d.State},
			&repeated[string]{&d.FlavourID}, &d.Protected,
		}
	},
	render: render.Instance,
}.prepared(format)

var operationView = view[lcm.Operation, lcm.OperationDocument]{
	table: &operations, all: operationColumns,
	columns: "o.instance_id::text, coalesce(o.rendered_events, ''), coalesce(o.grant_href, ''), " +
		"coalesce(o.scope->'snapshot'->>'id', '')",
	details: []string{"rendered_params", "rendered_details"},
	targets: func(d *lcm.OperationDocument) []*[]byte { return []*[]byte{&d.Details, &d.Details} },
	clause:  (*Records).operationList, position: []string{"started", "id"},
	isSearch: func(q lcm.Query) bool {
		return q.InstanceID == "" && isSearch(q.Where, operationFilter, lcm.OperationColumns)
	},
	document: func(d *lcm.OperationDocument) *lcm.Document { return &d.Document },
	others: func(d *lcm.OperationDocument) []any {
		return []any{&repeated[string]{&d.InstanceID}, &repeated[string]{&d.Events}, &d.GrantHref, &d.SnapshotID}
	},
	render: render.Operation,
}.prepared(format)

// InstanceDocument implements lcm.Records.
func (s *Records) InstanceDocument(ctx context.Context, id string) (*lcm.InstanceDocument, error) {
	return instanceView.one(ctx, s, "VNF instance", id)
}

// InstanceDocuments implements lcm.Records.
func (s *Records) InstanceDocuments(ctx context.Context, q lcm.Query) iter.Seq2[*lcm.InstanceDocument, error] {
	return instanceView.list(ctx, s, "list instances", q)
}

// InstanceValidator implements lcm.Records.
func (s *Records) InstanceValidator(ctx context.Context, id string) (lcm.Validator, error) {
	return s.validator(ctx, "vnf_instance", "VNF instance", id)
}

// OperationDocument implements lcm.Records.
func (s *Records) OperationDocument(ctx context.Context, id string) (*lcm.OperationDocument, error) {
	return operationView.one(ctx, s, "operation", id)
}

// OperationDocuments implements lcm.Records.
func (s *Records) OperationDocuments(ctx context.Context, q lcm.Query) iter.Seq2[*lcm.OperationDocument, error] {
	return operationView.list(ctx, s, "list operations", q)
}

// OperationValidator implements lcm.Records.
func (s *Records) OperationValidator(ctx context.Context, id string) (lcm.Validator, error) {
	return s.validator(ctx, "vnf_lcm_op_occ", "operation", id)
}

// validator reads the version of a row.
func (s *Records) validator(ctx context.Context, table, kind, id string) (v lcm.Validator, err error) {
	if !known(id) {
		return v, notFound(kind, id)
	}
	err = s.pool.QueryRow(ctx, "SELECT version, updated FROM "+table+" WHERE id = $1 AND project = $2", id,
		s.project).Scan(
		&v.Version, &v.Updated,
	)
	v.Updated = v.Updated.UTC()
	return v, fault("read the version", orNotFound(err, kind, id))
}

// one reads the document of a row; CodeNotFound when the project does not have it.
func (v *view[T, D]) one(ctx context.Context, s *Records, kind, id string) (*D, error) {
	if !known(id) {
		return nil, notFound(kind, id)
	}
	docs, err := v.query(ctx, s, &page[D]{single: true}, v.single, []any{id, s.project}, false)
	if err == nil && len(docs) == 0 {
		err = notFound(kind, id)
	}
	if err != nil {
		return nil, fault("read "+kind, err)
	}
	return &docs[0], nil
}

// batch is the statement of a list that ends with the row whose details exceed batchBytes together with those before.
func (v *view[T, D]) batch(c *listClause) string {
	a := v.table.alias
	sizes := make([]string, len(v.details))
	for n, column := range v.details {
		sizes[n] = "coalesce(octet_length(" + a + "." + column + "), 0)"
	}
	return v.whole + " FROM (SELECT " + a + ".*, coalesce(sum(" + strings.Join(sizes, " + ") + ") OVER (" +
		strings.TrimPrefix(c.order, " ") + " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before_bytes" +
		c.from + c.order + c.limit + ") " + a +
		" WHERE " + a + ".before_bytes < " + strconv.Itoa(batchBytes) + c.order
}

// query reads the documents of a statement into a page. It renders those again whose stored JSON is not valid.
func (v *view[T, D]) query(
	ctx context.Context, s *Records, p *page[D], sql string, args []any, brief bool,
) ([]D, error) {
	names := v.details
	if brief {
		names = nil
	}
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var row D
	doc, targets := v.document(&row), v.targets(&row)
	var valid bool
	var text pgtype.DriverBytes // and parts: valid until the next row
	parts := make([]pgtype.DriverBytes, len(names))
	dest := append([]any{&doc.ID, &doc.Version, &doc.Updated, &text, &valid}, v.others(&row)...)
	for n := range parts {
		dest = append(dest, &parts[n])
	}
	var stale []string
	p.rows, p.stored = 0, 0
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return nil, err
		}
		doc.Updated, doc.Brief = doc.Updated.UTC(), p.keep(text)
		for _, target := range targets {
			*target = nil
		}
		p.rows, p.last = p.rows+1, doc.ID
		for _, part := range parts {
			p.stored += len(part)
		}
		if !valid {
			stale = append(stale, doc.ID)
		} else if err := v.open(s, p, doc.ID, names, parts, targets); err != nil {
			return nil, err
		}
		p.docs = append(p.docs, row)
	}
	if err := rows.Err(); err != nil || stale == nil {
		return p.docs, err
	}
	return v.refresh(ctx, s.Store, p.docs, stale, brief)
}

// open opens the parts of the details of a row in the page, each for its target.
func (v *view[T, D]) open(
	s *Records, p *page[D], id string, names []string, parts []pgtype.DriverBytes, targets []*[]byte,
) error {
	for n, sealed := range parts {
		if sealed == nil {
			continue
		}
		plain, err := s.openInPlace(v.table.name, names[n], id, p.keep(sealed))
		if err != nil {
			return err
		}
		*targets[n] = render.Join(*targets[n], plain)
	}
	return nil
}

// staleBatch is how many rows are decoded at the same time to render them again.
const staleBatch = 16

// refresh replaces the documents whose ids are in stale by ones that are rendered from the row, and stores these.
func (v *view[T, D]) refresh(ctx context.Context, s *Store, docs []D, stale []string, brief bool) ([]D, error) {
	renewed := make(map[string]*D, len(stale))
	for ids := range slices.Chunk(stale, staleBatch) {
		if err := v.renew(ctx, s, ids, brief, renewed); err != nil {
			return nil, err
		}
	}
	out := docs[:0]
	for n := range docs {
		d := &docs[n]
		if id := v.document(d).ID; slices.Contains(stale, id) {
			d = renewed[id]
		}
		if d != nil { // else it was deleted since
			out = append(out, *d)
		}
	}
	return out, nil
}

// renew renders the documents with some ids again, stores them, and adds them to a map.
func (v *view[T, D]) renew(ctx context.Context, s *Store, ids []string, brief bool, renewed map[string]*D) error {
	t := v.table
	rows, err := s.pool.Query(
		ctx, "SELECT "+v.all.list+" FROM "+t.name+" "+t.alias+" WHERE "+t.alias+".id = ANY($1)", ids,
	)
	values, err := v.all.collect(s, rows, err)
	if err != nil {
		return err
	}
	b := &pgx.Batch{}
	for _, value := range values {
		d, err := v.render(value)
		if err != nil {
			return err
		}
		if err := t.queueRendered(b, s, value, v.document(d).Version); err != nil {
			return err
		}
		if brief {
			for _, target := range v.targets(d) {
				*target = nil
			}
		}
		renewed[t.id(value)] = d
	}
	if err := s.pool.SendBatch(ctx, b).Close(); err != nil {
		s.log.WarnContext(ctx, "rendered rows are not stored yet", "table", t.name, "rows", len(values), "error", err)
	}
	return nil
}

// queueRendered stores the rendered columns of a row that is still at a version. It does not wait for a transaction
// that writes the row, and leaves JSON of a newer release alone.
func (t *table[T]) queueRendered(b *pgx.Batch, s *Store, v *T, version int64) error {
	e, err := t.encode(s, v, func(c column[T]) bool { return c.traits.has(rendered) })
	if err != nil {
		return err
	}
	var set []string
	args := []any{t.id(v), version}
	for n, c := range t.columns {
		if c.traits.has(rendered) {
			args = append(args, e.values[n])
			set = append(set, c.name+" = $"+strconv.Itoa(len(args)))
		}
	}
	b.Queue("WITH free AS (SELECT id FROM "+t.name+
		" WHERE id = $1 AND version = $2 AND coalesce(rendered_format, 0) <= "+format+
		" FOR NO KEY UPDATE SKIP LOCKED) UPDATE "+t.name+" SET "+strings.Join(set, ", ")+" FROM free WHERE "+t.name+
		".id = free.id", args...)
	return nil
}
