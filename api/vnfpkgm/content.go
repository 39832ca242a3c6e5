package vnfpkgm

import (
	"cmp"
	"errors"
	"log/slog"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
)

func (m *major) upload(w http.ResponseWriter, r *frame.Request) error {
	id, err := packageID(r)
	if err != nil {
		return err
	}
	if r.ContentLength > m.MaxSize {
		w.Header().Set("Connection", "close")
		return lcm.Errorf(lcm.CodeTooLarge, "the package is %d bytes; the limit is %d", r.ContentLength, m.MaxSize)
	}
	ifVersion, err := m.condition(r, id)
	if err != nil {
		return err
	}
	packages := m.Services.In(r.Principal)
	if err := packages.CheckSpace(max(0, r.ContentLength)); err != nil {
		w.Header().Set("Connection", "close")
		return err
	}
	body := frame.StreamBody(w, r.Request, m.MaxSize, idle)
	err = packages.Upload(r.Context(), id, ifVersion, body)
	r.Note(slog.Int64("read", body.Count()))
	if same, ok := errors.AsType[*vnfpkg.IdenticalError](err); ok {
		r.PointTo(r.Public(m.path(same.PackageID)))
	}
	if err != nil {
		return err
	}
	return frame.Accepted(w, "")
}

func (m *major) uploadFrom(w http.ResponseWriter, r *frame.Request) error {
	id, err := packageID(r)
	if err != nil {
		return err
	}
	src, err := frame.Decode[sol.UploadVnfPackageFromUriRequest](r)
	if err != nil {
		return err
	}
	ifVersion, err := m.condition(r, id)
	if err != nil {
		return err
	}
	if err := m.Services.In(r.Principal).UploadFrom(r.Context(), id, ifVersion, &src); err != nil {
		return err
	}
	return frame.Accepted(w, "")
}

const (
	mediaZip  = "application/zip"
	mediaText = "text/plain"
)

func (m *major) content(w http.ResponseWriter, r *frame.Request, id string) error {
	f, err := m.Services.In(r.Principal).Content(r.Context(), id)
	if err != nil {
		return err
	}
	return serve(w, r, f, mediaZip)
}

func (m *major) artifact(w http.ResponseWriter, r *frame.Request, id string) error {
	packages, file := m.Services.In(r.Principal), r.Param("*")
	if signatures(r) {
		d, err := packages.SignedArtifact(r.Context(), id, file)
		if err != nil {
			return err
		}
		return serveDocument(w, r, d)
	}
	f, err := packages.Artifact(r.Context(), id, file)
	if err != nil {
		return err
	}
	return serve(w, r, f, cmp.Or(mime.TypeByExtension(path.Ext(f.Name)), "application/octet-stream"))
}

// artifacts serves an archive of the artifacts that the query selects.
func (m *major) artifacts(w http.ResponseWriter, r *frame.Request, id string) error {
	query := r.QueryValues()
	q := vnfpkg.Selection{
		NoMano: query.Has("exclude_all_mano_artifacts"), NoNonMano: query.Has("exclude_all_non_mano_artifacts"),
		Signatures: signatures(r),
	}
	if sets, ok := query["select_non_mano_artifact_sets"]; ok {
		if q.NoNonMano {
			return lcm.Errorf(
				lcm.CodeInvalid,
				"exclude_all_non_mano_artifacts and select_non_mano_artifact_sets cannot be used together",
			)
		}
		q.Sets = strings.Split(strings.Join(sets, ","), ",")
	}
	f, err := m.Services.In(r.Principal).Artifacts(r.Context(), id, q)
	if err != nil {
		return err
	}
	return serve(w, r, f, mediaZip)
}

// signatures says whether the client asks for signatures, with the name of the parameter in the standard or with the
// one in the document of v3.3.1.
func signatures(r *frame.Request) bool {
	query := r.QueryValues()
	return query.Has("include_signatures") || query.Has("include_signature")
}

func (m *major) vnfd(w http.ResponseWriter, r *frame.Request, id string) error {
	d, err := m.Services.In(r.Principal).VNFD(r.Context(), id, signatures(r))
	if err != nil {
		return err
	}
	return serveDocument(w, r, d)
}

func (m *major) manifest(w http.ResponseWriter, r *frame.Request, id string) error {
	d, err := m.Services.In(r.Principal).Manifest(r.Context(), id, signatures(r))
	if err != nil {
		return err
	}
	return serveDocument(w, r, d)
}

// serveDocument serves a document as text when it is one file and the client takes text, else as an archive.
func serveDocument(w http.ResponseWriter, r *frame.Request, d *vnfpkg.Document) error {
	offers := []string{mediaZip}
	if d.Single() {
		offers = []string{mediaText, mediaZip}
	}
	media, ok := frame.Preferred(r.Header.Values("Accept"), offers)
	if !ok {
		media = mediaText // which tells why not
	}
	w.Header().Set("Vary", "Accept")
	if media == mediaText {
		f, err := d.Text(r.Context())
		if err != nil {
			return err
		}
		return serve(w, r, f, mediaText+"; charset=utf-8")
	}
	f, err := d.Archive(r.Context())
	if err != nil {
		return err
	}
	return serve(w, r, f, media)
}

// serve sends a file, or the part of it that Range asks for, and closes it.
func serve(w http.ResponseWriter, r *frame.Request, f *vnfpkg.File, media string) error {
	defer func() { _ = f.Close() }() // only read
	h := w.Header()
	h.Set("Content-Type", media)
	// The content of a package must not run in a browser as if it were ours.
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.Name}))
	if f.Hash != "" {
		h.Set("ETag", `"`+f.Hash+`"`)
	}
	return frame.ServeContent(w, r, f.ModTime, f.Size, f, idle)
}
