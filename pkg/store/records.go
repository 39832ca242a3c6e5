package store

import "github.com/gybe-nfv/gybe/pkg/lcm"

// Records is what a principal sees of the store: the resources of its project. It implements lcm.Records.
type Records struct {
	*Store
	project string
}

var (
	_ lcm.Records = (*Records)(nil)
	_ lcm.Stores  = (*Store)(nil)
	_ lcm.Ledger  = (*Store)(nil)
)

// In returns the store as a principal sees it.
func (s *Store) In(p lcm.Principal) lcm.Records { return s.Of(p) }

// Of is In for callers that need more than lcm.Records.
func (s *Store) Of(p lcm.Principal) *Records {
	project := p.Project
	if project == "" {
		project = lcm.DefaultProject
	}
	return &Records{Store: s, project: project}
}
