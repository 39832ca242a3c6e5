package vnfpackages_test

import (
	"bytes"
	"crypto/sha512"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/csar"
	"github.com/gybe-nfv/gybe/pkg/tosca"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

const (
	metaFile  = "TOSCA-Metadata/TOSCA.meta"
	imageFile = "Files/images/ubuntu-22.04-server-cloudimg-amd64.img"
)

var flavours = []string{"simple", "complex", "podaffinity", "storage"}

var update = flag.Bool(
	"update", false, "write the list of files into TOSCA.meta and the image's checksum into the VNFD",
)

// sample is a package's folder. prefix is what the names of its definitions begin with.
type sample struct{ dir, prefix string }

func (s sample) definition(name string) string { return "Definitions/" + s.prefix + name + ".yaml" }

func (s sample) read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(s.dir, name))
	require.NoError(t, err)
	return b
}

// check wants a file that can be made from others to be up to date.
func (s sample) check(t *testing.T, name string, want []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(filepath.Join(s.dir, name), want, 0o644))
		return
	}
	require.True(t, bytes.Equal(want, s.read(t, name)), "%s/%s is out of date; run this test with -update", s.dir, name)
}

// imageChecksums: an image that is not what the VNFD says is refused at upload.
func (s sample) imageChecksums(t *testing.T) {
	t.Helper()
	sum := sha512.Sum512(s.read(t, imageFile))
	checksum := regexp.MustCompile(`(algorithm: sha-512\n\s+hash: )[0-9a-f]+`)
	for _, flavour := range flavours {
		name := s.definition("df_" + flavour)
		old := s.read(t, name)
		vdus := bytes.Count(old, []byte("type: tosca.nodes.nfv.Vdu.Compute"))
		require.Len(t, checksum.FindAll(old, -1), vdus, "%s: one image checksum per VDU", name)
		s.check(t, name, checksum.ReplaceAll(old, []byte("${1}"+hex.EncodeToString(sum[:]))))
	}
}

// metaListsEveryFile: a file that TOSCA.meta does not list has no checksum in the package. Building fills the checksums
// in.
func (s sample) metaListsEveryFile(t *testing.T) {
	t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, "TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-by: Gybe\nEntry-Definitions: %s\n",
		s.definition("top.vnfd"))
	for _, name := range s.files(t) {
		if name != metaFile {
			fmt.Fprintf(&b, "\nName: %s\nContent-Type: %s\n", name, contentType(t, name))
		}
	}
	s.check(t, metaFile, b.Bytes())
}

// files lists the files of the package, also those that it takes from another one.
func (s sample) files(t *testing.T) []string {
	t.Helper()
	root, err := os.OpenRoot(s.dir)
	require.NoError(t, err)
	defer root.Close()
	a, err := csar.OpenDir(root, csar.DefaultLimits())
	require.NoError(t, err)
	names := slices.DeleteFunc(a.Names(), func(name string) bool { return strings.HasPrefix(name, "TOSCA-Metadata/") })
	return append(names, metaFile)
}

func contentType(t *testing.T, name string) string {
	t.Helper()
	known := map[string]string{
		".yaml": "application/x-iso9066-yaml", ".json": "application/json", ".sh": "application/x-sh",
		".py": "application/x-python", ".img": "application/x-iso9066-image", ".md": "text/markdown",
	}
	ct, ok := known[path.Ext(name)]
	require.True(t, ok, "%s: no content type known for it", name)
	return ct
}

// good builds the package, puts it through every check of an upload, and returns what it says.
func (s sample) good(t *testing.T) *vnfd.VNFD {
	t.Helper()
	root, err := os.OpenRoot(s.dir)
	require.NoError(t, err)
	defer root.Close()
	var archive bytes.Buffer
	_, err = csar.Build(t.Context(), root, &archive, csar.DefaultLimits())
	require.NoError(t, err)
	_, err = csar.Open(bytes.NewReader(archive.Bytes()), int64(archive.Len()), csar.DefaultLimits())
	require.NoError(t, err)
	res, err := tosca.Parse(os.DirFS(s.dir), tosca.Options{Entry: s.definition("top.vnfd")})
	require.NoError(t, err)
	return res.VNFD
}
