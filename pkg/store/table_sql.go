package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// selected returns the columns of a select list without those that have one of the traits.
func (t *table[T]) selected(without ...trait) []column[T] {
	no := sum(without) | writeOnly
	return slices.DeleteFunc(slices.Clone(t.columns), func(c column[T]) bool { return c.traits.has(no) })
}

// list is the select list of columns.
func (t *table[T]) list(columns []column[T]) string {
	names := make([]string, len(columns))
	for n, c := range columns {
		names[n] = t.alias + "." + c.name
	}
	return strings.Join(names, ", ")
}

// scan reads a row whose select list is that of columns.
func (t *table[T]) scan(s *Store, row pgx.CollectableRow, columns []column[T]) (*T, error) {
	v := new(T)
	dests := make([]any, len(columns))
	raw := make([][]byte, len(columns))
	finish := make([]func() error, len(columns))
	for n, c := range columns {
		if c.bytes != nil {
			dests[n] = &raw[n]
			continue
		}
		dests[n], finish[n] = c.target(v)
	}
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
	id := t.id(v)
	for n, c := range columns {
		if c.bytes == nil || raw[n] == nil {
			continue
		}
		plain := raw[n]
		if c.traits.has(sealed) {
			var err error
			if plain, err = s.open(t.name, c.name, id, plain); err != nil {
				return nil, err
			}
		}
		if err := c.bytes(v, plain); err != nil {
			return nil, fmt.Errorf("%s.%s of %s: %w", t.name, c.name, id, err)
		}
	}
	return v, nil
}

// collect reads all rows of a query whose select list is that of columns.
func (t *table[T]) collect(s *Store, columns []column[T], rows pgx.Rows, err error) ([]*T, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*T, error) { return t.scan(s, row, columns) })
}

// one reads the only row; pgx.ErrNoRows when there is none.
func (t *table[T]) one(s *Store, columns []column[T], rows pgx.Rows, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (*T, error) { return t.scan(s, row, columns) })
}

// encoded are the values of a row in the order of the table's columns, sealed, with the fingerprint of their plain
// form.
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
		if !c.traits.has(unhashed) && (value != nil || !c.traits.has(optional)) {
			writePart(&hashed, c.name, c.traits.has(optional), value)
		}
		if raw, ok := value.([]byte); ok && c.traits.has(sealed) {
			value = s.seal(t.name, c.name, id, raw)
		}
		out.values[n] = value
	}
	out.fingerprint = s.ring.Fingerprint(hashed.Bytes())
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

// insert is an INSERT of all columns and of further ones. Their values are arguments after those of the row, or the
// expression after "=".
func (t *table[T]) insert(further ...string) string {
	var names, values []string
	for _, c := range t.columns {
		if !c.traits.has(derived) {
			names = append(names, c.name)
			values = append(values, place(len(names)))
		}
	}
	for _, column := range further {
		name, expr, given := strings.Cut(column, " = ")
		if !given {
			expr = place(len(names) + 1)
		}
		names, values = append(names, name), append(values, expr)
	}
	return "INSERT INTO " + t.name + " (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")"
}

// insertedColumns is the number of values of a row that insert takes.
func (t *table[T]) insertedColumns() (n int) {
	for _, c := range t.columns {
		if !c.traits.has(derived) {
			n++
		}
	}
	return n
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

// set is the list of assignments of an UPDATE that gives the table its alias. Their values start at the argument with
// the number first.
func (t *table[T]) set(first int) string {
	var out []string
	for _, c := range t.columns {
		if t.changing(c) {
			out = append(out, c.name+" = $"+strconv.Itoa(first+len(out)))
		}
	}
	if t.valid != "" {
		out = append(out, t.valid)
	}
	return strings.Join(out, ", ")
}

// changingColumns is the number of values that set takes.
func (t *table[T]) changingColumns() (n int) {
	for _, c := range t.columns {
		if t.changing(c) {
			n++
		}
	}
	return n
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
