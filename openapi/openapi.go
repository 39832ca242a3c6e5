// Package openapi holds the documents of the HTTP interfaces that are served:
// what requests are validated against, and what clients can read.
//
// They are written by hand, in YAML, with shared parts in the parts folder. The
// bundled folder has one self-contained document for each, in JSON, because a
// node that read YAML needed 80 ms of CPU at each start:
//
//	go test ./openapi -run TestDocumentsAreBundled -update
//
// Request bodies may carry attributes that the documents do not name, as the
// standard asks.
package openapi

import (
	"embed"
	"fmt"
	"slices"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
)

// The documents.
const (
	VnfLcmV1  = "vnflcm-v1"  // VNF lifecycle management, API 1.x (SOL003 v2.6.1)
	VnfLcmV2  = "vnflcm-v2"  // VNF lifecycle management, API 2.0.0 and 2.3.0
	VnfPkgmV1 = "vnfpkgm-v1" // VNF package management, API 1.2.0
	VnfPkgmV2 = "vnfpkgm-v2" // VNF package management, API 2.1.0 and 2.4.0
	GybeV1    = "gybe-v1"    // what the standard lacks
	VimsV1    = "vims-v1"    // the VIM registry
)

//go:embed bundled/*.json
var files embed.FS

// Names returns the names of all documents.
func Names() []string { return []string{VnfLcmV1, VnfLcmV2, VnfPkgmV1, VnfPkgmV2, GybeV1, VimsV1} }

var loaded = map[string]func() (*openapi3.T, error){
	VnfLcmV1:  sync.OnceValues(func() (*openapi3.T, error) { return load(VnfLcmV1) }),
	VnfLcmV2:  sync.OnceValues(func() (*openapi3.T, error) { return load(VnfLcmV2) }),
	VnfPkgmV1: sync.OnceValues(func() (*openapi3.T, error) { return load(VnfPkgmV1) }),
	VnfPkgmV2: sync.OnceValues(func() (*openapi3.T, error) { return load(VnfPkgmV2) }),
	GybeV1:    sync.OnceValues(func() (*openapi3.T, error) { return load(GybeV1) }),
	VimsV1:    sync.OnceValues(func() (*openapi3.T, error) { return load(VimsV1) }),
}

// Load returns a document. All references lead into the document itself. It is
// made once and shared, so callers MUST NOT change it.
func Load(name string) (*openapi3.T, error) {
	once, ok := loaded[name]
	if !ok {
		return nil, unknown(name)
	}
	return once()
}

// JSON returns a document as it is served to clients.
func JSON(name string) ([]byte, error) {
	if !slices.Contains(Names(), name) {
		return nil, unknown(name)
	}
	return files.ReadFile("bundled/" + name + ".json")
}

func unknown(name string) error { return fmt.Errorf("there is no OpenAPI document %q", name) }

func load(name string) (*openapi3.T, error) {
	raw, err := JSON(name)
	if err != nil {
		return nil, err
	}
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		return nil, fmt.Errorf("load OpenAPI document %s: %w", name, err)
	}
	return doc, nil
}
