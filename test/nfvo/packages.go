package nfvo

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

const packagesPath = "/vnfpkgm/v2/onboarded_vnf_packages/"

// versionOf is the Version that a request has to have.
func versionOf(path string) string {
	if strings.HasPrefix(path, packagesPath) {
		return "2.1.0"
	}
	return "1.4.0"
}

// Onboard gives the NFVO a package.
func (s *Server) Onboard(vnfdID string, archive []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.packages[vnfdID] = archive
}

// Reads returns the Range headers of all downloads of packages, "" for one of all bytes.
func (s *Server) Reads() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.reads)
}

// servePackage answers a request for a package (SOL003 clause 10).
func (s *Server) servePackage(w http.ResponseWriter, r *http.Request) {
	segment, resource, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), packagesPath), "/")
	vnfdID, err := url.PathUnescape(segment)
	if err != nil {
		problem(w, &sol.ProblemDetails{Status: http.StatusBadRequest, Detail: err.Error()})
		return
	}
	s.mu.Lock()
	archive, ok := s.packages[vnfdID]
	cut := false
	if ok && resource == "package_content" {
		s.reads = append(s.reads, r.Header.Get("Range"))
		if cut = s.how.Cut > 0; cut {
			s.how.Cut--
		}
	}
	s.mu.Unlock()
	switch {
	case !ok:
		problem(w, &sol.ProblemDetails{Status: http.StatusNotFound, Detail: "the package does not exist"})
	case resource == "":
		answer(w, http.StatusOK, "application/json", sol.VnfPkgInfo{ID: vnfdID, VnfdID: vnfdID})
	case resource != "package_content":
		problem(w, &sol.ProblemDetails{Status: http.StatusNotFound, Detail: r.URL.Path + " does not exist"})
	default:
		w.Header().Set("Content-Type", "application/zip")
		w.Header().Set("ETag", `"1"`)
		if cut {
			w = &halved{ResponseWriter: w, left: len(archive) / 2}
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(archive))
	}
}

// halved is a response that ends early.
type halved struct {
	http.ResponseWriter
	left int
}

// Write implements io.Writer.
func (h *halved) Write(p []byte) (int, error) {
	if len(p) < h.left {
		h.left -= len(p)
		return h.ResponseWriter.Write(p)
	}
	_, _ = h.ResponseWriter.Write(p[:h.left]) // the connection ends here
	_ = http.NewResponseController(h.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}
