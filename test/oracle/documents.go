package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// Document is one of the published documents.
type Document struct {
	// Name is how findings call it.
	Name string
	// Prefix of the paths that it describes; "" for notifications.
	Prefix string
	// File below the folder of the documents.
	File string
	// corrections of its errors.
	corrections []correction
	// load reads and corrects it once.
	load func() (*openapi3.T, error)
}

// The files of the documents, below the folder.
const (
	Lifecycle331          = "v3.3.1/sol003_lifecycle_openapi.json"
	Lifecycle371          = v371 + "VNFLifecycleManagement/VNFLifecycleManagement.yaml"
	LifecycleNotification = v371 + "VNFLifecycleManagementNotification/VNFLifecycleManagementNotification.yaml"
	Grants331             = "v3.3.1/sol003_operation_openapi.json"
	Grants371             = v371 + "VNFLifecycleOperationGranting/VNFLifecycleOperationGranting.yaml"
	Packages331           = "v3.3.1/sol003_package_openapi.json"
	Packages371           = v371 + "VNFPackageManagement/VNFPackageManagement.yaml"
	PackageNotification   = v371 + "VNFPackageManagementNotification/VNFPackageManagementNotification.yaml"
	Packages005           = "sol005/VNFPackageManagement/VNFPackageManagement.yaml"
	v371                  = "v3.7.1/SOL003/"
)

// documents of the interfaces that Gybe serves, and of its notifications.
var documents = []*Document{
	{Name: "SOL003 v3.3.1", Prefix: "/vnflcm/v2", File: Lifecycle331, corrections: lifecycle331},
	{Name: "SOL003 v3.7.1", Prefix: "/vnflcm/v2", File: Lifecycle371, corrections: lifecycle371},
	{Name: "SOL005", Prefix: "/vnfpkgm/v1", File: Packages005, corrections: packages005},
	{Name: "SOL005", Prefix: "/vnfpkgm/v2", File: Packages005, corrections: packages005},
	{Name: "SOL003 v3.3.1", Prefix: "/vnfpkgm/v2", File: Packages331, corrections: packages331},
	{Name: "SOL003 v3.7.1", Prefix: "/vnfpkgm/v2", File: Packages371, corrections: packages371},
	{Name: "SOL003 v3.3.1", Prefix: "/grant/v1", File: Grants331, corrections: grants331},
	{Name: "SOL003 v3.7.1", Prefix: "/grant/v1", File: Grants371, corrections: grants371},
	{Name: "SOL003 v3.7.1 notifications", File: LifecycleNotification, corrections: notifications371},
	{Name: "SOL003 v3.7.1 package notifications", File: PackageNotification},
}

func init() {
	for _, d := range documents {
		d.load = sync.OnceValues(d.read)
	}
}

// Folder is the folder of the documents; "" if they are absent.
var Folder = sync.OnceValue(func() string {
	dir := os.Getenv("GYBE_ETSI_DIR")
	if dir == "" {
		here, err := os.Getwd()
		if err != nil {
			return ""
		}
		dir = filepath.Join(moduleRoot(here), "..", "shared", "etsi")
	}
	if _, err := os.Stat(filepath.Join(dir, documents[0].File)); err != nil {
		return ""
	}
	return dir
})

// moduleRoot is the folder above that has a go.mod.
func moduleRoot(dir string) string {
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// Require skips a test where the documents are absent.
func Require(tb testing.TB) {
	tb.Helper()
	if Folder() == "" {
		tb.Skip("SKIPPED: NOTHING IS COMPARED WITH THE STANDARD: the published documents are not at hand; set " +
			"GYBE_ETSI_DIR to the folder that holds them")
	}
}

// Published returns one of the documents, named by its file, with the corrections. It skips a test where the documents
// are absent. The document is shared and must not be changed.
func Published(tb testing.TB, file string) *openapi3.T {
	tb.Helper()
	Require(tb)
	for _, d := range documents {
		if d.File == file {
			doc, err := d.load()
			if err != nil {
				tb.Fatal(err)
			}
			return doc
		}
	}
	tb.Fatalf("%s is not one of the documents", file)
	return nil
}

// Original reads one of the files without the corrections, for a test that changes it. It skips the test where the
// documents are absent.
func Original(tb testing.TB, file string) *openapi3.T {
	tb.Helper()
	Require(tb)
	doc, err := original(file)
	if err != nil {
		tb.Fatal(err)
	}
	return doc
}

func original(file string) (*openapi3.T, error) {
	loader := openapi3.NewLoader()
	loader.IsExternalRefsAllowed = true
	doc, err := loader.LoadFromFile(filepath.Join(Folder(), file))
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", file, err)
	}
	return doc, nil
}

func (d *Document) read() (*openapi3.T, error) {
	doc, err := original(d.File)
	if err != nil {
		return nil, err
	}
	for _, c := range d.corrections {
		if err := c.apply(doc); err != nil {
			return nil, fmt.Errorf("%s: correction %q: %w", d.File, c.why, err)
		}
	}
	return doc, nil
}

// describing returns the documents that describe a path, without their prefix.
func describing(path string) (list []*Document, rest string) {
	if Folder() == "" {
		return nil, ""
	}
	for _, d := range documents {
		if after, ok := strings.CutPrefix(path, d.Prefix+"/"); ok && d.Prefix != "" {
			list, rest = append(list, d), "/"+after
		}
	}
	return list, rest
}

// find returns the path item of a request path.
func find(doc *openapi3.T, path string) *openapi3.PathItem {
	want := strings.Split(path, "/")
	var best *openapi3.PathItem
	variables := -1
	for template, item := range doc.Paths.Map() {
		parts := strings.Split(template, "/")
		if n := matches(parts, want); n >= 0 && (best == nil || n < variables) {
			best, variables = item, n
		}
	}
	return best
}

// matches returns the number of variables with which a template matches a path; -1 if it does not.
func matches(template, path []string) int {
	if n := len(template); n < len(path) && template[n-1] == "{artifactPath}" {
		path = slices.Concat(path[:n-1], []string{"a"}) // an artifact has a path of any length
	}
	if len(template) != len(path) {
		return -1
	}
	n := 0
	for i, part := range template {
		switch {
		case strings.HasPrefix(part, "{") && path[i] != "":
			n++
		case part != path[i]:
			return -1
		}
	}
	return n
}
