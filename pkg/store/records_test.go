package store_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// TestAProjectSeesOnlyItsOwnResources tries every method of lcm.Records with the ids of another project.
func TestAProjectSeesOnlyItsOwnResources(t *testing.T) {
	t.Parallel()
	ours := setup(t)
	i, op := ours.admit(t)
	vim := lcm.Vim{ID: uuid.NewString(), Created: now(), Updated: now(), Name: "cloud", Default: true, Connection: connection()}
	require.NoError(t, ours.SaveVim(t.Context(), vim))

	other := &bundle{Records: ours.Of(lcm.Principal{Project: "other"}), pool: ours.pool, ring: ours.ring}
	theirs := other.newInstance(t)
	change := func(*lcm.Instance) ([]string, error) { return nil, nil }
	for name, call := range map[string]func() error{
		"instance":        func() error { _, err := other.Instance(t.Context(), i.ID); return err },
		"delete instance": func() error { return other.DeleteInstance(t.Context(), i.ID, nil, nil) },
		"update instance": func() error { return other.UpdateInstance(t.Context(), i.ID, change) },
		"lease":           func() error { _, err := other.Lease(t.Context(), i.ID, "x"); return err },
		"end lease": func() error {
			return other.EndLease(t.Context(), &lcm.Lease{Token: uuid.NewString(), Instance: i}, nil)
		},
		"admit":     func() error { return other.Admit(t.Context(), newOperation(i.ID), nil, ok) },
		"operation": func() error { _, err := other.Operation(t.Context(), op.ID); return err },
		"progress":  func() error { _, _, err := other.Progress(t.Context(), op.ID); return err },
		"steer": func() error {
			_, err := other.Steer(t.Context(), op.ID, func(*lcm.Operation) ([]lcm.Message, error) { return nil, nil })
			return err
		},
		"instance document":   func() error { _, err := other.InstanceDocument(t.Context(), i.ID); return err },
		"instance validator":  func() error { _, err := other.InstanceValidator(t.Context(), i.ID); return err },
		"operation document":  func() error { _, err := other.OperationDocument(t.Context(), op.ID); return err },
		"operation validator": func() error { _, err := other.OperationValidator(t.Context(), op.ID); return err },
		"VIM":                 func() error { _, err := other.Vim(t.Context(), vim.ID); return err },
		"delete VIM":          func() error { return other.DeleteVim(t.Context(), vim.ID) },
	} {
		t.Log(name)
		requireCode(t, lcm.CodeNotFound, call())
	}
	list, err := other.Instances(t.Context(), lcm.Query{})
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, theirs.ID, list[0].ID)
	documents, err := other.InstanceDocuments(t.Context(), lcm.Query{})
	require.NoError(t, err)
	require.Len(t, documents, 1)
	require.Equal(t, theirs.ID, documents[0].ID)
	none, err := other.OperationDocuments(t.Context(), lcm.Query{InstanceID: i.ID})
	require.NoError(t, err)
	require.Empty(t, none)
	operations, err := other.Operations(t.Context(), lcm.Query{States: lcm.ActiveStates, InstanceID: i.ID})
	require.NoError(t, err)
	require.Empty(t, operations)
	vims, err := other.Vims(t.Context())
	require.NoError(t, err)
	require.Empty(t, vims)

	// Names and the default are unique in a project only, and the VIM of the other project stays as it is.
	same := vim
	same.ID = uuid.NewString()
	require.NoError(t, other.SaveVim(t.Context(), same))
	stolen := vim
	stolen.Name = "stolen"
	requireCode(t, lcm.CodeNotFound, other.SaveVim(t.Context(), stolen))
	got, err := ours.Vim(t.Context(), vim.ID)
	require.NoError(t, err)
	require.Equal(t, "cloud", got.Name)
	require.True(t, got.Default)
	same.ID = uuid.NewString()
	requireCode(t, lcm.CodeConflict, other.SaveVim(t.Context(), same))

	// The engine works on the operations of all projects. A VIM that it registers belongs to the project of its instance.
	theirOp := newOperation(theirs.ID)
	require.NoError(t, other.Admit(t.Context(), theirOp, nil, ok))
	c, cl := ours.claim(t, theirOp.ID, "n")
	cluster := lcm.Vim{ID: uuid.NewString(), Created: now(), Updated: now(), Name: "cluster", Owner: theirs.ID, Connection: connection()}
	c.Op.State = sol.LcmOperationStateCompleted
	require.NoError(t, ours.CommitTick(t.Context(), cl, lcm.Tick{
		Op: c.Op, Effects: lcm.Effects{RegisterVims: []lcm.Vim{cluster}}, Messages: []lcm.Message{message(theirs.ID, theirOp.ID)},
	}))
	_, err = other.Vim(t.Context(), cluster.ID)
	require.NoError(t, err)
	_, err = ours.Vim(t.Context(), cluster.ID)
	requireCode(t, lcm.CodeNotFound, err)
	require.Equal(t, 1, ours.count(t, "SELECT count(*) FROM outbox WHERE op_id = $1 AND project = 'other'", theirOp.ID))
}
