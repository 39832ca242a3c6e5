package store

import (
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/filter"
)

// filterColumn is a column on which expressions of a filter are evaluated.
type filterColumn struct {
	// sql is the column, or the condition for true.
	sql string
	// not is the condition for false.
	not string
	// id says that sql is a UUID.
	id bool
	// optional says that an empty text stands for an absent attribute, which matches nothing.
	optional bool
	// values are all values of an enumeration. They are written into the statement, because they differ in how many
	// rows have them.
	values []string
	// common are values that many rows have.
	common []string
	// lookup selects the ids of the rows that have one of some values, its argument. It stands apart: PostgreSQL does
	// not know how many rows have a value of an expression, and would go through the list in its order.
	lookup string
	// finds is what an index finds.
	finds reach
	// apart says that this index is not in the order of the list.
	apart bool
}

// reach says how many rows have to be read for an expression.
type reach int

const (
	// searches reads every row.
	searches reach = iota
	// ordered reads the rows of a part of the list, in its order.
	ordered
	// selects reads few rows for eq and in.
	selects
)

var instanceFilter = map[string]filterColumn{
	"id":                     {sql: "i.id", id: true, finds: selects},
	"vnfInstanceName":        {sql: "i.name", optional: true, finds: selects},
	"vnfInstanceDescription": {sql: "i.description", optional: true},
	"vnfdId":                 {sql: "i.vnfd_id", finds: selects},
	"vnfProvider":            {sql: "i.provider"},
	"vnfProductName":         {sql: "i.product_name"},
	"vnfSoftwareVersion":     {sql: "i.software_version"},
	"vnfdVersion":            {sql: "i.vnfd_version"},
	"instantiationState":     {sql: "i.state"},
}

var operationFilter = map[string]filterColumn{
	"id":            {sql: "o.id", id: true, finds: selects},
	"vnfInstanceId": {sql: "o.instance_id", id: true, finds: selects},
	"operationState": {
		sql: "o.state", values: texts(slices.Concat(lcm.ActiveStates, lcm.FinalStates)), finds: ordered,
		common: []string{string(sol.LcmOperationStateCompleted)},
	},
	"operation":             {sql: "o.type", values: texts(operationTypes()), finds: ordered},
	"startTime":             {sql: "o.started", finds: ordered},
	"stateEnteredTime":      {sql: "o.state_entered", finds: ordered, apart: true},
	"isAutomaticInvocation": {sql: "o.automatic", not: "NOT o.automatic", finds: ordered},
	"isCancelPending":       {sql: "o.cancel <> ''", not: "o.cancel = ''", finds: ordered},
	"cancelMode":            {sql: "o.cancel", optional: true, finds: ordered},
	"grantId": {
		sql: "(o.granted->>'id')", optional: true, finds: selects,
		lookup: "SELECT x.id FROM vnf_lcm_op_occ x WHERE x.granted->>'id' = ANY(?)",
	},
}

func operationTypes() (out []sol.LcmOperationType) {
	for _, k := range lcm.OperationKinds() {
		out = append(out, k.Type)
	}
	return out
}

// where adds the expressions of a filter; false when nothing can match.
func (c *listClause) where(exprs []filter.Expr, columns map[string]filterColumn, kinds filter.Columns) bool {
	for _, e := range exprs {
		name, _ := e.Attribute()
		column := columns[name]
		var ok bool
		switch kinds[name] {
		case filter.Truth:
			ok = c.truth(e, column)
		case filter.Instant:
			ok = c.instant(e, column)
		default:
			ok = c.text(e, column)
		}
		if !ok {
			return false
		}
	}
	return true
}

// truth adds a comparison of truth values.
func (c *listClause) truth(e filter.Expr, column filterColumn) bool {
	matches := func(v string) bool {
		return slices.Contains(e.Values, v) == (e.Op == filter.Eq || e.Op == filter.In)
	}
	switch yes, no := matches("true"), matches("false"); {
	case yes && no:
		return true
	case yes:
		c.from += " AND " + column.sql
	case no:
		c.from += " AND " + column.not
	default:
		return false
	}
	return true
}

// instant adds a comparison of times. They are written into the statement: the plan depends on how many rows are later.
func (c *listClause) instant(e filter.Expr, column filterColumn) bool {
	times := make([]string, len(e.Values))
	for n, v := range e.Values {
		t, err := time.Parse(time.RFC3339, v)
		if err != nil {
			return false // filter.Columns does not let it through
		}
		times[n] = "'" + t.UTC().Format(time.RFC3339Nano) + "'::timestamptz"
	}
	switch list := "(" + strings.Join(times, ", ") + ")"; e.Op {
	case filter.Eq, filter.In:
		c.from += " AND " + column.sql + " IN " + list
	case filter.Neq, filter.Nin:
		c.from += " AND " + column.sql + " NOT IN " + list
	default:
		c.from += " AND " + column.sql + " " + comparisons[e.Op] + " " + times[0]
	}
	return true
}

// text adds a comparison of texts.
func (c *listClause) text(e filter.Expr, column filterColumn) bool {
	values, sql := e.Values, column.sql
	if column.optional {
		c.from += " AND " + sql + " <> ''"
	}
	if e.Op == filter.Eq || e.Op == filter.In {
		switch {
		case column.values != nil:
			values = slices.DeleteFunc(
				slices.Clone(values), func(v string) bool { return !slices.Contains(column.values, v) },
			)
			if len(values) > 0 {
				c.from += " AND " + sql + " IN " + sqlList(values)
			}
			return len(values) > 0
		case column.lookup != "":
			c.from += " AND o.id = ANY(ARRAY(" + strings.Replace(column.lookup, "?", c.place(values), 1) + "))"
			return true
		case column.id:
			values = slices.DeleteFunc(
				slices.Clone(values), func(v string) bool { return !known(v) || v != strings.ToLower(v) },
			)
			if len(values) > 0 {
				c.compare(e.Op, sql, values[0], values)
			}
			return len(values) > 0
		}
	}
	if column.id {
		sql += "::text"
	}
	if e.Op == filter.Cont || e.Op == filter.Ncont {
		parts := make([]string, len(values))
		for n, v := range values {
			parts[n] = "strpos(" + sql + ", " + c.place(v) + ") > 0"
		}
		not := ""
		if e.Op == filter.Ncont {
			not = "NOT "
		}
		c.from += " AND " + not + "(" + strings.Join(parts, " OR ") + ")"
		return true
	}
	if e.Op.Ordered() {
		sql += ` COLLATE "C"`
	}
	c.compare(e.Op, sql, values[0], values)
	return true
}

// compare adds a comparison with one value, or with several.
func (c *listClause) compare(op filter.Op, sql string, first, all any) {
	switch op {
	case filter.Eq:
		c.from += " AND " + sql + " = " + c.place(first)
	case filter.In:
		c.from += " AND " + sql + " = ANY(" + c.place(all) + ")"
	case filter.Neq:
		c.from += " AND " + sql + " <> " + c.place(first)
	case filter.Nin:
		c.from += " AND " + sql + " <> ALL(" + c.place(all) + ")"
	default:
		c.from += " AND " + sql + " " + comparisons[op] + " " + c.place(first)
	}
}

var comparisons = map[filter.Op]string{filter.Gt: ">", filter.Lt: "<", filter.Gte: ">=", filter.Lte: "<="}

// reachOf says how many rows have to be read for an expression.
func (f filterColumn) reachOf(e filter.Expr, kind filter.Kind) reach {
	equal := e.Op == filter.Eq || e.Op == filter.In
	switch {
	case kind == filter.Truth:
		if (e.Op == filter.Eq) == (e.Values[0] == "true") && !e.Op.Multi() {
			return f.finds // few rows are true
		}
		return searches
	case kind == filter.Instant && e.Op.Ordered():
		return f.finds
	case equal && f.finds == ordered && len(e.Values) > 1:
		return searches // the rows of several values are not in the order of the list
	case equal && !slices.ContainsFunc(e.Values, f.isCommon):
		return f.finds
	}
	return searches
}

// bounds says whether the rows that satisfy an expression are in an index in the order of the list, or are one end of
// the list (start).
func (f filterColumn) bounds(e filter.Expr, kind filter.Kind) (whole, start bool) {
	whole = f.finds == ordered && !f.apart && f.reachOf(e, kind) == ordered
	return whole, whole && kind == filter.Instant
}

func (f filterColumn) isCommon(v string) bool { return slices.Contains(f.common, v) }

// isSearch says whether a query with expressions has to read rows that do not match: an index neither finds the few
// that match one of them, nor those that match all. Any number of rows can match one of two expressions.
func isSearch(exprs []filter.Expr, columns map[string]filterColumn, kinds filter.Columns) bool {
	search, indexes := false, 0
	for _, e := range exprs {
		name, _ := e.Attribute()
		switch columns[name].reachOf(e, kinds[name]) {
		case selects:
			return false
		case searches:
			search = true
		case ordered:
			if _, start := columns[name].bounds(e, kinds[name]); !start {
				indexes++
			}
		}
	}
	return search || indexes > 1
}
