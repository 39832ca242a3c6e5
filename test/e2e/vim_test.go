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
