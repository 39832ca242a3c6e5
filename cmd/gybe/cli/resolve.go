package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Things can be named by id, by the beginning of it, or by name.

// thing is what a list offers to be named.
type thing struct{ id, name, info string }

// shortest is the least number of characters that may stand for an id.
const shortest = 4

// pick finds what ref names. A full id is not looked up: the server will say whether it exists.
func pick(ctx context.Context, kind, ref string, list func(context.Context) ([]thing, error)) (string, error) {
	if len(ref) == 36 && uuid.Validate(ref) == nil {
		return ref, nil
	}
	all, err := list(ctx)
	if err != nil {
		return "", err
	}
	var found []string
	for _, t := range all {
		if t.name == ref {
			found = append(found, t.id)
		}
	}
	if len(found) == 0 && len(ref) >= shortest {
		for _, t := range all {
			if strings.HasPrefix(t.id, ref) {
				found = append(found, t.id)
			}
		}
	}
	switch len(found) {
	case 0:
		return "", failWith(ExitNotFound, "there is no %s %q", kind, ref)
	case 1:
		return found[0], nil
	}
	return "", usagef("%q is ambiguous, %d match: %s", ref, len(found), strings.Join(found, ", "))
}

// pickPackage finds the package that ref names. A full UUID can be its id or its vnfdId, which usually is a UUID, too.
func pickPackage(ctx context.Context, c *client.Client, ref string) (string, error) {
	if len(ref) == 36 && uuid.Validate(ref) == nil {
		named, err := c.Packages(ctx, "(eq,vnfdId,"+ref+")", false)
		if err != nil {
			return "", err
		}
		if len(named) == 2 { // the own one precedes one that another project shares
			shared, err := sharedPackages(ctx, c)
			if err != nil {
				return "", err
			}
			named = slices.DeleteFunc(named, func(p sol.VnfPkgInfo) bool { return shared[p.ID] == sharedByOther })
		}
		if len(named) == 1 {
			return named[0].ID, nil
		}
	}
	return pick(ctx, "package", ref, packageThings(c))
}

func instanceThings(c *client.Client) func(context.Context) ([]thing, error) {
	return func(ctx context.Context) ([]thing, error) {
		is, err := c.Instances(ctx, "", false)
		return things(is, func(i *sol.VnfInstance) thing {
			return thing{
				i.ID, i.VnfInstanceName, strings.TrimSpace(i.VnfInstanceName + " " + string(i.InstantiationState)),
			}
		}), err
	}
}

func operationThings(c *client.Client) func(context.Context) ([]thing, error) {
	return func(ctx context.Context) ([]thing, error) {
		ops, err := c.Operations(ctx, "", false)
		return things(ops, func(o *sol.VnfLcmOpOcc) thing {
			return thing{o.ID, "", string(o.Operation) + " " + string(o.OperationState)}
		}), err
	}
}

func packageThings(c *client.Client) func(context.Context) ([]thing, error) {
	return func(ctx context.Context) ([]thing, error) {
		ps, err := c.Packages(ctx, "", false)
		return things(ps, func(p *sol.VnfPkgInfo) thing {
			return thing{p.ID, p.VnfdID, strings.TrimSpace(p.VnfProductName + " " + string(p.OnboardingState))}
		}), err
	}
}

func vimThings(c *client.Client) func(context.Context) ([]thing, error) {
	return func(ctx context.Context) ([]thing, error) {
		vs, err := c.Vims(ctx)
		return things(vs, func(v *gybeapi.Vim) thing { return thing{v.ID, v.Name, v.Name} }), err
	}
}

func things[T any](in []T, of func(*T) thing) []thing {
	out := make([]thing, len(in))
	for i := range in {
		out[i] = of(&in[i])
	}
	return out
}

// complete offers things to the shell for a command's first argument: by name, or by id those without a name of their
// own. Files come after it where the command takes more.
func (a *app) complete(list func(*client.Client) func(context.Context) ([]thing, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			if cmd.ValidateArgs(append(args, typed)) != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveDefault
		}
		c, err := a.client()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		all, err := list(c)(cmd.Context())
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		called := map[string]int{}
		for _, t := range all {
			called[t.name]++
		}
		var out []cobra.Completion
		for _, t := range all {
			own := t.name != "" && called[t.name] == 1 && uuid.Validate(t.name) != nil
			switch {
			case own && strings.HasPrefix(t.name, typed):
				out = append(out, cobra.CompletionWithDesc(t.name, t.info))
			case strings.HasPrefix(t.id, typed) && (typed != "" || !own):
				out = append(out, cobra.CompletionWithDesc(t.id, t.info))
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}
