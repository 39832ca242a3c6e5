package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

func (a *app) vnfHeal() *cobra.Command {
	cmd := &cobra.Command{
		Use: "heal INSTANCE [VNFC...]", Short: "Repair a VNF, or some of its VNFCs", Args: cobra.MinimumNArgs(1),
		Long: `Repair VNFCs of a VNF: they are deleted and recreated. A VNFC is named by id, by the
beginning of its id, or in a cluster by the name of its node. With --all their storages are
recreated, too.

--whole instead of VNFCs recreates all VNFCs of the VNF; a Kubernetes cluster is then a new one, and
what it held is lost. With --whole --all the whole stack is deleted first. It shows what is lost and
asks for the name of the instance; --yes does not ask.`,
		Example: "  gybe vnf heal web VDU1-3f2a --watch\n  gybe vnf heal web --whole --plan",
	}
	all := cmd.Flags().Bool("all", false, "recreate storages, too; with --whole, delete the whole stack first")
	whole := cmd.Flags().Bool("whole", false, "recreate all VNFCs of the VNF")
	cause := cmd.Flags().String("cause", "", "reason of the heal, for the record")
	t := &task{op: sol.LcmOperationHeal, cmd: cmd, fill: func(t *asked) error {
		if cmd.Flags().Changed("all") {
			t.body.below("additionalParams")["all"] = *all
		}
		t.body.put(cmd, "cause", "cause", *cause)
		if len(t.args) == 0 {
			return checkWhole(t, *whole)
		}
		if *whole {
			return usagef("name VNFCs or use --whole, not both")
		}
		i, err := t.instance()
		if err != nil {
			return err
		}
		var ids []string
		for _, ref := range t.args {
			id, err := vnfc(i, ref, t.hosts)
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		t.body["vnfcInstanceId"] = ids
		return nil
	}}
	t.ask = func(in *asked) *question {
		if in.body["vnfcInstanceId"] != nil && !*whole {
			return nil
		}
		return &question{deed: "deletes and recreates all machines of"}
	}
	cmd = a.taskCommand(t)
	first, more := cmd.ValidArgsFunction, a.ofInstance(otherVNFCs)
	cmd.ValidArgsFunction = func(
		cmd *cobra.Command, args []string, typed string,
	) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return first(cmd, args, typed)
		}
		return more(cmd, args, typed)
	}
	return cmd
}

// checkWhole refuses to heal the whole VNF because an argument was forgotten: the machines of all VNFCs would be lost.
func checkWhole(t *asked, whole bool) error {
	list, _ := t.body["vnfcInstanceId"].([]any) // of a file
	switch {
	case len(list) > 0 && whole:
		return usagef("the file names VNFCs: omit --whole")
	case len(list) > 0 || whole || t.plan:
		return nil
	}
	return usagef("no VNFC is named: name VNFCs, or use --whole to recreate all of them; --plan shows the effects")
}

// otherVNFCs offers the VNFCs that are not given yet to the shell.
func otherVNFCs(i *sol.VnfInstance, given []string) []cobra.Completion {
	var out []cobra.Completion
	for _, c := range vnfcs(i) {
		if !slices.Contains(given, c.ID) {
			out = append(out, cobra.CompletionWithDesc(c.ID, c.VduID))
		}
	}
	return out
}

func vnfcs(i *sol.VnfInstance) []sol.VnfcInfo {
	if i.InstantiatedVnfInfo == nil {
		return nil
	}
	return i.InstantiatedVnfInfo.VnfcInfo
}

// vnfc finds the VNFC that ref names by id, the beginning of it, the id of its server, or, in a cluster, the name of
// its node. What names none is left to the server to explain.
func vnfc(i *sol.VnfInstance, ref string, hosts func() ([]gybeapi.SSHHost, error)) (string, error) {
	var found []string
	for _, c := range vnfcs(i) {
		if c.ID == ref || c.VnfcResourceInfoID == ref {
			return c.ID, nil
		}
		if strings.HasPrefix(c.ID, ref) {
			found = append(found, c.ID)
		}
	}
	if len(found) == 0 {
		known, _ := hosts() // a VNF that is no cluster has none
		for _, h := range known {
			if h.Name == ref {
				found = append(found, h.VnfcInstanceID)
			}
		}
	}
	switch len(found) {
	case 0:
		return ref, nil
	case 1:
		return found[0], nil
	}
	return "", usagef("%q is ambiguous, %d VNFCs match: %s", ref, len(found), strings.Join(found, ", "))
}
