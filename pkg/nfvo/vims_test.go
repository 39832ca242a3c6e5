package nfvo_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/nfvo"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/apitest"
	fake "github.com/gybe-nfv/gybe/test/nfvo"
)

// register registers a VIM in a project.
func (w *world) register(project string) lcm.Vim {
	w.t.Helper()
	id, now := uuid.NewString(), lcm.SystemClock{}.Now()
	v := lcm.Vim{ID: id, Name: "vim of " + project, Created: now, Updated: now}
	v.Connection = apitest.Params().VimConnectionInfo["vim1"]
	v.Connection.VimID = id
	require.NoError(w.t, w.Store.Of(lcm.Principal{Project: project}).SaveVim(w.t.Context(), v))
	return v
}

// refer lets the NFVO put everything into a VIM that the grant refers to by vimId alone.
func (w *world) refer(vimID string) {
	w.nfvo.Set(fake.Behaviour{Change: func(_ sol.GrantRequest, g *sol.Grant) {
		g.VimConnectionInfo = map[string]sol.VimConnectionInfo{"core": {VimID: vimID, VimType: apitest.VimType}}
		for n := range g.AddResources {
			g.AddResources[n].VimConnectionID = "core"
		}
	}})
}

// A grant may refer to a registered VIM by its id.
func TestGrantorResolvesVimIDs(t *testing.T) {
	t.Parallel()
	w := start(t)
	v := w.register(lcm.DefaultProject)
	w.refer(v.ID)
	w.ended(w.submit(sol.LcmOperationInstantiate, apitest.Params()), sol.LcmOperationStateCompleted)
	i, err := w.Store.Instance(t.Context(), w.id)
	require.NoError(t, err)
	key, used, _ := lcm.PrimaryVim(i.VimConnections)
	require.Equal(t, "core", key)
	require.Equal(t, v.Connection, used)

	// A later grant may use another key for it, also when the VIM is not registered any more.
	_, err = w.Pool.Exec(t.Context(), "DELETE FROM vim WHERE id = $1", v.ID)
	require.NoError(t, err)
	w.nfvo.Set(fake.Behaviour{Change: func(_ sol.GrantRequest, g *sol.Grant) {
		g.VimConnectionInfo = map[string]sol.VimConnectionInfo{"again": {VimID: v.ID, VimType: apitest.VimType}}
		for n := range g.AddResources {
			g.AddResources[n].VimConnectionID = "again"
		}
	}})
	w.ended(w.submit(sol.LcmOperationScale, json.RawMessage(`{"type":"SCALE_OUT","aspectId":"workers"}`)),
		sol.LcmOperationStateCompleted)
	after, err := w.Store.Instance(t.Context(), w.id)
	require.NoError(t, err)
	require.Equal(t, i.VimConnections, after.VimConnections)
	w.noSecrets()
}

// A VIM of another project does not exist for a grant, and the error says the same as for one that nothing has.
func TestGrantorDoesNotResolveVimIDsOfOthers(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, id := range []string{w.register("another").ID, uuid.NewString(), "PoP 7"} {
		w.refer(id)
		op := w.ended(w.submit(sol.LcmOperationInstantiate, apitest.Params()), sol.LcmOperationStateRolledBack)
		require.Equal(t, http.StatusBadGateway, op.Error.Status)
		require.Equal(t, `the grant of the NFVO is invalid: /vimConnectionInfo/core/vimId is "`+id+`": neither the VNF `+
			"nor the registry of its project has this VIM, and interfaceInfo or accessInfo is missing", op.Error.Detail)
		require.Contains(t, op.Error.Hint, "gybe vim register")
		i, err := w.Store.Instance(t.Context(), w.id)
		require.NoError(t, err)
		require.Nil(t, i.VimConnections)
	}
	w.noSecrets()
}

// overtaken is a registry during whose first answer another node takes an operation over.
type overtaken struct {
	lcm.VimRegistry
	takeOver func(ctx context.Context) error
	answers  int
}

// RegisteredVims implements lcm.VimRegistry.
func (o *overtaken) RegisteredVims(
	ctx context.Context, instanceID string, ids []string,
) (map[string]sol.VimConnectionInfo, error) {
	o.answers++
	if o.answers == 1 {
		if err := o.takeOver(ctx); err != nil {
			return nil, err
		}
	}
	return o.VimRegistry.RegisteredVims(ctx, instanceID, ids)
}

// A node that loses its operation after the lookup stores nothing. The next one asks for the same grant and looks up
// again.
func TestGrantorTakenOverAfterTheLookup(t *testing.T) {
	t.Parallel()
	w := start(t)
	v := w.register(lcm.DefaultProject)
	w.refer(v.ID)
	op := w.submit(sol.LcmOperationInstantiate, apitest.Params())
	grantor, ok := w.Runner.Planner.Grantor.(*nfvo.Grantor)
	require.True(t, ok)
	registry := &overtaken{VimRegistry: grantor.Vims, takeOver: func(ctx context.Context) error {
		_, err := w.Store.Claim(ctx, op.ID, "another node")
		return err
	}}
	grantor.Vims = registry
	_, again, err := w.Runner.Advance(t.Context(), op.ID)
	require.NoError(t, err)
	require.False(t, again)
	require.Nil(t, w.read(op).Grant)
	before, err := w.Store.Instance(t.Context(), w.id)
	require.NoError(t, err)
	require.NotContains(t, before.VimConnections, "core")

	w.ended(op, sol.LcmOperationStateCompleted)
	require.Equal(t, 2, registry.answers)
	require.Len(t, w.nfvo.Grants(op.ID), 1)
	i, err := w.Store.Instance(t.Context(), w.id)
	require.NoError(t, err)
	require.Equal(t, v.Connection, i.VimConnections["core"])
}
