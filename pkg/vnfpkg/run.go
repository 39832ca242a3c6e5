package vnfpkg

import (
	"context"
	"fmt"
	"time"
)

const (
	recoverEvery = 5 * time.Second
	sweepEvery   = time.Hour
	// orphanAge spares the database questions about content that has just come. It protects nothing: what is needed
	// has a reference before it has a name.
	orphanAge = time.Hour
)

// Run looks after what dead processes have left, until ctx ends: it takes packages back from uploads that are over,
// and removes content that nobody needs. Every node runs it; they do not disturb each other.
func (s *Service) Run(ctx context.Context) error {
	var swept time.Time
	for {
		if err := s.Recover(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "abandoned uploads not taken back yet", "error", err)
		}
		if time.Since(swept) > sweepEvery {
			if err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
				s.log.WarnContext(ctx, "content store not swept", "error", err)
			}
			swept = time.Now()
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(recoverEvery):
		}
	}
}

// Recover returns packages to CREATED whose upload has not renewed its lease: its process is gone or cut off.
func (s *Service) Recover(ctx context.Context) error {
	ids, err := s.store.ExpiredUploads(ctx)
	if err != nil {
		return fmt.Errorf("find abandoned uploads: %w", err)
	}
	for _, id := range ids {
		s.log.InfoContext(ctx, "taking package back from an abandoned upload", "package", id)
		s.undoUpload(ctx, id, interrupted("the server that took the content stopped before all of it had arrived"), (*Package).abandoned)
	}
	return nil
}

// Sweep removes what is in the content store for no package: remains of killed processes, and archives whose package
// was deleted by a process that died before it could remove them.
func (s *Service) Sweep(ctx context.Context) error {
	if _, err := s.content.Sweep(ctx); err != nil {
		return err
	}
	for digest, err := range s.content.All(ctx, time.Now().Add(-orphanAge)) {
		if err != nil {
			return err
		}
		removed, err := s.store.ReleaseContent(ctx, string(digest), func() error { return s.removeContent(string(digest)) })
		if err != nil {
			return fmt.Errorf("release content: %w", err)
		}
		if removed {
			s.log.InfoContext(ctx, "content without package removed", "digest", digest)
		}
	}
	return nil
}
