package tacker

import (
	"crypto/sha512"
	"encoding/hex"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/tosca"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/test/stack"
)

// Package is a package that Tacker has onboarded.
type Package struct {
	ID      string
	Model   *vnfd.VNFD
	Archive string // path of the archive

	files   fs.FS
	content []byte
}

var entry = regexp.MustCompile(`(?m)^Entry-Definitions:\s*(\S+)`)

// AddPackage onboards the package of a source tree.
func (s *Server) AddPackage(source string) *Package {
	s.tb.Helper()
	files := os.DirFS(source)
	meta, err := fs.ReadFile(files, "TOSCA-Metadata/TOSCA.meta")
	s.must(err)
	m := entry.FindSubmatch(meta)
	if m == nil {
		s.tb.Fatalf("%s has no Entry-Definitions", source)
	}
	parsed, err := tosca.Parse(files, tosca.Options{Entry: string(m[1])})
	s.must(err)
	p := &Package{
		ID: uuid.NewString(), Model: parsed.VNFD, files: files,
		Archive: filepath.Join(s.tb.TempDir(), filepath.Base(source)+".zip"),
	}
	s.must(stack.BuildPackage(s.tb.Context(), source, p.Archive))
	p.content, err = os.ReadFile(p.Archive)
	s.must(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.packages = append(s.packages, p)
	return p
}

// Version1 copies a source tree in which templates ask for flavours and images by the names of version 1, flavor and
// image, and returns the copy: the classes of version 1 give no others. Its scaling policies get the names that version
// 1 signals, those of the scaling aspect with _scale_out and _scale_in.
func (s *Server) Version1(source string) string {
	s.tb.Helper()
	dir := filepath.Join(s.tb.TempDir(), filepath.Base(source))
	s.must(os.CopyFS(dir, os.DirFS(source)))
	s.must(filepath.WalkDir(filepath.Join(dir, "BaseHOT"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := strings.NewReplacer(
			"computeFlavourId", "flavor", "vcImageId", "image",
			"VDU1_scale_out", "VDU1_scale_scale_out", "VDU1_scale_in", "VDU1_scale_scale_in",
		).Replace(string(raw))
		return os.WriteFile(path, []byte(text), 0o600)
	}))
	return dir
}

// must ends the test with an error.
func (s *Server) must(err error) {
	s.tb.Helper()
	if err != nil {
		s.tb.Fatal(err)
	}
}

// view is the package as the API shows it; lists have no checksum.
func (p *Package) view(whole bool) obj {
	self := "/vnfpkgm/v1/vnf_packages/" + p.ID
	v := obj{
		"id": p.ID, "vnfdId": p.Model.ID, "vnfProvider": p.Model.Provider, "vnfProductName": p.Model.ProductName,
		"vnfSoftwareVersion": p.Model.SoftwareVersion, "vnfdVersion": p.Model.Version,
		"onboardingState": "ONBOARDED", "operationalState": "ENABLED", "usageState": "IN_USE",
		"_links": obj{
			"self": obj{"href": self}, "packageContent": obj{"href": self + "/package_content"},
			"vnfd": obj{"href": self + "/vnfd"},
		},
	}
	if whole {
		sum := sha512.Sum512(p.content)
		v["checksum"] = obj{"algorithm": "sha512", "hash": hex.EncodeToString(sum[:])}
		v["userDefinedData"] = obj{}
		v["softwareImages"], v["additionalArtifacts"] = []obj{}, []obj{}
	}
	return v
}

var byVnfd = regexp.MustCompile(`^\(eq,vnfdId,'?([^')]+)'?\)$`)

func (s *Server) readPackages(r *http.Request, id, content string) (any, *fault) {
	of := ""
	if filter := r.URL.Query().Get("filter"); filter != "" {
		m := byVnfd.FindStringSubmatch(filter)
		if m == nil {
			return nil, problem(http.StatusBadRequest, "the stand-in knows only filters by vnfdId")
		}
		of = m[1]
	}
	list := []obj{}
	for _, p := range s.packages {
		switch {
		case p.ID == id && content != "":
			return p.content, nil
		case p.ID == id:
			return p.view(true), nil
		case of == "" || p.Model.ID == of:
			list = append(list, p.view(false))
		}
	}
	if id != "" {
		return nil, absent("vnfpkgm/v1", "vnf package", id)
	}
	return list, nil
}
