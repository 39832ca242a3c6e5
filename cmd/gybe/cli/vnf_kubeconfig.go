package cli

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/kubernetes"
)

func (a *app) vnfKubeconfig() *cobra.Command {
	cmd := &cobra.Command{
		Use: "kubeconfig INSTANCE", Short: "Get the kubeconfig of a VNF instance's cluster", Args: cobra.ExactArgs(1),
		Long: `Get the kubeconfig of a VNF instance's cluster. It gives full access to the cluster.
Every download is in the audit trail.

--merge adds the cluster to the kubeconfig that kubectl uses (the first file of KUBECONFIG, or
~/.kube/config), or to that of --file, as a context with the name of the instance, or that of
--name. The rest of the file does not change, nor does the current context if it is set.`,
	}
	file := cmd.Flags().StringP("file", "f", "", "write to this file, readable by you only, instead of standard output")
	merge := cmd.Flags().Bool("merge", false, "add it to the existing content of the file")
	name := cmd.Flags().String("name", "", "name of the cluster and its context in the file")
	return a.onInstance(cmd, func(ctx context.Context, c *client.Client, id string, _ []string) error {
		raw, err := c.Kubeconfig(ctx, id)
		if err != nil {
			return err
		}
		target := *file
		if *merge && target == "" {
			if target, err = a.kubeconfigFile(); err != nil {
				return err
			}
		}
		var old []byte
		if *merge {
			if old, err = os.ReadFile(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		raw, used, err := kubernetes.MergeKubeconfig(old, raw, *name)
		if err != nil {
			return failWith(ExitRejected, "%s: %w", cmp.Or(target, "kubeconfig"), err)
		}
		if target == "" && a.output == "json" { // kubectl takes either; a file keeps the form that it usually has
			var doc any
			if err := yaml.Load(raw, &doc); err != nil {
				return err
			}
			return a.show(doc, nil)
		}
		if target == "" {
			_, err = a.env.Stdout.Write(raw)
			return err
		}
		if err := replaceFile(target, raw); err != nil {
			return err
		}
		printf(a.env.Stderr, "kubectl --kubeconfig %s --context '%s' get nodes\n", target, used)
		return nil
	})
}

// kubeconfigFile is the file that kubectl would write to.
func (a *app) kubeconfigFile() (string, error) {
	for _, f := range filepath.SplitList(a.env.get("KUBECONFIG")) {
		if f != "" {
			return f, nil
		}
	}
	home := a.env.get("HOME")
	if home == "" {
		return "", usagef("neither KUBECONFIG nor HOME is set; use --file")
	}
	dir := filepath.Join(home, ".kube")
	return filepath.Join(dir, "config"), os.MkdirAll(dir, 0o700)
}

// replaceFile writes a file that only its owner can read, all of it or, when that fails, nothing.
func replaceFile(name string, raw []byte) error {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real // what it points to is replaced, not the link
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		if failed, ok := errors.AsType[*fs.PathError](err); ok {
			err = failed.Err // its name is that of a temporary file
		}
		return usagef("%s cannot be written: %s", name, err)
	}
	_, err = f.Write(raw) // the file is 0600
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
