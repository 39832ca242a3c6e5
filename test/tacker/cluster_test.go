package tacker_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/app"
	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/machine"
	"github.com/gybe-nfv/gybe/test/simcloud/machines"
	"github.com/gybe-nfv/gybe/test/stack"
	"github.com/gybe-nfv/gybe/test/tacker"
)

const (
	clusterSource = "../../vnf-packages/kubernetes-cluster"
	sshPort       = 2222
	patience      = 5 * time.Minute
)

// makeCluster makes a cluster with a node that is gone afterwards, and returns its instance id.
func makeCluster(t *testing.T, pkg *tacker.Package, params json.RawMessage) string {
	t.Helper()
	cfg := config.Default()
	cfg.DatabaseURL, cfg.Listen, cfg.DebugListen, cfg.DataDir = devpg.TestURL(t), "127.0.0.1:0", "", t.TempDir()
	cfg.SSH.Port = sshPort
	node, err := app.New(t.Context(), cfg, app.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- node.Run(ctx) }()
	defer func() {
		cancel()
		require.NoError(t, <-done)
	}()
	<-node.Ready()
	api, err := client.New(node.URL(), nil)
	require.NoError(t, err)
	vnfdID, err := stack.Onboard(t.Context(), api, pkg.Archive)
	require.NoError(t, err)
	in, err := api.CreateInstance(t.Context(), sol.CreateVnfRequest{VnfdID: vnfdID})
	require.NoError(t, err)
	op, err := api.Instantiate(t.Context(), in.ID, params)
	require.NoError(t, err)
	var o *sol.VnfLcmOpOcc
	require.Eventually(t, func() bool {
		o, err = api.Operation(t.Context(), op)
		return err == nil && o.OperationState == sol.LcmOperationStateCompleted
	}, patience, 50*time.Millisecond)
	return in.ID
}

func TestClusterOfVersion2(t *testing.T) {
	cloud, _ := machines.StartTest(t, simcloud.Options{}, machine.Options{SSHPort: sshPort})
	server := tacker.Start(t, tacker.Options{Wrap: standard(t)})
	vim := server.Connect(cloud.AuthOptions())
	pkg := server.AddPackage(clusterSource)
	file := filepath.Join(t.TempDir(), "params.json")
	require.NoError(t, stack.LocalParams(
		filepath.Join(clusterSource, "params", "simple_kubernetes_param_file_v2.json"), file, cloud.Info()))
	params, err := os.ReadFile(file)
	require.NoError(t, err)
	id := makeCluster(t, pkg, params)

	vnf := vim.Cluster(pkg, id, "cluster", params)
	require.Equal(t, id, vnf.ID)
	in := read(t, server, id)
	require.Equal(t, inCloud(cloud), servers(t, in.Request.VnfInstance))
	require.Len(t, inCloud(cloud), 3)
	require.Contains(t, string(in.Request.Operations[0]), `"username":"ubuntu"`, "Tacker shows the logins of nodes")
	require.Len(t, in.Request.Vims, 1)
	registered := vnf.RegisterCluster("https://192.0.2.1:6443", nil)
	in = read(t, server, id)
	require.Len(t, in.Request.Vims, 2)
	require.Contains(t, string(in.Request.Vims[0]), registered)
	require.Contains(t, string(in.Request.Vims[0]), "kubernetes_vim_"+id)
}
