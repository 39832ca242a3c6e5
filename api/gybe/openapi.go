package gybe

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/openapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// openAPIPath is where the documents of all interfaces are. They are public, as the source is.
const openAPIPath = "/openapi"

// documentIdle is how long a download of a document may stand still.
const documentIdle = time.Minute

func openAPIRoutes() []frame.Route {
	return []frame.Route{
		{Method: http.MethodGet, Path: openAPIPath, Handle: listDocuments, Produces: frame.JSON, Public: true},
		{Method: http.MethodGet, Path: openAPIPath + "/", Handle: listDocuments, Produces: frame.JSON, Public: true},
		{Method: http.MethodGet, Path: openAPIPath + "/{file}", Handle: serveDocument, Public: true},
	}
}

// indexEntry is a document in the list of documents.
type indexEntry struct {
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Version     string `json:"version"`
	// JSON and YAML are the URLs of the document.
	JSON string `json:"json"`
	YAML string `json:"yaml"`
}

func listDocuments(w http.ResponseWriter, r *frame.Request) error {
	out := []indexEntry{}
	for _, name := range openapi.Names() {
		doc, err := openapi.Load(name)
		if err != nil {
			return err
		}
		at := r.Public(openAPIPath + "/" + name)
		out = append(out, indexEntry{
			name, doc.Info.Title, doc.Info.Description, doc.Info.Version, at + ".json", at + ".yaml",
		})
	}
	return frame.WriteJSON(w, http.StatusOK, out)
}

// file is a document in one of its forms.
type file struct {
	raw []byte
	tag string
}

// documentFiles are made at the first use, and never change.
var documentFiles sync.Map // file name → file

// serveDocument serves a document as .json or .yaml.
func serveDocument(w http.ResponseWriter, r *frame.Request) error {
	name := r.Param("file")
	f, err := documentFile(name)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if strings.HasSuffix(name, ".yaml") {
		h.Set("Content-Type", "application/yaml")
	}
	h.Set("Etag", f.tag)
	return frame.ServeContent(w, r, time.Time{}, int64(len(f.raw)), bytes.NewReader(f.raw), documentIdle)
}

func documentFile(name string) (file, error) {
	if known, ok := documentFiles.Load(name); ok {
		if f, ok := known.(file); ok {
			return f, nil
		}
	}
	base, form, _ := strings.Cut(name, ".")
	if !slices.Contains(openapi.Names(), base) || form != "json" && form != "yaml" {
		return file{}, lcm.Errorf(lcm.CodeNotFound, "there is no document %.80q", name).WithHint(
			"there are " + strings.Join(openapi.Names(), ", ") + ", each as .json and .yaml",
		)
	}
	raw, err := openapi.JSON(base)
	if err == nil && form == "yaml" {
		raw, err = yaml.JSONToYAML(raw)
	}
	if err != nil {
		return file{}, err
	}
	sum := sha256.Sum256(raw)
	f := file{raw, `"` + hex.EncodeToString(sum[:8]) + `"`}
	documentFiles.Store(name, f)
	return f, nil
}
