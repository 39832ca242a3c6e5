// Package chart brings Helm charts into memory: from a VNF package, from a chart repository, and from an OCI registry.
// Charts are the input of strangers, so everything here is bounded, and servers are only reached as a policy allows.
package chart

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// The bounds of a chart.
const (
	maxArchive = 10 << 20 // bytes of a packed chart
	maxChart   = 32 << 20 // bytes of its files
	maxFiles   = 5000
)

func init() {
	archive.MaxDecompressedChartSize = maxChart // a variable of the Helm SDK, in bytes
}

// FromPackage reads the chart at a path of a VNF package: a folder with a Chart.yaml, or an archive (.tgz). The error
// is CodeUnprocessable and names the path.
func FromPackage(files fs.FS, at string) (*chart.Chart, error) {
	clean := path.Clean(at)
	info, err := fs.Stat(files, clean)
	switch {
	case err != nil || !fs.ValidPath(clean):
		return nil, unusable(at, errors.New("the package does not have it"))
	case info.IsDir():
		return fromFolder(files, clean)
	}
	f, err := files.Open(clean)
	if err != nil {
		return nil, unusable(at, err)
	}
	defer func() { _ = f.Close() }() // it was only read
	return unpack(at, f)
}

// unpack reads a packed chart.
func unpack(name string, r io.Reader) (*chart.Chart, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxArchive+1))
	switch {
	case err != nil:
		return nil, unusable(name, err)
	case len(raw) > maxArchive:
		return nil, unusable(name, fmt.Errorf("it is larger than %d MiB", maxArchive>>20))
	}
	list, err := archive.LoadArchiveFiles(bytes.NewReader(raw))
	if err != nil {
		return nil, unusable(name, err)
	}
	return load(name, list)
}

func fromFolder(files fs.FS, root string) (*chart.Chart, error) {
	var list []*archive.BufferedFile
	left := int64(maxChart)
	err := fs.WalkDir(files, root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if len(list) == maxFiles {
			return fmt.Errorf("it has more than %d files", maxFiles)
		}
		f, err := files.Open(name)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // it was only read
		data, err := io.ReadAll(io.LimitReader(f, left+1))
		if left -= int64(len(data)); left < 0 {
			return fmt.Errorf("it is larger than %d MiB", maxChart>>20)
		}
		list = append(list, &archive.BufferedFile{Name: strings.TrimPrefix(name, root+"/"), Data: data})
		return err
	})
	if err != nil {
		return nil, unusable(root, err)
	}
	return load(root, list)
}

// load makes a chart of its files.
func load(name string, list []*archive.BufferedFile) (*chart.Chart, error) {
	if len(list) > maxFiles {
		return nil, unusable(name, fmt.Errorf("it has more than %d files", maxFiles))
	}
	c, err := loader.LoadFiles(list)
	if err == nil {
		err = c.Validate()
	}
	if err != nil {
		return nil, unusable(name, err)
	}
	if t := c.Metadata.Type; t != "" && t != "application" {
		return nil, unusable(name, fmt.Errorf("its type is %q; only charts of the type application are installed", t))
	}
	if err := complete(c); err != nil {
		return nil, unusable(name, err)
	}
	return c, nil
}

// complete reports a dependency that is not in the folder charts: none is fetched.
func complete(c *chart.Chart) error {
	have := map[string]bool{}
	for _, d := range c.Dependencies() {
		have[d.Name()] = true
	}
	for _, d := range c.Metadata.Dependencies {
		if d != nil && !have[d.Name] {
			return fmt.Errorf("its dependency %s is not in the folder charts; run helm dependency build", d.Name)
		}
	}
	return nil
}

// unusable is the error of a chart that cannot be read.
func unusable(name string, err error) *lcm.Error {
	e := lcm.Errorf(lcm.CodeUnprocessable, "the Helm chart %s cannot be used: %w", name, err)
	e.Title = "Invalid Helm chart"
	return e
}
