// Package openapi holds the documents of the HTTP interfaces that are served:
// what requests are validated against, and what clients can read.
//
// They are written by hand, in YAML, with shared parts in the parts folder, and
// bundled to one self-contained document each when they are loaded. Request
// bodies may carry attributes that the documents do not name, as the standard
// asks.
package openapi

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
)

// The documents.
const (
	VnfLcmV2  = "vnflcm-v2"  // SOL003 VNF lifecycle management, API 2.0.0
	VnfPkgmV1 = "vnfpkgm-v1" // VNF package management
	GybeV1    = "gybe-v1"    // what the standard lacks
	VimsV1    = "vims-v1"    // the VIM registry
)

//go:embed *.yaml parts/*.yaml
var files embed.FS

// Names returns the names of all documents.
func Names() []string { return []string{VnfLcmV2, VnfPkgmV1, GybeV1, VimsV1} }

var loaded = map[string]func() (*bundle, error){
	VnfLcmV2:  sync.OnceValues(func() (*bundle, error) { return load(VnfLcmV2) }),
	VnfPkgmV1: sync.OnceValues(func() (*bundle, error) { return load(VnfPkgmV1) }),
	GybeV1:    sync.OnceValues(func() (*bundle, error) { return load(GybeV1) }),
	VimsV1:    sync.OnceValues(func() (*bundle, error) { return load(VimsV1) }),
}

type bundle struct {
	doc  *openapi3.T
	json []byte
}

// Load returns a document, bundled: all references lead into the document
// itself. It is made once and shared, so callers MUST NOT change it.
func Load(name string) (*openapi3.T, error) {
	b, err := get(name)
	if err != nil {
		return nil, err
	}
	return b.doc, nil
}

// JSON returns a document, bundled, as it is served to clients. Callers MUST NOT
// change the bytes.
func JSON(name string) ([]byte, error) {
	b, err := get(name)
	if err != nil {
		return nil, err
	}
	return b.json, nil
}

func get(name string) (*bundle, error) {
	once, ok := loaded[name]
	if !ok {
		return nil, fmt.Errorf("there is no OpenAPI document %q", name)
	}
	return once()
}

func load(name string) (*bundle, error) {
	doc, err := read(name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("load OpenAPI document %s: %w", name, err)
	}
	// Documents are loaded once for the whole process, not for a request.
	doc.InternalizeRefs(context.TODO(), componentName)
	out, err := doc.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("bundle OpenAPI document %s: %w", name, err)
	}
	return &bundle{doc: doc, json: out}, nil
}

// read parses a file with everything it refers to.
func read(file string) (*openapi3.T, error) {
	loader := openapi3.NewLoader()
	loader.IsExternalRefsAllowed = true
	loader.ReadFromURIFunc = func(_ *openapi3.Loader, from *url.URL) ([]byte, error) {
		// Only what is embedded can be referred to, whatever a document says.
		if from.Scheme != "" || from.Host != "" {
			return nil, errors.New("references to other hosts are not followed")
		}
		return files.ReadFile(strings.TrimPrefix(path.Clean(from.Path), "/"))
	}
	return loader.LoadFromURI(&url.URL{Path: file})
}

// componentName keeps the names of components when they are bundled. Names are
// unique over all files; a test sees to it.
func componentName(_ *openapi3.T, ref openapi3.ComponentRef) string {
	return path.Base(ref.RefPath().Fragment)
}
