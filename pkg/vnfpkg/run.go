package vnfpkg

import (
	"context"
	"fmt"
	"time"
)

const (
	recoverEvery = 5 * time.Second
	sweepEvery   = time.Hour
	// orphanAge avoids queries for new content. It protects nothing: content gets its reference before its name.
	orphanAge = time.Hour
)

// Run cleans up after dead processes until ctx ends: it resets packages of abandoned uploads and removes unused
// content. Every node runs it; concurrent runs do no harm.
func (s *Services) Run(ctx context.Context) error {
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

// Recover returns packages to CREATED whose upload has not renewed its lease: its process is dead or disconnected.
func (s *Services) Recover(ctx context.Context) error {
	ids, err := s.store.ExpiredUploads(ctx)
	if err != nil {
		return fmt.Errorf("find abandoned uploads: %w", err)
	}
	for _, id := range ids {
		s.log.InfoContext(ctx, "taking package back from an abandoned upload", "package", id)
		s.undoUpload(ctx, id, interruptedFailure(
			"the server that took the content stopped before all of it had arrived",
		), (*Package).abandoned)
	}
	return nil
}

// Sweep removes content without a package: files of killed processes, and archives of packages that were deleted by a
// process that died before it could remove the archive.
func (s *Services) Sweep(ctx context.Context) error {
	if _, err := s.content.Sweep(ctx); err != nil {
		return err
	}
	if err := s.sweepPartials(ctx); err != nil {
		return err
	}
	for digest, err := range s.content.All(ctx, time.Now().Add(-orphanAge)) {
		if err != nil {
			return err
		}
		removed, err := s.store.ReleaseContent(
			ctx, string(digest), func() error { return s.removeContent(string(digest)) },
		)
		if err != nil {
			return fmt.Errorf("release content: %w", err)
		}
		if removed {
			s.log.InfoContext(ctx, "content without package removed", "digest", digest)
		}
	}
	return nil
}
