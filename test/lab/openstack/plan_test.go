package openstack_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// A plan says what an operation would do, and what is not there for it, and changes nothing.
func TestPlanChangesNothing(t *testing.T) {
	w := start(t, 1)
	id := w.create(w.vnfd("standard"))
	p, err := w.api.Plan(t.Context(), gybeapi.PlanRequest{
		VnfInstanceID: id, Operation: sol.LcmOperationInstantiate, Params: encode(t, w.standard("volumes")),
	})
	require.NoError(t, err)
	t.Logf("%s", encode(t, p))
	require.Empty(t, w.cloud.look(t).since(w.before))
	w.completed(w.instantiate(id, w.standard("volumes")))
	before := w.cloud.look(t)
	p, err = w.api.Plan(t.Context(), gybeapi.PlanRequest{
		VnfInstanceID: id, Operation: sol.LcmOperationScale, Params: encode(t, scale(sol.ScaleTypeOut, 2)),
	})
	require.NoError(t, err)
	t.Logf("%s", encode(t, p))
	require.Empty(t, w.cloud.look(t).since(before))
	w.down(id)
}

// What carries the instance's tag and is not in the inventory is listed and can be removed; what is not ours stays.
func TestLeftoversAreListedAndRemoved(t *testing.T) {
	w := start(t, 1)
	id := w.up(w.vnfd("plain"), w.plain())
	theirs := w.cloud.create(t, w.cloud.glance, "images", "", map[string]any{
		"name": "theirs", "disk_format": "raw", "container_format": "bare",
	})
	before := w.cloud.look(t)
	ours := w.cloud.create(t, w.cloud.glance, "images", "", map[string]any{
		"name": "left", "disk_format": "raw", "container_format": "bare", "tags": []string{id},
	})
	l, err := w.api.Leftovers(t.Context(), id)
	require.NoError(t, err)
	text := string(encode(t, l))
	require.Contains(t, text, ours)
	require.NotContains(t, text, theirs)
	_, err = w.api.RemoveLeftovers(t.Context(), id)
	require.NoError(t, err)
	require.Empty(t, w.cloud.look(t).since(before))
	w.cloud.remove(t, w.cloud.glance, "images/"+theirs)
	w.down(id)
}
