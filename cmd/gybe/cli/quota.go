package cli

import (
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
)

func (a *app) quotaCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "quota", Short: "Show what the project uses of its quota", Args: cobra.NoArgs,
		Long: `Show what the project uses of its quota. Operators of nodes set it: limits.quota in the
configuration of all nodes.`,
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		q, err := c.Quotas(cmd.Context())
		if err != nil {
			return err
		}
		return a.show(q, func(w io.Writer) {
			number := func(n int64) string { return strconv.FormatInt(n, 10) }
			size := func(n int64) string { return config.Size(n).String() }
			t := table{head: []string{"RESOURCE", "USED", "LIMIT"}}
			for _, row := range []struct {
				name string
				use  gybeapi.QuotaUse
				text func(int64) string
			}{
				{"VNF instances", q.Instances, number},
				{"active operations", q.ActiveOperations, number},
				{"VNF packages", q.Packages, number},
				{"size of VNF packages", q.PackageBytes, size},
				{"VNF snapshots", q.Snapshots, number},
			} {
				limit := "none"
				if row.use.Limit > 0 {
					limit = row.text(row.use.Limit)
				}
				t.add(row.name, row.text(row.use.Used), limit)
			}
			t.write(w, a.paint)
		})
	}
	return cmd
}
