package vnfpkgm

import (
	"cmp"
	"log/slog"
	"mime"
	"net/http"
	"path"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
)

func (a *API) upload(w http.ResponseWriter, r *frame.Request) error {
	id, err := packageID(r)
	if err != nil {
		return err
	}
	if r.ContentLength > a.MaxSize {
		w.Header().Set("Connection", "close")
		return lcm.Errorf(lcm.CodeTooLarge, "the package is %d bytes; the limit is %d", r.ContentLength, a.MaxSize)
	}
	packages := a.Services.In(r.Principal)
	if err := packages.CheckSpace(max(0, r.ContentLength)); err != nil {
		w.Header().Set("Connection", "close")
		return err
	}
	body := frame.StreamBody(w, r.Request, a.MaxSize, idle)
	err = packages.Upload(r.Context(), id, body)
	r.Note(slog.Int64("read", body.Count()))
	if err != nil {
		return err
	}
	return frame.Accepted(w, "")
}

func (a *API) content(w http.ResponseWriter, r *frame.Request) error {
	id, err := packageID(r)
	if err != nil {
		return err
	}
	f, err := a.Services.In(r.Principal).Content(r.Context(), id)
	if err != nil {
		return err
	}
	return serve(w, r, f, "application/zip")
}

func (a *API) artifact(w http.ResponseWriter, r *frame.Request) error {
	id, err := packageID(r)
	if err != nil {
		return err
	}
	f, err := a.Services.In(r.Principal).Artifact(r.Context(), id, r.Param("*"))
	if err != nil {
		return err
	}
	return serve(w, r, f, cmp.Or(mime.TypeByExtension(path.Ext(f.Name)), "application/octet-stream"))
}

// serve sends a file, or the part of it that Range asks for, and closes it.
func serve(w http.ResponseWriter, r *frame.Request, f *vnfpkg.File, media string) error {
	defer func() { _ = f.Close() }() // only read
	h := w.Header()
	h.Set("Content-Type", media)
	// What is in a package must not run in a browser as if it were ours.
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.Name}))
	if f.Hash != "" {
		h.Set("ETag", `"`+f.Hash+`"`)
	}
	return frame.ServeContent(w, r, f.ModTime, f.Size, f, idle)
}

// vnfd serves the VNFD as text when it is one file and the client takes text, else as an archive.
func (a *API) vnfd(w http.ResponseWriter, r *frame.Request) error {
	id, err := packageID(r)
	if err != nil {
		return err
	}
	d, err := a.Services.In(r.Principal).VNFD(r.Context(), id)
	if err != nil {
		return err
	}
	offers := []string{"application/zip"}
	if d.Single() {
		offers = []string{"text/plain", "application/zip"}
	}
	media, ok := frame.Preferred(r.Header.Values("Accept"), offers)
	if !ok {
		return lcm.Errorf(lcm.CodeNotAcceptable, "the VNFD consists of several files").WithHint(
			"ask for application/zip",
		)
	}
	if media == "text/plain" {
		f, err := d.Text()
		if err != nil {
			return err
		}
		return serve(w, r, f, "text/plain; charset=utf-8")
	}
	w.Header().Set("Content-Type", media)
	w.Header().Set(
		"Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": "vnfd-" + id + ".zip"}),
	)
	if r.Method == http.MethodHead {
		return nil
	}
	return d.WriteZip(r.Context(), frame.StreamWriter(w, idle))
}
