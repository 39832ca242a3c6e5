package vnflcm

import (
	"slices"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/filter"
)

// instanceQuery lets the store evaluate the expressions on what it has as columns, and returns the others.
func instanceQuery(f filter.Filter) (q lcm.Query, rest filter.Filter) {
	for _, e := range f.Exprs {
		name, values := valuesOf(e)
		switch {
		case name == "vnfInstanceName" && q.Names == nil:
			q.Names = values
		case name == "vnfdId" && q.VnfdIDs == nil:
			q.VnfdIDs = values
		case name == "instantiationState" && q.InstantiationStates == nil:
			for _, v := range values {
				q.InstantiationStates = append(q.InstantiationStates, sol.InstantiationState(v))
			}
		default:
			rest.Exprs = append(rest.Exprs, e)
		}
	}
	return q, rest
}

// operationQuery is instanceQuery for operations.
func operationQuery(f filter.Filter) (q lcm.Query, rest filter.Filter) {
	for _, e := range f.Exprs {
		name, values := valuesOf(e)
		switch {
		case name == "vnfInstanceId" && q.InstanceID == "" && len(values) == 1 && isUUID(values[0]):
			q.InstanceID = values[0]
		case name == "operationState" && q.States == nil:
			for _, v := range values {
				q.States = append(q.States, sol.LcmOperationStateType(v))
			}
		default:
			rest.Exprs = append(rest.Exprs, e)
		}
	}
	return q, rest
}

// valuesOf returns the attribute and the values of an expression that compares texts for equality; "" for another. A
// time can be equal to another text, so those with a length that times have are left to the filter.
func valuesOf(e filter.Expr) (name string, values []string) {
	name, simple := e.Attribute()
	if !simple || e.Op != filter.Eq && e.Op != filter.In || slices.ContainsFunc(e.Values, mayBeTime) {
		return "", nil
	}
	return name, e.Values
}

// mayBeTime says whether a value can be a time of RFC 3339.
func mayBeTime(v string) bool {
	return len(v) >= len("2006-01-02T15:04:05Z") && v[4] == '-' && v[7] == '-'
}

// isUUID says whether a value is a UUID as we write them.
func isUUID(v string) bool {
	id, err := uuid.Parse(v)
	return err == nil && id.String() == v
}
