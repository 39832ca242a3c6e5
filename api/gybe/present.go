package gybe

import (
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// previewOf gives a plan the shape that the interface serves.
func previewOf(p *lcm.Preview) gybeapi.Preview {
	return gybeapi.Preview{
		Operation: p.Operation, Possible: p.Possible,
		Add: each(p.Add, resourceOf), Remove: each(p.Remove, resourceOf), Replace: each(p.Replace, resourceOf),
		Change: each(p.Change, resourceOf),
		Work: each(p.Work, func(w lcm.PlannedWork) gybeapi.PlannedWork {
			return gybeapi.PlannedWork{Hook: string(w.Hook), Driver: w.Driver, Detail: w.Detail}
		}),
		Checks: each(p.Checks, checkOf),
	}
}

func resourceOf(r lcm.PlannedResource) gybeapi.PlannedResource {
	return gybeapi.PlannedResource{
		Type: r.Type, Name: r.Name, VDU: r.VDU, VNFC: r.VNFC, ID: r.ID, Detail: r.Detail, Kind: string(r.Kind),
		LosesData: r.LosesData,
	}
}

func checkOf(c lcm.Check) gybeapi.Check {
	return gybeapi.Check{State: string(c.State), Subject: c.Subject, Detail: c.Detail, Hint: c.Hint}
}

func leftoverOf(l lcm.Leftover) gybeapi.Leftover {
	return gybeapi.Leftover{Type: l.Type, ID: l.ID, Name: l.Name, Status: l.Status, Why: l.Why}
}

// each converts the elements of a list; the result is never null in JSON.
func each[T, U any](in []T, convert func(T) U) []U {
	out := make([]U, len(in))
	for i := range in {
		out[i] = convert(in[i])
	}
	return out
}
