package clients_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// vimFile writes the file of a VIM, with the members that the users of Tacker have in it.
func (w *world) vimFile(name, password string) {
	w.t.Helper()
	w.write(name, strings.Join([]string{
		"auth_url: " + w.cloud.AuthURL(), "username: nfv_user", "password: " + password, "project_name: nfv",
		"project_domain_name: Default", "user_domain_name: Default", "cert_verify: 'True'", "",
	}, "\n"))
}

// TestVIMs registers, shows, lists, changes and deletes a VIM with the commands of version 1, which has them alone.
func TestVIMs(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.vimFile("vim.yaml", "devstack")
	w.vimFile("wrong.yaml", "wrong-password")

	table := w.run("vim register --config-file vim.yaml --is-default --description d VIM0")
	rows := []string{
		"Field", "auth_cred", "auth_url", "created_at", "description", "extra", "id", "is_default", "name",
		"placement_attr", "project_id", "status", "type", "updated_at", "vim_project",
	}
	require.Equal(t, rows, columns(table))
	require.NotContains(t, table, "devstack")
	vim := w.show("vim show VIM0")
	id := text(t, vim, "id")
	for _, name := range rows[1:] {
		require.NotContains(t, []any{"", nil}, vim[name], name)
	}
	require.JSONEq(t, `{"auth_url": "`+w.cloud.AuthURL()+`", "cert_verify": "True", "password": "***",
		"user_domain_name": "Default", "username": "nfv_user"}`, text(t, vim, "auth_cred"))
	require.JSONEq(t, `{"name": "nfv", "project_domain_name": "Default"}`, text(t, vim, "vim_project"))
	require.Equal(t, "ACTIVE", vim["status"])
	require.Equal(t, "openstack", vim["type"])

	require.Equal(t, []obj{{
		"ID": id, "Name": "VIM0", "Tenant_id": "default", "Type": "openstack", "Is Default": true,
		"Placement attribution": obj{"regions": []any{"RegionOne"}}, "Status": "ACTIVE",
	}}, w.list("vim list --long"))
	require.Equal(t, "VIM1", w.show("vim set --name VIM1 " + id)["name"])

	w.refused("vim register --config-file wrong.yaml VIM2", "log in as nfv_user", "401 Unauthorized")
	w.refused("vim register --config-file vim.yaml VIM1", `"VIM1"`)
	w.refused("vim show VIM0", "Unable to find vim with name 'VIM0'")
	w.refused("vim set --is-default False NOSUCH", "Unable to find vim with name 'NOSUCH'")
	w.refused("vim delete NOSUCH", "Unable to find vim with name 'NOSUCH'")
	require.Equal(t, []obj{{
		"ID": id, "Name": "VIM1", "Tenant_id": "default", "Type": "openstack", "Is Default": true, "Status": "ACTIVE",
	}}, w.list("vim list"), "the VIM is still there")
	require.Equal(t, "All specified vim(s) deleted successfully", w.run("vim delete VIM1"))
}
