package frame

import (
	"context"
	"slices"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol/filter"
	"github.com/gybe-nfv/gybe/pkg/sol/selector"
)

const (
	// searchPages bounds how much one request may search for resources that match: so many pages of bytes. The page
	// ends there, even if it is empty, and its link leads on.
	searchPages = 8
	// searchCount resources are searched in any case. After that, the search ends when it has taken searchTime.
	searchCount = 1000
	searchTime  = 30 * time.Millisecond
	// largeResource is the size from which on resources are decoded one after the other.
	largeResource = 64 << 10
)

// search finds the resources that match a filter.
type search[T any] struct {
	filter filter.Filter
	needed selector.Selection[T]
	frame  *Frame
	ctx    context.Context //nolint:containedctx // of the request, like the search
	progress
	whole, part []byte
}

// progress is what a search has done.
type progress struct {
	began time.Time
	// count and bytes are those of the resources that were searched.
	count, bytes int
}

// isOver says whether a request has searched enough.
func (p *progress) isOver(l Limits) bool {
	return p.bytes > searchPages*l.PageBytes || p.count > searchCount && time.Since(p.began) > searchTime
}

func newSearch[T any](r *Request, f filter.Filter) *search[T] {
	return &search[T]{
		filter: f, needed: neededBy[T](f), frame: r.frame, ctx: r.Context(), progress: progress{began: r.began},
	}
}

// matches says whether a resource matches. It decodes only the attributes that the filter looks at.
func (s *search[T]) matches(d Resource) (_ bool, err error) {
	if s.filter.Empty() {
		return true, nil
	}
	s.whole = d.appendTo(s.whole[:0])
	s.bytes, s.count = s.bytes+len(s.whole), s.count+1
	if s.part, err = s.needed.AppendJSON(s.part[:0], s.whole); err != nil {
		return false, err
	}
	if len(s.part) > largeResource {
		select {
		case s.frame.decoding <- struct{}{}:
			defer func() { <-s.frame.decoding }()
		case <-s.ctx.Done():
			return false, s.ctx.Err()
		}
	}
	return matchesJSON(s.filter, s.part)
}

// neededBy selects the attributes that a filter looks at. Below a path with @key it takes everything.
func neededBy[T any](f filter.Filter) selector.Selection[T] {
	var paths [][]string
	for _, e := range f.Exprs {
		var path []string
		for _, s := range e.Path {
			if s.Key {
				break
			}
			path = append(path, s.Name)
		}
		paths = append(paths, path)
	}
	return selector.KeepOnly[T](paths...)
}

// names says whether a filter looks at a top-level attribute.
func names(f filter.Filter, attribute string) bool {
	return slices.ContainsFunc(
		f.Exprs, func(e filter.Expr) bool { return len(e.Path) > 0 && e.Path[0].Name == attribute },
	)
}
