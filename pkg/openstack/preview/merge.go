package preview

import (
	"cmp"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Merge makes the preview of an operation of the plans of the stacks that it changes.
func Merge(operation sol.LcmOperationType, plans []*Plan) *lcm.Preview {
	out := lcm.Preview{
		Operation: operation, Add: []lcm.PlannedResource{}, Remove: []lcm.PlannedResource{},
		Replace: []lcm.PlannedResource{}, Change: []lcm.PlannedResource{}, Checks: []lcm.Check{},
	}
	for _, p := range plans {
		out.Add, out.Remove = slices.Concat(out.Add, p.Add), slices.Concat(out.Remove, p.Remove)
		out.Replace, out.Change = slices.Concat(out.Replace, p.Replace), slices.Concat(out.Change, p.Change)
		out.Checks = slices.Concat(out.Checks, p.Checks)
	}
	slices.SortStableFunc(out.Checks, func(a, b lcm.Check) int { return cmp.Compare(rankOf(a.State), rankOf(b.State)) })
	out.Possible = !slices.ContainsFunc(out.Checks, func(c lcm.Check) bool { return c.State == lcm.CheckFailed })
	return &out
}

// rankOf puts the checks that failed first.
func rankOf(s lcm.CheckState) int {
	return slices.Index([]lcm.CheckState{lcm.CheckFailed, lcm.CheckWarning, lcm.CheckOK}, s)
}
