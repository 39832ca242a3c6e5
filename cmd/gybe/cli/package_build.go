package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/csar"
	"github.com/gybe-nfv/gybe/pkg/tosca"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
)

func (a *app) packageBuild() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "build FOLDER", Short: "Pack a source folder into a package archive",
		Long: `Pack a source folder into a package archive, after the server's checks. Checksums
are computed and written to TOSCA.meta. The same folder gives the same bytes. .csarignore names
files to leave out, .csarinclude files to take from other source folders beside this one, as
FOLDER/PATH.`,
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().StringVarP(&out, "file", "f", "", "archive to write; default: the folder's name with .zip")
	// -o means the output file here, as with compilers; tables and JSON make no sense for archives.
	cmd.Flags().StringVarP(&out, "output", "o", "", "same as --file")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if out == "" {
			abs, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			out = filepath.Base(abs) + ".zip"
		}
		p, err := vnfpkg.Build(cmd.Context(), args[0], out, vnfpkg.DefaultLimits())
		if err != nil {
			return badPackage(args[0], err)
		}
		info, err := os.Stat(out)
		if err != nil {
			return err
		}
		a.warn(p)
		printf(a.env.Stdout, "%s: %s, %d files, %d bytes\n", out, title(p), p.Report.Files, info.Size())
		return nil
	}
	return cmd
}

func (a *app) packageValidate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "validate FILE|FOLDER", Short: "Check a package archive or source folder like the server",
		Args: cobra.ExactArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if _, err := os.Stat(args[0]); err != nil {
			return usagef("%s", err)
		}
		p, err := vnfpkg.Validate(cmd.Context(), args[0], vnfpkg.DefaultLimits())
		if err != nil {
			return badPackage(args[0], err)
		}
		a.warn(p)
		return a.show(p.VNFD, func(w io.Writer) { contentsTable(w, p) })
	}
	return cmd
}

// badPackage makes the error that the person who made the package sees.
func badPackage(name string, err error) error {
	if r, ok := errors.AsType[*csar.Rejection](err); ok {
		text := r.Error()
		if r.Hint != "" {
			text += "\n  hint: " + r.Hint
		}
		return failWith(ExitRejected, "%s: %s", name, text)
	}
	if errs, ok := errors.AsType[tosca.Errors](err); ok {
		return failWith(
			ExitRejected, "%s: the VNFD is invalid:\n  %s", name, strings.ReplaceAll(errs.Error(), "\n", "\n  "),
		)
	}
	return err
}

func title(p *vnfpkg.Contents) string {
	m := p.VNFD
	return fmt.Sprintf("%s %s %s, VNFD %s", m.Provider, m.ProductName, m.SoftwareVersion, m.ID)
}

func (a *app) warn(p *vnfpkg.Contents) {
	for _, w := range p.Warnings {
		printline(a.env.Stderr, "warning: "+w.Text)
		if len(w.Operations) > 0 {
			printline(a.env.Stderr, "  can be refused because of this: "+strings.Join(w.Operations, ", "))
		}
		if w.Remedy != "" {
			printline(a.env.Stderr, "  hint: "+w.Remedy)
		}
	}
}

// contentsTable shows what a package holds.
func contentsTable(w io.Writer, p *vnfpkg.Contents) {
	printf(w, "%s\n%d files, %d bytes\n\n", title(p), p.Report.Files, p.Report.Bytes)
	t := table{head: []string{"FLAVOUR", "VDU", "INSTANCES", "HOOKS"}}
	for _, f := range p.VNFD.Flavours {
		name, hooks := f.ID, strings.Join(slices.Sorted(maps.Keys(f.LCM)), " ")
		for _, v := range f.VDUs {
			t.add(name, v.Name, fmt.Sprintf("%d to %d", v.MinInstances, v.MaxInstances), hooks)
			name, hooks = "", ""
		}
		if len(f.VDUs) == 0 {
			t.add(name, "", "", hooks)
		}
	}
	t.write(w, func(s string) string { return s })
}
