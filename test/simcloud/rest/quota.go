package rest

import (
	"maps"
	"net/http"
	"slices"
)

// Quotas are the limits of the projects of one service; -1 is no limit, which is also the default.
type Quotas struct {
	names  []string
	limits map[string]map[string]int
	// unknown is the error for a name that the service does not have.
	unknown func(name string) error
}

// NewQuotas returns quotas without limits. unknown makes the error for a name that is not one of names.
func NewQuotas(unknown func(name string) error, names ...string) *Quotas {
	return &Quotas{names: names, limits: map[string]map[string]int{}, unknown: unknown}
}

// Reset removes all limits.
func (q *Quotas) Reset() { clear(q.limits) }

// Set sets limits of a project.
func (q *Quotas) Set(project string, limits map[string]int) error {
	for name := range limits {
		if !slices.Contains(q.names, name) {
			return q.unknown(name)
		}
	}
	if q.limits[project] == nil {
		q.limits[project] = map[string]int{}
	}
	maps.Copy(q.limits[project], limits)
	return nil
}

// Of returns all limits of a project.
func (q *Quotas) Of(project string) map[string]int {
	out := map[string]int{}
	for _, name := range q.names {
		out[name] = q.Limit(project, name)
	}
	return out
}

// Limit returns one limit of a project.
func (q *Quotas) Limit(project, name string) int {
	if n, ok := q.limits[project][name]; ok {
		return n
	}
	return -1
}

// QuotaSet shows the limits of a project as Nova and Cinder do, with what is in use unless that is nil.
func (q *Quotas) QuotaSet(project string, use map[string]int) Obj {
	set := Obj{"id": project}
	for name, limit := range q.Of(project) {
		set[name] = limit
		if use != nil {
			set[name] = Obj{"limit": limit, "in_use": use[name], "reserved": 0}
		}
	}
	return Obj{"quota_set": set}
}

// Write answers a call that sets limits of a project. member is the name of the quotas in the answer.
func (q *Quotas) Write(project, member string, limits map[string]int) (int, any, error) {
	if err := q.Set(project, limits); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, Obj{member: q.Of(project)}, nil
}
