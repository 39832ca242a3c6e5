package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
)

func (a *app) vnfNodes() *cobra.Command {
	cmd := &cobra.Command{
		Use: "nodes INSTANCE", Short: "Show the nodes of a VNF instance's cluster", Args: cobra.ExactArgs(1),
		Long: `Show the machines of a VNF instance that is a Kubernetes cluster, and the current
state of its nodes in the cluster. When the cluster does not answer the machines are shown all the
same, and the exit code says that it could not be reached.

A node that is ABSENT has a machine and is not in the cluster; one without a VNFC is in the cluster
and no machine of the instance.`,
	}
	return a.onInstance(cmd, func(ctx context.Context, c *client.Client, id string, _ []string) error {
		cluster, err := c.Cluster(ctx, id)
		if err != nil {
			return err
		}
		if err := a.show(cluster, func(w io.Writer) { a.nodesTable(w, cluster) }); err != nil {
			return err
		}
		if cluster.Problem != "" {
			return failWith(ExitUnreachable, "the cluster did not tell about its nodes: %s", cluster.Problem)
		}
		return nil
	})
}

func (a *app) nodesTable(w io.Writer, c *gybeapi.Cluster) {
	t := table{head: []string{"NODE", "ROLE", "STATE", "VERSION", "ADDRESS", "VNFC", "HOST", "ZONE", "REASON"}}
	for _, n := range c.Nodes {
		state := n.State
		if state == gybeapi.NodeNone {
			state = "-"
		}
		t.add(n.Name, n.Role, state, n.Version, n.Address, n.VnfcInstanceID, n.ComputeHost, n.Zone, oneLine(n.Reason))
	}
	t.write(w, a.paint)
}
