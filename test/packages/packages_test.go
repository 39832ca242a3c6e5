// Package packages_test checks the packages of this folder and the sample packages.
package packages_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"

	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
)

// sources are the folders of packages that Gybe and Tacker must accept.
func sources(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, pattern := range []string{"*/TOSCA-Metadata", "../../vnf-packages/*/TOSCA-Metadata"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, dir := range found {
			out = append(out, filepath.Dir(dir))
		}
	}
	require.GreaterOrEqual(t, len(out), 7)
	return out
}

func TestPackagesAreValid(t *testing.T) {
	t.Parallel()
	for _, dir := range sources(t) {
		_, err := vnfpkg.Build(t.Context(), dir, filepath.Join(t.TempDir(), "package.zip"), vnfpkg.DefaultLimits())
		require.NoError(t, err, dir)
	}
}

// TestRequirementsOfNodeTypesAreOptional: the node template of the main file meets none, as flavours map them. TOSCA's
// default for occurrences is [1, 1], and Tacker's parser insists on it.
func TestRequirementsOfNodeTypesAreOptional(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, dir := range sources(t) {
		files, err := filepath.Glob(filepath.Join(dir, "Definitions", "*.yaml"))
		require.NoError(t, err)
		for _, file := range files {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			var d struct {
				NodeTypes map[string]struct {
					Requirements []map[string]struct {
						Occurrences []int `yaml:"occurrences"`
					} `yaml:"requirements"`
				} `yaml:"node_types"`
			}
			require.NoError(t, yaml.Load(raw, &d), file)
			for _, typ := range d.NodeTypes {
				for _, requirement := range typ.Requirements {
					for name, r := range requirement {
						checked++
						require.Equal(t, []int{0, 1}, r.Occurrences, "%s: requirement %s", file, name)
					}
				}
			}
		}
	}
	require.Positive(t, checked)
}

// TestREADMENamesWhatExists: its tables say which package, shape and test cover what packages have.
func TestREADMENamesWhatExists(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, tables, _ := strings.Cut(string(raw), "## What packages have")
	shapes, err := os.ReadFile("../e2e/package_variants_test.go")
	require.NoError(t, err)
	tests := testsOf(t, "../..")
	rows := 0
	for line := range strings.Lines(tables) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) < 2 || strings.HasPrefix(line, "| ---") {
			continue
		}
		rows++
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			_, here := os.Stat(m[1])
			_, sample := os.Stat(filepath.Join("../../vnf-packages", m[1]))
			require.True(t, here == nil || sample == nil, "no package %s: %s", m[1], line)
		}
		for _, m := range regexp.MustCompile(`"[^"]+"`).FindAllString(cells[1], -1) {
			require.Contains(t, string(shapes), m+":", line)
		}
		for _, name := range regexp.MustCompile(`Test\w+`).FindAllString(line, -1) {
			require.True(t, tests[name], "no test %s: %s", name, line)
		}
	}
	require.Greater(t, rows, 30)
	for _, m := range regexp.MustCompile(`(?m)^\t\t("[^"]+"): `).FindAllStringSubmatch(string(shapes), -1) {
		require.Contains(t, tables, m[1], "the tables do not have the shape")
	}
}

// testsOf are the names of all tests below a folder.
func testsOf(t *testing.T, root string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	declaration := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		raw, err := os.ReadFile(path)
		for _, m := range declaration.FindAllStringSubmatch(string(raw), -1) {
			out[m[1]] = true
		}
		return err
	}))
	return out
}

// wholeList matches a get_param of all addresses of a connection point; Tacker fills only single members of the list.
var wholeList = regexp.MustCompile(`get_param: *\[ *nfv *, *CP *, *\w+ *, *fixed_ips *\]`)

func TestTemplatesReadAddressesOneByOne(t *testing.T) {
	t.Parallel()
	for _, dir := range sources(t) {
		hot := filepath.Join(dir, "BaseHOT")
		if _, err := os.Stat(hot); errors.Is(err, fs.ErrNotExist) {
			continue // a package of containers
		}
		err := filepath.WalkDir(hot, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".yaml") {
				return err
			}
			raw, err := os.ReadFile(path)
			require.NotRegexp(t, wholeList, string(raw), path)
			return err
		})
		require.NoError(t, err)
	}
}
