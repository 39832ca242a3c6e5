package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/cmd/gybe/contexts"
	"github.com/gybe-nfv/gybe/cmd/gybe/login"
	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/tackerapi"
)

// adoptFlags are those of gybe adopt.
type adoptFlags struct {
	from, name, params string
	version            int
	vims               []string
	dryRun             bool
}

func (a *app) adoptCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "adopt ID --from URL", Short: "Take over a VNF instance of OpenStack Tacker, with its resources",
		Args: cobra.ExactArgs(1),
		Long: `Take over a VNF instance of OpenStack Tacker: its package, stack and machines, and the access to its
Kubernetes cluster. Nothing is changed in Tacker, in the VIM and on machines.

The command reads the instance with its id from the Tacker at --from, with the Keystone login of the
variables OS_… or of a cloud of clouds.yaml, if there is one. If no package with the instance's VNFD is
here, it uploads the one of Tacker. It shows the plan, asks for the name of the instance, and adopts it.
Parameters that Tacker hides, such as the passwords of nodes, are given in the file of --params, as
additionalParams of the instantiation.

Afterwards the instance must not be changed with Tacker, and not terminated there.`,
		Example: `  gybe adopt 4cdc110f-b21e-4b79-b3f5-252ee5937a36 --from http://192.0.2.1:9890 --dry-run
  gybe adopt 4cdc110f-b21e-4b79-b3f5-252ee5937a36 --from http://192.0.2.1:9890 --vim openstack --params logins.yaml`,
	}
	var l adoptFlags
	f := cmd.Flags()
	f.StringVar(&l.from, "from", "", "URL of Tacker, such as http://192.0.2.1:9890")
	f.IntVar(&l.version, "api-version", 0, "version of Tacker's interface that the instance was created with, 1 or 2 "+
		"(default: the one that has it)")
	f.StringArrayVar(&l.vims, "vim", nil, "VIM here that takes the place of a VIM connection of the instance: "+
		"KEY=VIM, or VIM for the only one; can be repeated (default: the default VIM)")
	f.StringVar(&l.params, "params", "", "file with additionalParams that are merged over those of Tacker")
	f.StringVar(&l.name, "name", "", "another name for the instance")
	f.BoolVar(&l.dryRun, "dry-run", false, "show the plan, and adopt nothing")
	yes := addYes(cmd)
	_ = cmd.MarkFlagRequired("from") // the flag exists
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		return a.adopt(cmd.Context(), c, args[0], &l, *yes)
	}
	return cmd
}

func (a *app) adopt(ctx context.Context, c *client.Client, id string, l *adoptFlags, yes bool) error {
	theirs, err := a.tackerClient(l.from)
	if err != nil {
		return err
	}
	in, err := theirs.Instance(ctx, id, l.version)
	if err != nil {
		return err
	}
	req := in.Request
	req.VnfInstanceName = l.name
	for n, op := range req.Operations {
		if req.Operations[n], err = essential(op); err != nil {
			return err
		}
	}
	if req.VimConnections, err = adoptedVims(ctx, c, in, l.vims); err != nil {
		return err
	}
	if l.params != "" {
		if req.AdditionalParams, err = a.readDocument(l.params); err != nil {
			return err
		}
	}
	if req.VnfPkgID, err = a.adoptedPackage(ctx, c, theirs, in.VnfdID, l.dryRun); err != nil {
		return err
	}
	req.DryRun = true
	p, err := c.Adopt(ctx, req)
	if err != nil {
		return err
	}
	if l.dryRun || len(p.Refusals) > 0 || p.AlreadyAdopted {
		return a.showAdoption(p)
	}
	a.adoptionTable(a.env.Stderr, p)
	if !yes {
		name := cmp.Or(p.Instance.Name, p.Instance.ID)
		if err := a.confirm("\nThis adopts "+name+" from "+l.from, name); err != nil {
			return err
		}
	}
	req.DryRun = false
	if p, err = c.Adopt(ctx, req); err != nil {
		return err
	}
	printf(a.env.Stderr, adoptionNext, p.Instance.ID, p.Instance.ID)
	return a.show(p, func(w io.Writer) { fields(w, a.paint, "adopted", p.Instance.ID, "name", p.Instance.Name) })
}

// essential is an operation occurrence without what an adoption does not read: the parameters of operations that give
// the instance none, and all changes. An instance can have many operations, and a request is bounded.
func essential(op json.RawMessage) (json.RawMessage, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(op, &all); err != nil {
		return nil, fmt.Errorf("an operation occurrence of Tacker is not an object: %w", err)
	}
	out := map[string]json.RawMessage{}
	for _, name := range []string{"id", "operation", "operationState", "operationParams"} {
		if v, ok := all[name]; ok {
			out[name] = v
		}
	}
	switch strings.Trim(string(all["operation"]), `"`) {
	case string(sol.LcmOperationInstantiate), string(sol.LcmOperationChangeExtConn),
		string(sol.LcmOperationChangeVnfpkg), string(sol.LcmOperationChangeFlavour):
	default:
		delete(out, "operationParams")
	}
	return json.Marshal(out)
}

// adoptionNext says what is left to do after an adoption.
const adoptionNext = `
VNF instance %s is managed here from now on. Next:
  - do not send requests for it to Tacker any more; above all, do not terminate or heal it there
  - delete Tacker's subscriptions that act on it, and its record without a termination
    (docs/how-to/adopt-from-tacker.md)
  - look at it here: gybe vnf show %s
`

// tackerClient makes a client of Tacker, with the Keystone login of the environment if there is one.
func (a *app) tackerClient(address string) (*tackerapi.Client, error) {
	conf, err := login.TrustFile(cmp.Or(a.flags.cacert, a.env.get("GYBE_CACERT")))
	if err != nil {
		return nil, usagef("the file of the authorities: %s", err)
	}
	o := tackerapi.Options{HTTP: &http.Client{Transport: transport(conf)}}
	if a.get("OS_CLOUD") != "" || a.get("OS_AUTH_URL") != "" {
		k, err := login.KeystoneFrom(contexts.Keystone{}, a.get)
		if err != nil {
			return nil, usagef("%s", err)
		}
		key := slices.Concat([]string{"tacker", address}, k.Identity())
		o.Credentials = k.Session(login.CacheFor(a.env.get, key...), false)
	}
	c, err := tackerapi.New(address, o)
	if err != nil {
		return nil, usagef("--from: %s", err)
	}
	return c, nil
}

// adoptedVims are the ids of the VIMs here, by the keys of the instance's connections.
func adoptedVims(
	ctx context.Context, c *client.Client, in *tackerapi.Instance, given []string,
) (map[string]string, error) {
	var keys []string
	for _, conn := range in.Connections {
		if conn.VimType == "openstack" || strings.HasPrefix(conn.VimType, "ETSINFV.OPENSTACK_KEYSTONE.") {
			keys = append(keys, conn.Key)
		}
	}
	out := map[string]string{}
	for _, text := range given {
		key, ref, named := strings.Cut(text, "=")
		if !named {
			if len(keys) != 1 {
				return nil, usagef("--vim %s: the instance has %d connections to an OpenStack (%s); use KEY=VIM", text,
					len(keys), strings.Join(keys, ", "))
			}
			key, ref = keys[0], text
		}
		if !slices.Contains(keys, key) {
			return nil, usagef("--vim %s: the instance has no connection %q to an OpenStack; it has %s", text, key,
				strings.Join(keys, ", "))
		}
		id, err := pick(ctx, "VIM", ref, vimThings(c))
		if err != nil {
			return nil, err
		}
		out[key] = id
	}
	return out, nil
}

// adoptedPackage is the id of the package here with a VNFD. One that is not here is uploaded from Tacker.
func (a *app) adoptedPackage(
	ctx context.Context, c *client.Client, theirs *tackerapi.Client, vnfdID string, dryRun bool,
) (string, error) {
	here, err := c.Packages(ctx, "(eq,onboardingState,ONBOARDED);(eq,vnfdId,'"+
		strings.ReplaceAll(vnfdID, "'", "''")+"')", true)
	if err != nil {
		return "", err
	}
	if len(here) > 0 {
		return here[0].ID, nil
	}
	p, err := theirs.Package(ctx, vnfdID)
	if err != nil {
		return "", err
	}
	if dryRun {
		return "", failWith(
			ExitConflict, "no package with the VNFD %s is here, and a dry run uploads none: upload the package %s of "+
				"Tacker (%s) with gybe package upload, or leave out --dry-run: the command asks before it adopts",
			vnfdID, p.ID, p.ProductName,
		)
	}
	file, err := os.CreateTemp("", "gybe-adopt-*.zip")
	if err != nil {
		return "", err
	}
	defer func() {
		_ = file.Close() // it is removed
		_ = os.Remove(file.Name())
	}()
	printf(a.env.Stderr, "Uploading the package %s of Tacker (%s) ...\n", p.ID, p.ProductName)
	if _, err := theirs.Content(ctx, p, file); err != nil {
		return "", err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	uploaded, err := a.upload(ctx, c, "FILE.zip", "", nil,
		func(ctx context.Context, c *client.Client, id string) error { return c.UploadPackage(ctx, id, file) })
	if err != nil {
		return "", err
	}
	return uploaded.ID, nil
}
