package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// A VIM that is registered once need not be described again: requests name it, or, when it is the default, say nothing.
func TestRegisteredVIMIsUsed(t *testing.T) {
	t.Parallel()
	w := start(t, simcloud.StartTest(t, simcloud.Options{}), nil)
	vim, err := w.api.CreateVim(t.Context(), gybeapi.Vim{
		Name: "openstack1", Type: "openstack", AuthURL: w.cloud.AuthURL(), IsDefault: true,
		VimProject: sol.KeyValuePairs{"name": simcloud.Project, "project_domain_name": simcloud.Domain},
		AuthCred: sol.KeyValuePairs{
			"username": simcloud.Username, "password": simcloud.Password,
			"user_domain_name": simcloud.Domain, "cert_verify": "True",
		},
	})
	require.NoError(t, err)
	vnfd := w.onboard(plainSource)
	for name, conns := range map[string]any{
		"by its id": map[string]any{
			"vim1": map[string]any{"vimId": vim.ID, "vimType": "ETSINFV.OPENSTACK_KEYSTONE.V_3"},
		},
		"as the default": nil,
	} {
		t.Run(name, func(t *testing.T) {
			params := w.plain("default")
			params["vimConnectionInfo"] = conns
			if conns == nil {
				delete(params, "vimConnectionInfo")
			}
			id := w.create(vnfd)
			w.completed(w.instantiate(id, params))
			i, err := w.api.Instance(t.Context(), id)
			require.NoError(t, err)
			require.Len(t, i.VimConnectionInfo, 1)
			for _, c := range i.VimConnectionInfo {
				require.Equal(t, vim.ID, c.VimID)
				require.Equal(t, w.cloud.AuthURL(), c.InterfaceInfo["endpoint"])
			}
			w.completed(w.terminate(id))
			w.gone()
			require.NoError(t, w.api.DeleteInstance(t.Context(), id))
		})
	}
	id := w.create(vnfd)
	params := w.plain("default")
	params["vimConnectionInfo"] = map[string]any{"vim1": map[string]any{
		"vimId": "a86d8d5b-8f8e-4d0c-9b6e-0f3f5f5d8c55", "vimType": "ETSINFV.OPENSTACK_KEYSTONE.V_3",
	}}
	_, err = w.api.Instantiate(t.Context(), id, encode(t, params))
	status(t, err, 404)
	require.NoError(t, w.api.DeleteVim(t.Context(), vim.ID))
	delete(params, "vimConnectionInfo")
	_, err = w.api.Instantiate(t.Context(), id, encode(t, params))
	require.ErrorContains(t, status(t, err, 422), "register a default VIM")
	w.gone()
}

// TestANewPasswordOfAVIMReachesItsInstances: after the password was changed in Keystone and in the registry, requests
// work that name no connection, and so does an operation that has failed in the meantime.
func TestANewPasswordOfAVIMReachesItsInstances(t *testing.T) {
	t.Parallel()
	w := start(t, simcloud.StartTest(t, simcloud.Options{}), nil)
	vim, err := w.api.CreateVim(t.Context(), gybeapi.Vim{
		Name: "openstack1", Type: "openstack", AuthURL: w.cloud.AuthURL(), IsDefault: true,
		VimProject: sol.KeyValuePairs{"name": simcloud.Project, "project_domain_name": simcloud.Domain},
		AuthCred: sol.KeyValuePairs{
			"username": simcloud.Username, "password": simcloud.Password, "user_domain_name": simcloud.Domain,
		},
	})
	require.NoError(t, err)
	params := w.plain("default")
	params["vimConnectionInfo"] = map[string]any{
		"vim1": map[string]any{"vimId": vim.ID, "vimType": "ETSINFV.OPENSTACK_KEYSTONE.V_3"},
	}
	vnfd := w.onboard(plainSource)
	id, failing := w.create(vnfd), w.create(vnfd)
	w.completed(w.instantiate(id, params))
	change := func(password string) {
		require.True(t, w.cloud.SetPassword(simcloud.Username, password))
		cred := sol.KeyValuePairs{"password": password}
		_, err := w.api.ChangeVim(t.Context(), vim.ID, gybeapi.VimChange{AuthCred: cred})
		require.NoError(t, err)
	}
	scale := func() string {
		op, err := w.api.Scale(t.Context(), id, sol.ScaleVnfRequest{Type: sol.ScaleTypeOut, AspectID: "VDU1_scale"})
		require.NoError(t, err)
		return op
	}

	change("second-password")
	w.completed(scale())

	// The password of Keystone is changed first: an operation that meets this state fails, and is retried or undone.
	require.True(t, w.cloud.SetPassword(simcloud.Username, "third-password"))
	op := w.instantiate(failing, params)
	require.Contains(t, w.failed(op).Error.Detail, "401")
	undone := scale()
	require.Contains(t, w.failed(undone).Error.Detail, "401")
	change("third-password")
	require.NoError(t, w.api.Retry(t.Context(), op))
	w.completed(op)
	require.NoError(t, w.api.Rollback(t.Context(), undone))
	require.Equal(t, sol.LcmOperationStateRolledBack, w.resting(undone).OperationState)

	// What is left in the VIM is found with the present password, too.
	change("fourth-password")
	for _, id := range []string{id, failing} {
		left, err := w.api.Leftovers(t.Context(), id)
		require.NoError(t, err)
		require.Empty(t, left.Extra)
		w.completed(w.terminate(id))
		change(simcloud.Password)
		require.NoError(t, w.api.DeleteInstance(t.Context(), id))
	}
	require.NoError(t, w.api.DeleteVim(t.Context(), vim.ID))
	w.gone()
}
