package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

func (a *app) vnfSnapshot() *cobra.Command {
	cmd := &cobra.Command{
		Use: "snapshot", Short: "Snapshots of VNFs",
		Long: "Snapshots of VNFs: the disks and volumes of all machines. A snapshot can be named by id or by the " +
			"beginning of its id.",
	}
	cmd.AddCommand(a.snapshotCreate(), a.snapshotRevert(), a.snapshotList(), a.snapshotShow(), a.snapshotDelete())
	return cmd
}

// snapshotThings are the VNF snapshots.
func snapshotThings(c *client.Client) func(context.Context) ([]thing, error) {
	return func(ctx context.Context) ([]thing, error) {
		all, err := c.Snapshots(ctx, "", true)
		return things(all, func(s *sol.VnfSnapshotInfo) thing { return thing{s.ID, "", snapshotText(s)} }), err
	}
}

// snapshotText says of which instance a snapshot is, and since when.
func snapshotText(s *sol.VnfSnapshotInfo) string {
	n := s.VnfSnapshot
	if n == nil {
		return "empty"
	}
	name := n.VnfInstanceID
	if n.VnfInstance != nil && n.VnfInstance.VnfInstanceName != "" {
		name = n.VnfInstance.VnfInstanceName
	}
	if n.CreationFinishedAt == nil {
		return name
	}
	return name + " " + clock(*n.CreationFinishedAt)
}

func (a *app) snapshotCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "create INSTANCE", Short: "Take a snapshot of a VNF", Args: cobra.ExactArgs(1),
		Long: "Take a snapshot of a VNF: an image of each machine that boots from an image, and a copy of each " +
			"volume. The VNF does not change. --id fills an empty snapshot resource that exists.",
		Example: "  gybe vnf snapshot create web --data why=upgrade --watch",
	}
	id := cmd.Flags().String("id", "", "an empty snapshot resource; otherwise one is created")
	data := cmd.Flags().StringArray("data", nil, "userDefinedData as key=value; can be repeated")
	created := ""
	t := &task{op: sol.LcmOperationCreateSnapshot, cmd: cmd}
	t.fill = func(in *asked) error {
		in.body.put(cmd, "id", "vnfSnapshotInfoId", *id)
		if err := in.body.patch("data", "userDefinedData", *data); err != nil {
			return err
		}
		if in.body["vnfSnapshotInfoId"] != nil {
			return nil
		}
		c, err := a.client()
		if err != nil {
			return err
		}
		s, err := c.CreateSnapshot(cmd.Context())
		if err != nil {
			return err
		}
		created, in.body["vnfSnapshotInfoId"] = s.ID, s.ID
		return nil
	}
	t.start = func(ctx context.Context, c *client.Client, instance string, raw json.RawMessage) (string, error) {
		op, err := c.Start(ctx, instance, sol.LcmOperationCreateSnapshot, raw)
		if err == nil && created != "" {
			printf(a.env.Stderr, "snapshot %s\n", created)
			created = ""
		}
		return op, err
	}
	cmd = a.taskCommand(t)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if created == "" {
			return err
		}
		// A plan, or a request that was rejected: the resource is not needed.
		c, cerr := a.client()
		if cerr == nil {
			cerr = c.DeleteSnapshot(context.WithoutCancel(cmd.Context()), created)
		}
		if err == nil {
			err = cerr
		}
		return err
	}
	return cmd
}

func (a *app) snapshotRevert() *cobra.Command {
	cmd := &cobra.Command{
		Use: "revert INSTANCE SNAPSHOT", Short: "Give the machines of a VNF the disks of a snapshot",
		Args: cobra.ExactArgs(2),
		Long: "Give the machines of a VNF the disks of a snapshot. Data that they have written since is lost. Shows " +
			"what is lost and asks for the name of the instance; --yes does not ask.",
		Example: "  gybe vnf snapshot revert web 4f1c --watch\n" +
			"  gybe vnf snapshot revert web 4f1c --vnfc VDU1-0 --plan",
	}
	vnfc := cmd.Flags().String("vnfc", "", "revert one VNFC only, by its id in the snapshot, e.g. VDU1-0")
	t := &task{op: sol.LcmOperationRevertToSnapshot, cmd: cmd, ask: func(*asked) *question {
		return &question{deed: "replaces disks and volumes of"}
	}}
	t.fill = func(in *asked) error {
		in.body.put(cmd, "vnfc", "vnfcSnapshotInfoId", *vnfc)
		c, err := a.client()
		if err != nil {
			return err
		}
		in.body["vnfSnapshotInfoId"], err = pick(cmd.Context(), "VNF snapshot", in.args[0], snapshotThings(c))
		return err
	}
	cmd = a.taskCommand(t)
	first, second := cmd.ValidArgsFunction, a.complete(snapshotThings)
	cmd.ValidArgsFunction = func(
		cmd *cobra.Command, args []string, typed string,
	) ([]cobra.Completion, cobra.ShellCompDirective) {
		switch len(args) {
		case 0:
			return first(cmd, args, typed)
		case 1:
			return second(cmd, nil, typed)
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

func (a *app) snapshotList() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list [INSTANCE]", Short: "List VNF snapshots, of one instance or all", Args: cobra.MaximumNArgs(1),
	}
	cmd.ValidArgsFunction = a.complete(instanceThings)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		filter := ""
		if len(args) > 0 {
			id, err := pick(cmd.Context(), "VNF instance", args[0], instanceThings(c))
			if err != nil {
				return err
			}
			filter = "(eq,vnfSnapshot/vnfInstanceId," + id + ")"
		}
		all, err := c.Snapshots(cmd.Context(), filter, true)
		if err != nil {
			return err
		}
		return a.show(all, func(w io.Writer) {
			t := table{head: []string{"ID", "INSTANCE", "NAME", "COMPLETED", "VNFCS", "VNFD"}}
			for _, s := range all {
				n := s.VnfSnapshot
				if n == nil {
					t.add(s.ID, "", "(empty)", "", "", "")
					continue
				}
				name, done := "", ""
				if n.VnfInstance != nil {
					name = n.VnfInstance.VnfInstanceName
				}
				if n.CreationFinishedAt != nil {
					done = clock(*n.CreationFinishedAt)
				}
				t.add(s.ID, n.VnfInstanceID, name, done, strconv.Itoa(len(n.VnfcSnapshots)), n.VnfdID)
			}
			t.write(w, a.paint)
		})
	}
	return cmd
}

// onSnapshot makes the body of a command whose argument names a snapshot.
func (a *app) onSnapshot(
	cmd *cobra.Command, run func(ctx context.Context, c *client.Client, id string) error,
) *cobra.Command {
	cmd.ValidArgsFunction = a.complete(snapshotThings)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		id, err := pick(cmd.Context(), "VNF snapshot", args[0], snapshotThings(c))
		if err != nil {
			return err
		}
		return run(cmd.Context(), c, id)
	}
	return cmd
}

func (a *app) snapshotShow() *cobra.Command {
	cmd := &cobra.Command{Use: "show SNAPSHOT", Short: "Show a VNF snapshot", Args: cobra.ExactArgs(1)}
	return a.onSnapshot(cmd, func(ctx context.Context, c *client.Client, id string) error {
		s, err := c.Snapshot(ctx, id)
		if err != nil {
			return err
		}
		return a.show(s, func(w io.Writer) {
			n := s.VnfSnapshot
			if n == nil {
				fields(w, a.paint, "id", s.ID, "state", "empty, or not complete")
				return
			}
			fields(w, a.paint, "id", s.ID, "package", s.VnfSnapshotPkgID, "of", snapshotText(s), "instance",
				n.VnfInstanceID, "vnfd", n.VnfdID, "data", compact(n.UserDefinedData))
			t := table{head: []string{"VNFC SNAPSHOT", "VNFC", "TYPE", "RESOURCE", "VIM"}}
			for _, v := range n.VnfcSnapshots {
				resources := []*sol.ResourceHandle{v.ComputeSnapshotResource}
				for _, r := range v.StorageSnapshotResources {
					resources = append(resources, r.StorageSnapshotResource)
				}
				for _, r := range resources {
					if r != nil {
						t.add(v.ID, v.VnfcInstanceID, r.VimLevelResourceType, r.ResourceID, r.VimConnectionID)
					}
				}
			}
			printline(w)
			t.write(w, a.paint)
		})
	})
}

func (a *app) snapshotDelete() *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete SNAPSHOT", Short: "Delete a VNF snapshot with its images and volumes", Args: cobra.ExactArgs(1),
		Long: "Delete a VNF snapshot with its images and volumes. Shows the snapshot and asks for the beginning of " +
			"its id; --yes does not ask.",
	}
	yes := addYes(cmd)
	return a.onSnapshot(cmd, func(ctx context.Context, c *client.Client, id string) error {
		if !*yes {
			s, err := c.Snapshot(ctx, id)
			if err != nil {
				return err
			}
			if s.VnfSnapshot != nil {
				const shown = 8
				deed := fmt.Sprintf("This deletes the snapshot %s of %s", id, snapshotText(s))
				if err := a.confirm(deed, id[:shown]); err != nil {
					return err
				}
			}
		}
		return c.DeleteSnapshot(ctx, id)
	})
}
