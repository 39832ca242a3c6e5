package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/csar"
	"github.com/gybe-nfv/gybe/pkg/tosca"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

func (a *app) packageBuild() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "build FOLDER", Short: "Pack a source folder into a package archive",
		Long: `Pack a source folder into a package archive, after checking it as the server would. Checksums are computed and put
into TOSCA.meta. The same folder gives the same bytes. .csarignore names files to leave out.`,
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().StringVarP(&out, "file", "f", "", "archive to write; default is the folder's name with .zip")
	// -o means the output file here, as with compilers; tables and JSON are of no use for archives.
	cmd.Flags().StringVarP(&out, "output", "o", "", "same as --file")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if out == "" {
			abs, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			out = filepath.Base(abs) + ".zip"
		}
		p, err := checkFolder(cmd.Context(), args[0])
		if err != nil {
			return badPackage(args[0], err)
		}
		size, err := buildTo(cmd.Context(), args[0], out)
		if err != nil {
			return badPackage(args[0], err)
		}
		p.warn(a.env.Stderr)
		fmt.Fprintf(a.env.Stdout, "%s: %s, %d files, %d bytes\n", out, p.title(), p.report.Files, size)
		return nil
	}
	return cmd
}

// buildTo writes the archive beside its place first, so that a failure leaves no half of one.
func buildTo(ctx context.Context, folder, out string) (size int64, err error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	tmp, err := os.CreateTemp(filepath.Dir(out), ".gybe-*.zip")
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	_, err = csar.Build(ctx, root, tmp, csar.DefaultLimits())
	if err == nil {
		size, err = tmp.Seek(0, io.SeekCurrent)
	}
	if err = errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err != nil {
		return 0, err
	}
	return size, os.Rename(tmp.Name(), out)
}

func (a *app) packageValidate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "validate FILE|FOLDER", Short: "Check a package archive or source folder as the server would", Args: cobra.ExactArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		info, err := os.Stat(args[0])
		if err != nil {
			return usagef("%s", err)
		}
		check := checkFile
		if info.IsDir() {
			check = checkFolder
		}
		p, err := check(cmd.Context(), args[0])
		if err != nil {
			return badPackage(args[0], err)
		}
		p.warn(a.env.Stderr)
		return a.show(p.model, func(w io.Writer) { p.table(w) })
	}
	return cmd
}

// checked is a package that is good.
type checked struct {
	model    *vnfd.VNFD
	report   *csar.Report
	warnings []string
}

func checkFile(ctx context.Context, name string) (*checked, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	archive, err := csar.Open(f, info.Size(), csar.DefaultLimits())
	if err != nil {
		return nil, err
	}
	return checkArchive(ctx, archive)
}

func checkFolder(ctx context.Context, name string) (*checked, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	archive, err := csar.OpenDir(root, csar.DefaultLimits())
	if err != nil {
		return nil, err
	}
	return checkArchive(ctx, archive)
}

func checkArchive(ctx context.Context, archive *csar.Archive) (*checked, error) {
	report, err := archive.Verify(ctx, nil)
	if err != nil {
		return nil, err
	}
	info := archive.Info()
	result, err := tosca.Parse(archive.FS(), tosca.Options{Entry: info.Entry, Others: info.OtherDefinitions, Names: archive.Names()})
	if err != nil {
		return nil, err
	}
	return &checked{model: result.VNFD, report: report, warnings: result.Warnings}, nil
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
		return failWith(ExitRejected, "%s: the VNFD is wrong:\n  %s", name, strings.ReplaceAll(errs.Error(), "\n", "\n  "))
	}
	return err
}

func (p *checked) title() string {
	m := p.model
	return fmt.Sprintf("%s %s %s, VNFD %s", m.Provider, m.ProductName, m.SoftwareVersion, m.ID)
}

func (p *checked) warn(w io.Writer) {
	for _, text := range p.warnings {
		fmt.Fprintln(w, "warning: "+text)
	}
}

func (p *checked) table(w io.Writer) {
	fmt.Fprintf(w, "%s\n%d files, %d bytes\n\n", p.title(), p.report.Files, p.report.Bytes)
	t := table{head: []string{"FLAVOUR", "VDU", "INSTANCES", "HOOKS"}}
	for _, f := range p.model.Flavours {
		var hooks []string
		for h := range f.LCM {
			hooks = append(hooks, h)
		}
		for i, v := range f.VDUs {
			name, h := "", ""
			if i == 0 {
				name, h = f.ID, sorted(hooks)
			}
			t.add(name, v.Name, fmt.Sprintf("%d to %d", v.MinInstances, v.MaxInstances), h)
		}
		if len(f.VDUs) == 0 {
			t.add(f.ID, "", "", sorted(hooks))
		}
	}
	t.write(w, func(s string) string { return s })
}
