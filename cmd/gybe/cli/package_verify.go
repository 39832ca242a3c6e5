package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/csar/signature"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
)

func (a *app) packageVerify() *cobra.Command {
	var dir string
	var files []string
	cmd := &cobra.Command{
		Use: "verify ARCHIVE", Short: "Check the signatures of a package archive",
		Long: `Check the signatures of a package archive like a server with packages.signatures: require. No server
is used. The exit code is 0 only if the package is signed by a trusted signer and no check failed.`,
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&dir, "trust", "", "directory with trusted certificates and revocation lists")
	cmd.Flags().StringArrayVar(&files, "trust-file", nil, "file with trusted certificates; can be repeated")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		info, err := os.Stat(args[0])
		if err != nil {
			return usagef("%s", err)
		}
		if info.IsDir() {
			return usagef("%s is a directory; signatures are in archives", args[0])
		}
		trust, err := signature.LoadTrust(dir, files)
		if err != nil {
			return usagef("%s", err)
		}
		p, err := vnfpkg.Check(cmd.Context(), args[0], vnfpkg.DefaultLimits(), vnfpkg.Signatures{
			Policy: signature.Warn, Trust: func() (*signature.Trust, error) { return trust, nil },
		})
		if err != nil {
			return badPackage(args[0], err)
		}
		d := p.Signature.Document()
		if err := a.show(d, func(w io.Writer) { a.signatureTable(w, &d) }); err != nil {
			return err
		}
		if p.Signature.State != signature.Trusted {
			return failWith(ExitRejected, "%s is %s", args[0], d.State)
		}
		return nil
	}
	return cmd
}

// signatureTable shows the result of checking the signatures of a package.
func (a *app) signatureTable(w io.Writer, d *gybeapi.PackageSignature) {
	fields(w, a.paint, "signature", d.State, "option", d.Option)
	if len(d.Signers) > 0 {
		t := table{head: []string{"SIGNS", "SIGNER", "TRUSTED BY", "ALGORITHM", "TIME", "FINGERPRINT"}}
		for _, same := range bySigner(d.Signers) {
			s, signs, at, root := same[0], same[0].Signs, "-", "-"
			if len(same) > 1 {
				signs = fmt.Sprintf("%s and %d more", signs, len(same)-1)
			}
			if !s.SigningTime.IsZero() {
				at = s.SigningTime.UTC().Format(time.RFC3339)
			}
			if s.Trusted {
				root = s.Root
			}
			t.add(signs, cmp.Or(s.Subject, "-"), root, s.Algorithm, at, s.Fingerprint[:min(16, len(s.Fingerprint))])
		}
		printline(w)
		t.write(w, a.paint)
	}
	if len(d.Checks) > 0 {
		t := table{head: []string{"CHECK", "RESULT", "SUBJECT", "DETAIL"}}
		for _, c := range d.Checks {
			t.add(c.Name, c.Outcome, cmp.Or(c.Subject, "-"), c.Detail)
			if c.Hint != "" && c.Outcome == string(signature.Failure) {
				t.add("", "", "", "hint: "+c.Hint)
			}
		}
		printline(w)
		t.write(w, a.paint)
	}
}

// bySigner groups signatures of the same signer, in the order of the first ones.
func bySigner(all []gybeapi.PackageSigner) [][]gybeapi.PackageSigner {
	var groups [][]gybeapi.PackageSigner
	for _, s := range all {
		i := slices.IndexFunc(groups, func(g []gybeapi.PackageSigner) bool {
			return g[0].Fingerprint == s.Fingerprint && g[0].Trusted == s.Trusted && g[0].Algorithm == s.Algorithm
		})
		if i < 0 {
			groups = append(groups, []gybeapi.PackageSigner{s})
		} else {
			groups[i] = append(groups[i], s)
		}
	}
	return groups
}

// packageSignature returns what the signatures of a package say, nil at a node of an earlier release.
func packageSignature(ctx context.Context, c *client.Client, id string) (*gybeapi.PackageSignature, error) {
	s, err := c.PackageSignature(ctx, id)
	if e, ok := errors.AsType[*client.Error](err); ok && e.Status() == http.StatusNotFound {
		return nil, nil //nolint:nilnil // not known
	}
	return s, err
}
