package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

func (a *app) packageCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "package", Aliases: []string{"pkg"}, Short: "VNF packages",
		Long: "VNF packages. A package can be named by id, by the beginning of its id, or by its vnfdId.",
	}
	cmd.AddCommand(a.packageBuild(), a.packageValidate(), a.packageSign(), a.packageVerify(), a.packageUpload(),
		a.packageList(), a.packageShow(),
		a.packageState("enable", "Allow new instances of a package", sol.PackageOperationalStateEnabled),
		a.packageState("disable", "Forbid new instances of a package", sol.PackageOperationalStateDisabled),
		a.packageSharing("share", "Let all projects use a package; requires the role admin", true),
		a.packageSharing("unshare", "Reserve a package for its project again; requires the role admin", false),
		a.packageDelete())
	return cmd
}

// onPackage makes the body of a command whose argument names a package.
func (a *app) onPackage(
	cmd *cobra.Command, run func(ctx context.Context, c *client.Client, id string) error,
) *cobra.Command {
	cmd.Args = cobra.ExactArgs(1)
	cmd.ValidArgsFunction = a.complete(packageThings)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		id, err := pickPackage(cmd.Context(), c, args[0])
		if err != nil {
			return err
		}
		return run(cmd.Context(), c, id)
	}
	return cmd
}

// refused is the error of a package that was uploaded and not accepted.
func refused(p *sol.VnfPkgInfo) error {
	if p.OnboardingFailureDetails == nil {
		return failWith(ExitOperation, "package %s was not accepted", p.ID)
	}
	e := &client.Error{Problem: *p.OnboardingFailureDetails}
	return failWith(ExitOperation, "package %s was not accepted: %w", p.ID, e)
}

func (a *app) packageList() *cobra.Command {
	var filter string
	cmd := &cobra.Command{Use: "list", Short: "List packages"}
	cmd.Flags().StringVar(&filter, "filter", "", "attribute filter, e.g. (eq,onboardingState,ONBOARDED)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		ps, err := c.Packages(cmd.Context(), filter, a.output != "table")
		if err != nil {
			return err
		}
		var shared map[string]string
		if a.output == "table" {
			if shared, err = sharedPackages(cmd.Context(), c); err != nil {
				return err
			}
		}
		return a.show(ps, func(w io.Writer) {
			t := table{head: []string{
				"ID", "PRODUCT", "VERSION", "ONBOARDING", "OPERATIONAL", "USAGE", "SHARED", "VNFD",
			}}
			for _, p := range ps {
				t.add(p.ID, p.VnfProductName, p.VnfdVersion, string(p.OnboardingState), string(p.OperationalState),
					string(p.UsageState), cmp.Or(shared[p.ID], "-"), p.VnfdID)
			}
			t.write(w, a.paint)
		})
	}
	return cmd
}

// sharedByOther marks a package that another project shares.
const sharedByOther = "by another project"

// sharedPackages says how packages are shared, by id. A node of an earlier release shares none.
func sharedPackages(ctx context.Context, c *client.Client) (map[string]string, error) {
	all, err := c.SharedPackages(ctx)
	if e, ok := errors.AsType[*client.Error](err); ok && e.Status() == http.StatusNotFound {
		return nil, nil //nolint:nilnil // none
	}
	out := map[string]string{}
	for _, p := range all {
		out[p.VnfPkgID] = sharedByOther
		if p.Own {
			out[p.VnfPkgID] = "with all"
		}
	}
	return out, err
}

func (a *app) packageSharing(verb, short string, shared bool) *cobra.Command {
	return a.onPackage(&cobra.Command{Use: verb + " PACKAGE", Short: short},
		func(ctx context.Context, c *client.Client, id string) error { return c.SharePackage(ctx, id, shared) })
}

func (a *app) packageShow() *cobra.Command {
	return a.onPackage(&cobra.Command{Use: "show PACKAGE", Short: "Show a package"},
		func(ctx context.Context, c *client.Client, id string) error {
			p, err := c.Package(ctx, id)
			if err != nil {
				return err
			}
			var s *gybeapi.PackageSignature
			if a.output == "table" && p.OnboardingState == sol.PackageOnboardingStateOnboarded {
				if s, err = packageSignature(ctx, c, id); err != nil {
					return err
				}
			}
			return a.show(p, func(w io.Writer) {
				a.packageTable(w, p)
				if s != nil {
					printline(w)
					a.signatureTable(w, s)
				}
				if p.OnboardingState == sol.PackageOnboardingStateUploading {
					if text := downloadProgress(ctx, c, id); text != "" {
						printline(w, text)
					}
				}
			})
		})
}

func (a *app) packageTable(w io.Writer, p *sol.VnfPkgInfo) {
	failure, hint, sum := "", "", ""
	if f := p.OnboardingFailureDetails; f != nil {
		failure, hint = (&client.Error{Problem: *f}).Error(), f.Hint
	}
	if p.Checksum != nil {
		sum = p.Checksum.Algorithm + " " + p.Checksum.Hash
	}
	vnfd := p.VnfdID
	if p.VnfdVersion != "" {
		vnfd += " version " + p.VnfdVersion
	}
	fields(w, a.paint,
		"id", p.ID, "onboarding", string(p.OnboardingState), "operational", string(p.OperationalState), "usage",
		string(p.UsageState), "product", oneLine(p.VnfProvider+" "+p.VnfProductName+" "+p.VnfSoftwareVersion), "vnfd",
		vnfd, "checksum", sum, "user data", compact(p.UserDefinedData), "refused", failure, "hint", hint)
	if len(p.Warnings) > 0 {
		t := table{head: []string{"WARNING", "OPERATIONS", "HINT"}}
		for _, w := range p.Warnings {
			t.add(oneLine(w.Text), strings.Join(w.Operations, ", "), oneLine(w.Remedy))
		}
		printline(w)
		t.write(w, a.paint)
	}
	if len(p.SoftwareImages) > 0 {
		t := table{head: []string{"IMAGE", "NAME", "FORMAT", "PATH"}}
		for _, i := range p.SoftwareImages {
			t.add(i.ID, i.Name, i.DiskFormat, i.ImagePath+i.ImageURI)
		}
		printline(w)
		t.write(w, a.paint)
	}
	if len(p.AdditionalArtifacts) > 0 {
		t := table{head: []string{"ARTIFACT", "ALGORITHM", "HASH"}}
		for _, f := range p.AdditionalArtifacts {
			t.add(f.ArtifactPath+f.ArtifactURI, f.Checksum.Algorithm, f.Checksum.Hash[:min(16, len(f.Checksum.Hash))])
		}
		printline(w)
		t.write(w, a.paint)
	}
}

func (a *app) packageState(verb, short string, state sol.PackageOperationalState) *cobra.Command {
	return a.onPackage(&cobra.Command{Use: verb + " PACKAGE", Short: short},
		func(ctx context.Context, c *client.Client, id string) error {
			return c.UpdatePackage(ctx, id, sol.VnfPkgInfoModifications{OperationalState: state})
		})
}

func (a *app) packageDelete() *cobra.Command {
	var disable bool
	cmd := &cobra.Command{Use: "delete PACKAGE", Short: "Delete a package that is disabled and not in use"}
	cmd.Flags().BoolVar(&disable, "disable", false, "disable the package first if it is enabled")
	return a.onPackage(cmd, func(ctx context.Context, c *client.Client, id string) error {
		if disable {
			p, err := c.Package(ctx, id)
			if err != nil {
				return err
			}
			if p.OperationalState == sol.PackageOperationalStateEnabled && p.UsageState != sol.PackageUsageStateInUse {
				if err := c.UpdatePackage(
					ctx, id, sol.VnfPkgInfoModifications{OperationalState: sol.PackageOperationalStateDisabled},
				); err != nil {
					return err
				}
			}
		}
		return c.DeletePackage(ctx, id)
	})
}
