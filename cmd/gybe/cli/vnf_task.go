package cli

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

func (a *app) vnfInstantiate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "instantiate INSTANCE [PARAMS.json]", Short: "Create the resources of a VNF instance",
		Long: `Create the resources of a VNF instance. PARAMS.json is the body of the request as defined by SOL003
(InstantiateVnfRequest); - reads it from standard input. Without a file, --flavour is sufficient.`,
		Args: cobra.RangeArgs(1, 2),
	}
	flavour := cmd.Flags().String("flavour", "", "deployment flavour")
	level := cmd.Flags().String("level", "", "instantiation level")
	t := &task{op: sol.LcmOperationInstantiate, cmd: cmd}
	t.fill = func(in *asked) error {
		in.body.put(cmd, "flavour", "flavourId", *flavour)
		in.body.put(cmd, "level", "instantiationLevelId", *level)
		if t.file == "" && *flavour == "" {
			return usagef("name a parameter file or use --flavour")
		}
		return nil
	}
	cmd = a.taskCommand(t)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 2 {
			if t.file != "" {
				return usagef("two parameter files: %s and %s", t.file, args[1])
			}
			t.file = args[1]
		}
		return run(cmd, args)
	}
	return cmd
}

func (a *app) vnfTerminate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "terminate INSTANCE", Short: "Delete the resources of a VNF instance", Args: cobra.ExactArgs(1),
		Long: "Delete the resources of a VNF instance. Shows what is lost and asks for the name of the instance; " +
			"--yes does not ask. A cluster in which other VNF instances have resources is only deleted with --force.",
	}
	graceful := cmd.Flags().Duration("graceful", 0, "take the VNF out of service first, with this timeout, e.g. 30s")
	force := cmd.Flags().Bool("force", false,
		"terminate at once (FORCEFUL), also a cluster in which other VNF instances have resources")
	cmd.MarkFlagsMutuallyExclusive("graceful", "force")
	remove := cmd.Flags().Bool("delete", false, "also delete the instance after the termination; implies --wait")
	t := &task{op: sol.LcmOperationTerminate, cmd: cmd, ask: func(*asked) *question {
		return &question{deed: "deletes all machines and volumes of"}
	}}
	t.fill = func(in *asked) error {
		_, given := in.body["terminationType"]
		switch {
		case *force:
			in.body["terminationType"] = sol.TerminationTypeForceful
			delete(in.body, "gracefulTerminationTimeout")
		case !given: // a FORCEFUL one would delete a cluster that others use
			in.body["terminationType"], in.body["gracefulTerminationTimeout"] = sol.TerminationTypeGraceful, 1
		}
		if *remove {
			t.watch.wait = true
			t.then = func(ctx context.Context, c *client.Client, id string) error { return c.DeleteInstance(ctx, id) }
		}
		return gracefully(in.body, cmd, *graceful, "terminationType", "gracefulTerminationTimeout")
	}
	return a.taskCommand(t)
}

// gracefully puts --graceful into a request.
func gracefully(b body, cmd *cobra.Command, d time.Duration, kind, timeout string) error {
	if !cmd.Flags().Changed("graceful") {
		return nil
	}
	n, err := seconds("graceful", d)
	if err != nil {
		return err
	}
	b[kind], b[timeout] = sol.StopTypeGraceful, n
	return nil
}

func (a *app) vnfScale() *cobra.Command {
	cmd := &cobra.Command{
		Use: "scale INSTANCE", Short: "Add or remove VNFCs of a scaling aspect", Args: cobra.ExactArgs(1),
		Example: "  gybe vnf scale web --aspect workers --out 2 --watch\n  gybe vnf scale web --in 1 --plan",
	}
	aspect := cmd.Flags().String("aspect", "", "scaling aspect; optional if the VNF has only one")
	out := cmd.Flags().Int("out", 1, "number of steps to add")
	in := cmd.Flags().Int("in", 1, "number of steps to remove")
	cmd.MarkFlagsMutuallyExclusive("out", "in")
	_ = cmd.RegisterFlagCompletionFunc("aspect", a.aspects("")) // the flag exists
	return a.taskCommand(&task{op: sol.LcmOperationScale, cmd: cmd, fill: func(t *asked) error {
		t.body.put(cmd, "aspect", "aspectId", *aspect)
		for flag, dir := range map[string]struct {
			steps int
			kind  sol.ScaleType
		}{"out": {*out, sol.ScaleTypeOut}, "in": {*in, sol.ScaleTypeIn}} {
			t.body.put(cmd, flag, "type", dir.kind)
			t.body.put(cmd, flag, "numberOfSteps", dir.steps)
		}
		if t.body["type"] == nil {
			return usagef("use --out or --in with the number of steps")
		}
		if t.body["aspectId"] != nil {
			return nil
		}
		i, err := t.instance()
		if err != nil {
			return err
		}
		levels := map[string]int{}
		if i.InstantiatedVnfInfo != nil {
			for _, s := range i.InstantiatedVnfInfo.ScaleStatus {
				levels[s.AspectID] = s.ScaleLevel
				t.body["aspectId"] = s.AspectID
			}
		}
		switch len(levels) {
		case 0:
			return failWith(
				ExitConflict, "VNF instance %s has no scaling aspects now; it is %s", t.id, i.InstantiationState,
			)
		case 1:
			return nil
		}
		return usagef("use --aspect with one of: %s", names(levels))
	}})
}

func (a *app) vnfScaleToLevel() *cobra.Command {
	cmd := &cobra.Command{
		Use: "scale-to-level INSTANCE", Short: "Scale to given levels", Args: cobra.ExactArgs(1),
		Example: "  gybe vnf scale-to-level web --level big\n  gybe vnf scale-to-level web --aspect workers=3 --watch",
	}
	level := cmd.Flags().String("level", "", "instantiation level of the VNFD")
	aspects := cmd.Flags().StringArray("aspect", nil, "scale level of an aspect as aspect=level; can be repeated")
	cmd.MarkFlagsMutuallyExclusive("level", "aspect")
	_ = cmd.RegisterFlagCompletionFunc("aspect", a.aspects("=")) // the flag exists
	return a.taskCommand(&task{op: sol.LcmOperationScaleToLevel, cmd: cmd, fill: func(t *asked) error {
		if *level != "" {
			delete(t.body, "scaleInfo")
			t.body["instantiationLevelId"] = *level
		}
		if len(*aspects) > 0 {
			infos := []sol.ScaleInfo{}
			for _, text := range *aspects {
				name, number, _ := strings.Cut(text, "=")
				n, err := strconv.Atoi(number)
				if err != nil || name == "" {
					return usagef("--aspect %q is not aspect=level", text)
				}
				infos = append(infos, sol.ScaleInfo{AspectID: name, ScaleLevel: n})
			}
			delete(t.body, "instantiationLevelId")
			t.body["scaleInfo"] = infos
		}
		if t.body["scaleInfo"] == nil && t.body["instantiationLevelId"] == nil {
			return usagef("use --level or --aspect")
		}
		return nil
	}})
}

func (a *app) vnfChangeFlavour() *cobra.Command {
	cmd := &cobra.Command{
		Use: "change-flavour INSTANCE", Short: "Change the deployment flavour of a VNF", Args: cobra.ExactArgs(1),
	}
	flavour := cmd.Flags().String("flavour", "", "the new deployment flavour")
	level := cmd.Flags().String("level", "", "instantiation level of the new flavour")
	return a.taskCommand(&task{op: sol.LcmOperationChangeFlavour, cmd: cmd, fill: func(t *asked) error {
		t.body.put(cmd, "flavour", "newFlavourId", *flavour)
		t.body.put(cmd, "level", "instantiationLevelId", *level)
		return t.needs("newFlavourId", "use --flavour")
	}})
}

// needs reports a missing member.
func (t *asked) needs(member, text string) error {
	if t.body[member] == nil {
		return usagef("%s", text)
	}
	return nil
}

func (a *app) vnfOperate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "operate INSTANCE", Short: "Start or stop a VNF", Args: cobra.ExactArgs(1),
		SuggestFor: []string{"start", "stop", "restart"},
		Example:    "  gybe vnf operate web --stop --graceful 30s --watch\n  gybe vnf operate web --start",
	}
	start := cmd.Flags().Bool("start", false, "start it")
	stop := cmd.Flags().Bool("stop", false, "stop it")
	graceful := cmd.Flags().Duration(
		"graceful", 0, "with --stop, take the VNF out of service first, with this timeout, e.g. 30s",
	)
	cmd.MarkFlagsMutuallyExclusive("start", "stop")
	cmd.MarkFlagsMutuallyExclusive("start", "graceful")
	return a.taskCommand(&task{op: sol.LcmOperationOperate, cmd: cmd, fill: func(t *asked) error {
		if *start {
			t.body["changeStateTo"] = sol.VnfOperationalStateStarted
		}
		if *stop {
			t.body["changeStateTo"] = sol.VnfOperationalStateStopped
		}
		if err := gracefully(t.body, cmd, *graceful, "stopType", "gracefulStopTimeout"); err != nil {
			return err
		}
		return t.needs("changeStateTo", "use --start or --stop")
	}})
}

func (a *app) vnfChangeExtConn() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "change-ext-conn INSTANCE -f PARAMS.json",
		Short: "Attach external connection points to other networks or addresses",
		Long: "Attach external connection points to other networks or addresses. The file is a " +
			"ChangeExtVnfConnectivityRequest of SOL003.",
		Args: cobra.ExactArgs(1),
	}
	return a.taskCommand(&task{op: sol.LcmOperationChangeExtConn, cmd: cmd, fill: func(t *asked) error {
		if !cmd.Flags().Changed("file") {
			return usagef("name a parameter file with -f")
		}
		return nil
	}})
}

func (a *app) vnfChangePackage() *cobra.Command {
	cmd := &cobra.Command{
		Use: "change-package INSTANCE", Short: "Move a VNF to another package", Args: cobra.ExactArgs(1),
		Long: "Move a VNF to another package. The file is a ChangeCurrentVnfPkgRequest of SOL003. If machines or " +
			"volumes are replaced, it shows what is lost and asks for the name of the instance; --yes does not ask.",
	}
	vnfd := cmd.Flags().String("vnfd", "", "vnfdId of the new package")
	_ = cmd.RegisterFlagCompletionFunc("vnfd", a.completeVNFD) // the flag exists
	t := &task{op: sol.LcmOperationChangeVnfpkg, cmd: cmd}
	t.fill = func(t *asked) error {
		t.body.put(cmd, "vnfd", "vnfdId", *vnfd)
		return t.needs("vnfdId", "give the target with --vnfd")
	}
	t.ask = func(*asked) *question {
		return &question{deed: "replaces or deletes machines or volumes of", ifReplaced: true}
	}
	return a.taskCommand(t)
}

func (a *app) vnfModify() *cobra.Command {
	cmd := &cobra.Command{
		Use: "modify INSTANCE", Short: "Change attributes of a VNF instance", Args: cobra.ExactArgs(1),
		Long: "Change attributes of a VNF instance. The file is a merge patch: members that it does not contain are " +
			"not changed, null removes.",
		Example: "  gybe vnf modify web --name shop --metadata tier=2 --metadata owner-",
	}
	name := cmd.Flags().String("name", "", "new name")
	description := cmd.Flags().String("description", "", "new description")
	vnfd := cmd.Flags().String("vnfd", "", "vnfdId of another package; only the attributes of the instance change")
	etag := cmd.Flags().String("if-match", "", "only if the instance still has this ETag")
	_ = cmd.RegisterFlagCompletionFunc("vnfd", a.completeVNFD) // the flag exists
	maps := map[string]string{
		"metadata": "metadata", "extension": "extensions", "property": "vnfConfigurableProperties",
	}
	values := map[string]*[]string{}
	for flag, member := range maps {
		values[flag] = cmd.Flags().StringArray(
			flag, nil, "value in "+member+" as key=value, or key- to remove it; can be repeated",
		)
	}
	t := &task{op: sol.LcmOperationModifyInfo, cmd: cmd}
	t.start = func(ctx context.Context, c *client.Client, id string, body json.RawMessage) (string, error) {
		return c.Modify(ctx, id, body, *etag)
	}
	t.fill = func(in *asked) error {
		in.body.put(cmd, "name", "vnfInstanceName", *name)
		in.body.put(cmd, "description", "vnfInstanceDescription", *description)
		in.body.put(cmd, "vnfd", "vnfdId", *vnfd)
		for flag, member := range maps {
			if err := in.body.patch(flag, member, *values[flag]); err != nil {
				return err
			}
		}
		if len(in.body) == 0 && t.file == "" {
			return usagef("nothing to change: use flags or a file")
		}
		return nil
	}
	return a.taskCommand(t)
}
