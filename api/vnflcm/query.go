package vnflcm

import (
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol/filter"
)

// queryOn makes a function that lets the store evaluate the expressions on what it has as columns, and returns the
// others.
func queryOn(columns filter.Columns) func(filter.Filter) (lcm.Query, filter.Filter) {
	return func(f filter.Filter) (q lcm.Query, rest filter.Filter) {
		q.Where, rest = f.Split(columns)
		return q, rest
	}
}
