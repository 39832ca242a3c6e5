package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// selection is a select list of a table.
type selection[T any] struct {
	table   *table[T]
	columns []column[T]
	list    string
}

// selected makes the select list without the columns that have one of the traits.
func (t *table[T]) selected(without ...trait) selection[T] {
	no := sum(without) | writeOnly
	columns := slices.DeleteFunc(slices.Clone(t.columns), func(c column[T]) bool { return c.traits.has(no) })
	list := make([]string, len(columns))
	for n, c := range columns {
		list[n] = cmp.Or(c.expr, t.alias+"."+c.name)
	}
	return selection[T]{table: t, columns: columns, list: strings.Join(list, ", ")}
}

// reader returns a function that reads a row of the select list. All rows are scanned into the same destinations.
func (l selection[T]) reader(s *Store) pgx.RowToFunc[*T] {
	t, v := l.table, new(T)
	dests := make([]any, len(l.columns))
	raw := make([][]byte, len(l.columns))
	finish := make([]func() error, len(l.columns))
	for n, c := range l.columns {
		if c.bytes == nil {
			dests[n], finish[n] = c.target(v)
			continue
		}
		dests[n] = &raw[n]
		finish[n] = func() error {
			plain := raw[n]
			if plain == nil {
				return nil
			}
			if c.traits.has(sealed) {
				var err error
				if plain, err = s.open(t.name, c.name, t.id(v), plain); err != nil {
					return err
				}
			}
			if err := c.bytes(v, plain); err != nil {
				return fmt.Errorf("%s.%s of %s: %w", t.name, c.name, t.id(v), err)
			}
			return nil
		}
	}
	return func(row pgx.CollectableRow) (*T, error) {
		read := new(T)
		*v = *read
		if err := row.Scan(dests...); err != nil {
			return nil, err
		}
		for _, f := range finish {
			if f != nil {
				if err := f(); err != nil {
					return nil, err
				}
			}
		}
		*read = *v
		return read, nil
	}
}

// collect reads all rows of a query with the select list.
func (l selection[T]) collect(s *Store, rows pgx.Rows, err error) ([]*T, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, l.reader(s))
}

// into reads all rows of a queued query into out.
func (l selection[T]) into(s *Store, out *[]*T) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*out, err = l.collect(s, rows, nil)
		return err
	}
}

// one reads the only row; pgx.ErrNoRows when there is none.
func (l selection[T]) one(s *Store, rows pgx.Rows, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectExactlyOneRow(rows, l.reader(s))
}

// valuesOf copies rows for callers without pointers.
func valuesOf[T any](rows []*T) []T {
	out := make([]T, len(rows))
	for n, r := range rows {
		out[n] = *r
	}
	return out
}

// encoded are the values of a row in the order of the table's columns, sealed, with the fingerprint of their plain form
// if the table is hashed.
type encoded struct {
	values      []any
	fingerprint []byte
}

// encode makes the values of the columns for which want holds; the others are nil.
func (t *table[T]) encode(s *Store, v *T, want func(column[T]) bool) (encoded, error) {
	out := encoded{values: make([]any, len(t.columns))}
	var hashed bytes.Buffer
	id := t.id(v)
	var errs []error
	for n, c := range t.columns {
		if !want(c) {
			continue
		}
		value, err := c.encode(v)
		errs = append(errs, err)
		if t.hashed && !c.traits.has(unhashed) && (value != nil || !c.traits.has(optional)) {
			writePart(&hashed, c.name, c.traits.has(optional), value)
		}
		if raw, ok := value.([]byte); ok && c.traits.has(sealed) {
			value = s.seal(t.name, c.name, id, raw)
		}
		out.values[n] = value
	}
	if t.hashed {
		out.fingerprint = s.ring.Fingerprint(hashed.Bytes())
	}
	return out, errors.Join(errs...)
}

// writePart adds a value to what is hashed, with its length, so that the parts cannot be confused.
func writePart(to *bytes.Buffer, name string, optional bool, value any) {
	var part []byte
	switch v := value.(type) {
	case string:
		part = []byte(v)
		if optional {
			part = []byte(name + " " + v)
		}
	case []byte:
		part = v
	case bool:
		part = []byte{0}
		if v {
			part[0] = 1
		}
	}
	_ = binary.Write(to, binary.BigEndian, uint64(len(part))) // a Buffer takes everything
	to.Write(part)
}

// inserted are the names of the columns whose values insert takes, in the order of its arguments.
func (t *table[T]) inserted() (names []string) {
	for _, c := range t.columns {
		if !c.traits.has(derived) {
			names = append(names, c.name)
		}
	}
	return names
}

// argument is the placeholder of a column's value in the statement that insert makes.
func (t *table[T]) argument(column string) string {
	return place(slices.Index(t.inserted(), column) + 1)
}

// insert is an INSERT of all columns and of further ones, whose values are arguments after those of the row. The
// expression after "=" is taken instead of a column's argument.
func (t *table[T]) insert(further ...string) string {
	names := t.inserted()
	values := make([]string, len(names))
	for n := range names {
		values[n] = place(n + 1)
	}
	for _, column := range further {
		name, expr, given := strings.Cut(column, " = ")
		at := slices.Index(names, name)
		if at < 0 {
			at = len(names)
			names, values = append(names, name), append(values, place(at+1))
		}
		if given {
			values[at] = expr
		}
	}
	return "INSERT INTO " + t.name + " (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")"
}

// inserts are the values for insert.
func (t *table[T]) inserts(e encoded, further ...any) []any {
	out := make([]any, 0, len(t.columns)+len(further))
	for n, c := range t.columns {
		if !c.traits.has(derived) {
			out = append(out, e.values[n])
		}
	}
	return append(out, further...)
}

// changing are the columns that an UPDATE sets.
func (t *table[T]) changing(c column[T]) bool { return !c.traits.has(fixed | derived) }

// every are all columns.
func (t *table[T]) every(column[T]) bool { return true }

// changed are the names of the columns that an UPDATE sets.
func (t *table[T]) changed() (names []string) {
	for _, c := range t.columns {
		if t.changing(c) {
			names = append(names, c.name)
		}
	}
	return names
}

// set is the list of assignments of an UPDATE that gives the table its alias. Their values start at the argument with
// the number first.
func (t *table[T]) set(first int) string {
	out := t.changed()
	for n, name := range out {
		out[n] = name + " = " + place(first+n)
	}
	if t.valid != "" {
		out = append(out, t.valid)
	}
	return strings.Join(out, ", ")
}

// replace is the list of assignments of an ON CONFLICT DO UPDATE that takes the values of the INSERT, except for some
// columns.
func (t *table[T]) replace(except ...string) string {
	out := slices.DeleteFunc(t.changed(), func(name string) bool { return slices.Contains(except, name) })
	for n, name := range out {
		out[n] = name + " = EXCLUDED." + name
	}
	return strings.Join(out, ", ")
}

// rows is an entry of a FROM list: the rows of the argument that records makes, and their ordinality.
func (t *table[T]) rows(argument int) string {
	return "jsonb_populate_recordset(NULL::" + t.name + ", " + place(argument) + ") WITH ORDINALITY"
}

// records encodes values as one argument: a JSON array, whose members have the types of the table's columns. None of
// the columns may be sealed.
func (t *table[T]) records(s *Store, values []T) ([]byte, error) {
	rows := make([]map[string]any, len(values))
	for n := range values {
		e, err := t.encode(s, &values[n], t.every)
		if err != nil {
			return nil, err
		}
		rows[n] = make(map[string]any, len(t.columns))
		for i, c := range t.columns {
			value := e.values[i]
			if raw, ok := value.([]byte); ok {
				value = json.RawMessage(raw)
			}
			rows[n][c.name] = value
		}
	}
	return json.Marshal(rows)
}

// changes are the values for set.
func (t *table[T]) changes(e encoded) []any {
	var out []any
	for n, c := range t.columns {
		if t.changing(c) {
			out = append(out, e.values[n])
		}
	}
	return out
}

// sealedColumns lists the columns of a table that are sealed.
func (t *table[T]) sealedColumns() (out [][3]string) {
	for _, c := range t.columns {
		if c.traits.has(sealed) {
			out = append(out, [3]string{t.name, c.name, "id"})
		}
	}
	return out
}
