package admission

import (
	"context"
	"iter"
	"reflect"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Instance reads a VNF instance; CodeNotFound when the project does not have it.
func (s *Service) Instance(ctx context.Context, id string) (*lcm.Instance, error) {
	return s.Store.Instance(ctx, id)
}

// InstanceDocument reads a VNF instance as clients see it; CodeNotFound when the project does not have it.
func (s *Service) InstanceDocument(ctx context.Context, id string) (*lcm.InstanceDocument, error) {
	return s.Store.InstanceDocument(ctx, id)
}

// InstanceDocuments lists VNF instances as clients see them, in the order of their ids. One is valid until the next is
// read.
func (s *Service) InstanceDocuments(ctx context.Context, q lcm.Query) iter.Seq2[*lcm.InstanceDocument, error] {
	return s.Store.InstanceDocuments(ctx, q)
}

// InstanceValidator reads the version of a VNF instance; CodeNotFound when the project does not have it.
func (s *Service) InstanceValidator(ctx context.Context, id string) (lcm.Validator, error) {
	return s.Store.InstanceValidator(ctx, id)
}

// Operation reads an operation; CodeNotFound when the project does not have it.
func (s *Service) Operation(ctx context.Context, id string) (*lcm.Operation, error) {
	return s.Store.Operation(ctx, id)
}

// Operations lists operations, the oldest first.
func (s *Service) Operations(ctx context.Context, q lcm.Query) ([]*lcm.Operation, error) {
	return s.Store.Operations(ctx, q)
}

// OperationDocument reads an operation as clients see it; CodeNotFound when the project does not have it.
func (s *Service) OperationDocument(ctx context.Context, id string) (*lcm.OperationDocument, error) {
	return s.Store.OperationDocument(ctx, id)
}

// OperationDocuments lists operations as clients see them, the oldest first. One is valid until the next is read.
func (s *Service) OperationDocuments(ctx context.Context, q lcm.Query) iter.Seq2[*lcm.OperationDocument, error] {
	return s.Store.OperationDocuments(ctx, q)
}

// OperationValidator reads the version of an operation; CodeNotFound when the project does not have it.
func (s *Service) OperationValidator(ctx context.Context, id string) (lcm.Validator, error) {
	return s.Store.OperationValidator(ctx, id)
}

// Actions returns who did what with operations, by id; those that the project does not have are absent.
func (s *Service) Actions(ctx context.Context, opIDs []string) (map[string][]lcm.Action, error) {
	return s.Store.Actions(ctx, opIDs)
}

// Progress returns the phases and steps of an operation in the order they began.
func (s *Service) Progress(ctx context.Context, opID string) ([]lcm.PhaseRecord, []lcm.StepRecord, error) {
	return s.Store.Progress(ctx, opID)
}

// Vims lists the registered VIMs by name.
func (s *Service) Vims(ctx context.Context) ([]lcm.Vim, error) { return s.Store.Vims(ctx) }

// Vim reads a registered VIM; CodeNotFound when the project does not have it.
func (s *Service) Vim(ctx context.Context, id string) (*lcm.Vim, error) { return s.Store.Vim(ctx, id) }

// SaveVim registers a VIM, or replaces the one with its id; CodeConflict when another VIM has the name.
func (s *Service) SaveVim(ctx context.Context, v lcm.Vim) error { return s.Store.SaveVim(ctx, v) }

// ChangeVim replaces a registered VIM that still has the version of v. CodeConflict when it has changed since then, and
// when its description, name or connection changes while it is the cluster of a VNF instance.
func (s *Service) ChangeVim(ctx context.Context, v lcm.Vim) error {
	old, err := s.Store.Vim(ctx, v.ID)
	if err != nil {
		return err
	}
	if old.Owner != "" && (old.Name != v.Name || old.Description != v.Description ||
		!reflect.DeepEqual(old.Connection, v.Connection)) {
		return lcm.Errorf(lcm.CodeConflict, "VIM %s is the cluster of VNF instance %s", old.Name, old.Owner).
			WithHint("the instance keeps it up to date; only is_default can be changed")
	}
	return s.Store.ChangeVim(ctx, v)
}

// DeleteVim forgets a registered VIM. CodeConflict when it is the cluster of a VNF instance, which registered it, and
// while instances use it.
func (s *Service) DeleteVim(ctx context.Context, id string) error {
	v, err := s.Store.Vim(ctx, id)
	if err != nil {
		return err
	}
	if v.Owner != "" {
		return lcm.Errorf(lcm.CodeConflict, "VIM %s is the cluster of VNF instance %s", v.Name, v.Owner).
			WithHint("it is unregistered when that instance is terminated")
	}
	return s.Store.DeleteVim(ctx, id)
}
