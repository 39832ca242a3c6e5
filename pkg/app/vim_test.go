package app_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

// TestAClusterIsAskedBeforeItIsRegistered: the API server has to know the user of the credentials, when the VIM is
// registered and when its credentials change.
func TestAClusterIsAskedBeforeItIsRegistered(t *testing.T) {
	t.Parallel()
	cluster, url := kubeapi.StartTest(t)
	admin, err := cluster.IssueClient(kubeapi.Admin.Name, kubeapi.Admin.Groups...)
	require.NoError(t, err)

	_, c, _ := start(t, settings(t, devpg.TestURL(t)))
	vim := gybeapi.Vim{
		Name: "k8s", Type: "kubernetes", AuthURL: url, AuthCred: sol.KeyValuePairs{
			"client_certificate": string(admin.Certificate), "client_key": string(admin.Key), "cert_verify": "False",
		},
		VimProject: sol.KeyValuePairs{"name": "apps"},
	}
	made, err := c.CreateVim(t.Context(), vim)
	require.NoError(t, err)
	require.Equal(t, "***", made.AuthCred["client_key"])

	refused := func(err error) {
		var problem *client.Error
		require.ErrorAs(t, err, &problem)
		require.Equal(t, http.StatusUnprocessableEntity, problem.Problem.Status)
		require.Contains(t, problem.Problem.Detail, "Unauthorized")
		require.Equal(t, "/vim/auth_cred/bearer_token", problem.Problem.InvalidParams[0].Pointer)
	}
	vim.Name, vim.AuthCred = "other", sol.KeyValuePairs{"bearer_token": "forged", "cert_verify": "False"}
	_, err = c.CreateVim(t.Context(), vim)
	refused(err)
	_, err = c.ChangeVim(t.Context(), made.ID, gybeapi.VimChange{AuthCred: vim.AuthCred})
	refused(err)
	kept, err := c.Vim(t.Context(), made.ID)
	require.NoError(t, err)
	require.Equal(t, made, kept)
}
