package store

import (
	"cmp"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Records is what a principal sees of the store: the resources of its project. It implements lcm.Records.
type Records struct {
	*Store
	project string
}

var (
	_ lcm.Records = (*Records)(nil)
	_ lcm.Stores  = (*Store)(nil)
	_ lcm.Ledger  = (*Store)(nil)

	_ lcm.VimRegistry = (*Store)(nil)
)

// In returns the store as a principal sees it.
func (s *Store) In(p lcm.Principal) lcm.Records { return s.Of(p) }

// Of is In for callers that need more than lcm.Records.
func (s *Store) Of(p lcm.Principal) *Records { return &Records{Store: s, project: projectOf(p)} }

// Project is the project whose resources these are.
func (s *Records) Project() string { return s.project }

// projectOf is the project of a principal.
func projectOf(p lcm.Principal) string { return cmp.Or(p.Project, lcm.DefaultProject) }
