package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/store"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
	"github.com/gybe-nfv/gybe/test/rendered"
)

// TestAProjectSeesOnlyItsOwnResources tries every method of lcm.Records with the ids of another project.
func TestAProjectSeesOnlyItsOwnResources(t *testing.T) {
	t.Parallel()
	ours := setup(t)
	i, op := ours.admit(t)
	vim := lcm.Vim{
		ID: uuid.NewString(), Created: now(), Updated: now(), Name: "cloud", Default: true, Connection: connection(),
	}
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
			_, err := other.Steer(t.Context(), op.ID,
				func(*lcm.Operation, *lcm.Protection) ([]lcm.Message, error) { return nil, nil })
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
	documents := rendered.Instances(t, other.InstanceDocuments(t.Context(), lcm.Query{}))
	require.Len(t, documents, 1)
	require.Equal(t, theirs.ID, documents[0].ID)
	require.Empty(t, rendered.Operations(t, other.OperationDocuments(t.Context(), lcm.Query{InstanceID: i.ID})))
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

	// The engine works on the operations of all projects. A VIM that it registers belongs to the project of its
	// instance.
	theirOp := newOperation(theirs.ID)
	require.NoError(t, other.Admit(t.Context(), theirOp, nil, ok))
	c, cl := ours.claim(t, theirOp.ID, "n")
	cluster := lcm.Vim{
		ID: uuid.NewString(), Created: now(), Updated: now(), Name: "cluster", Owner: theirs.ID,
		Connection: connection(),
	}
	c.Op.State = sol.LcmOperationStateCompleted
	require.NoError(t, ours.CommitTick(t.Context(), cl, lcm.Tick{
		Op: c.Op, Effects: lcm.Effects{RegisterVims: []lcm.Vim{cluster}},
		Messages: []lcm.Message{message(theirs.ID, theirOp.ID)},
	}))
	_, err = other.Vim(t.Context(), cluster.ID)
	require.NoError(t, err)
	_, err = ours.Vim(t.Context(), cluster.ID)
	requireCode(t, lcm.CodeNotFound, err)
	require.Equal(t, 1, ours.count(t, "SELECT count(*) FROM outbox WHERE op_id = $1 AND project = 'other'", theirOp.ID))
}

// TestAProjectFollowsOnlyItsOwnEvents: every kind of event belongs to the project of its resource.
func TestAProjectFollowsOnlyItsOwnEvents(t *testing.T) {
	t.Parallel()
	ours := setup(t)
	feed := ours.runFeed(t)
	other := &bundle{Records: ours.Of(lcm.Principal{Project: "other"}), pool: ours.pool, ring: ours.ring}
	ours.newInstance(t)

	i, op := other.admit(t)
	_, cl := other.claim(t, op.ID, "n")
	step, err := other.BeginStep(t.Context(), cl, "infra", "create", "VDU1")
	require.NoError(t, err)
	require.NoError(t, other.AppendLog(t.Context(), cl, step.ID, []lcm.LogLine{{Time: now(), Text: "hello"}}))
	require.NoError(t, other.EndStep(t.Context(), cl, step.ID, lcm.StepDone, "", nil))
	c, cl := other.claim(t, op.ID, "n")
	c.Instance.Name = "changed"
	c.Op.State = sol.LcmOperationStateCompleted
	vim := lcm.Vim{
		ID: uuid.NewString(), Created: now(), Updated: now(), Name: "cluster", Owner: i.ID, Connection: connection(),
	}
	require.NoError(t, other.CommitTick(t.Context(), cl, lcm.Tick{
		Op: c.Op, Instance: c.Instance,
		Phases:  []lcm.PhaseRecord{{Name: "infra", State: lcm.PhaseDone, Started: now()}},
		Effects: lcm.Effects{RegisterVims: []lcm.Vim{vim}},
	}))
	require.NoError(t, other.DeleteVim(t.Context(), vim.ID))
	require.NoError(t, other.DeleteInstance(t.Context(), i.ID, nil, nil))
	_, err = other.packages().UpdatePackage(t.Context(), i.VnfPkgID, func(p *vnfpkg.Package, _ time.Time) error {
		p.OperationalState = sol.PackageOperationalStateEnabled
		return nil
	})
	require.NoError(t, err)
	_, err = other.packages().DeletePackage(t.Context(), i.VnfPkgID, func(*vnfpkg.Package) error { return nil })
	require.NoError(t, err)

	count := ours.count(t, "SELECT count(*) FROM event WHERE project = 'other'")
	theirs := read(
		t.Context(), t, feed.Follow(t.Context(), store.FeedQuery{After: &store.Cursor{}, Project: "other"}), count,
	)
	kinds := map[string]int{}
	for _, e := range theirs {
		kinds[e.Kind]++
	}
	for _, kind := range []string{
		store.KindInstanceCreated, store.KindInstanceUpdated, store.KindInstanceDeleted, store.KindOperationState,
		store.KindPhase, store.KindStep, store.KindLog, store.KindPackage, store.KindPackageDeleted, store.KindVim,
		store.KindVimDeleted,
	} {
		require.Positive(t, kinds[kind], kind)
	}
	require.Equal(
		t, 2, ours.count(t, "SELECT count(*) FROM event WHERE project = 'default'"), "the package and the instance",
	)
	mine, err := ours.Events(t.Context(), store.EventQuery{Project: "default"})
	require.NoError(t, err)
	require.Len(t, mine, 2)

	lines, _, err := other.OperationLog(t.Context(), op.ID, "", 10)
	require.NoError(t, err)
	require.Len(t, lines, 1)
	lines, _, err = ours.OperationLog(t.Context(), op.ID, "", 10)
	require.NoError(t, err)
	require.Empty(t, lines)
}
