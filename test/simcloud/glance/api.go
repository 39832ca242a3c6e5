package glance

import (
	"context"
	"crypto/md5"
	"crypto/sha512"
	"encoding/hex"
	"html"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

// Register adds the service's routes.
func (s *Service) Register(a *rest.API) {
	a.WriteError, a.Unauthorized = writeError, unauthorized
	versions := func(*rest.Call) (int, any, error) {
		return http.StatusMultipleChoices, rest.Obj{"versions": []rest.Obj{{
			"id": "v2.16", "status": "CURRENT",
			"links": []rest.Obj{{"rel": "self", "href": s.world.BaseURL + a.Prefix + "/v2/"}},
		}}}, nil
	}
	a.HandlePublic("GET /{$}", versions)
	a.HandlePublic("GET ", versions)
	a.HandlePublic("GET /versions", versions)
	a.Handle("GET /v2/images", s.list)
	a.Handle("POST /v2/images", rest.WithBody(s.create))
	find := func(c *rest.Call) (*Image, error) { return s.Image(c.Caller, c.Path("id")) }
	a.Handle("GET /v2/images/{id}", rest.On(find, func(_ *rest.Call, i *Image) (int, any, error) {
		return http.StatusOK, s.view(i), nil
	}))
	a.Handle("PATCH /v2/images/{id}", rest.WithBody(s.patch))
	a.Handle("DELETE /v2/images/{id}", func(c *rest.Call) (int, any, error) {
		return http.StatusNoContent, nil, s.Delete(c.Caller, c.Path("id"))
	})
	a.HandleRaw("PUT /v2/images/{id}/file", s.upload)
	a.HandleNotFound("The resource could not be found.")
}

// own finds an image that the caller may change.
func (s *Service) own(c rest.Caller, id string) (*Image, error) {
	i, err := s.Image(c, id)
	if err != nil {
		return nil, err
	}
	if !c.Admin && i.Project != c.ProjectID {
		return nil, rest.Errorf(http.StatusForbidden, "Forbidden", "You are not permitted to modify this image.")
	}
	return i, nil
}

// Delete deletes an image that is not protected.
func (s *Service) Delete(c rest.Caller, id string) error {
	i, err := s.own(c, id)
	if err != nil {
		return err
	}
	if i.Protected {
		return rest.Errorf(http.StatusForbidden, "Forbidden", "Image %s is protected and cannot be deleted.", id)
	}
	s.Images.Delete(id)
	return nil
}

// operation is one change of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// patch applies a JSON patch (add and replace of top-level members).
func (s *Service) patch(c *rest.Call, ops []operation) (int, any, error) {
	if !strings.HasPrefix(c.R.Header.Get("Content-Type"), "application/openstack-images-v2.") {
		return 0, nil, rest.Errorf(http.StatusUnsupportedMediaType, "UnsupportedMediaType", "Unsupported Content-Type")
	}
	i, err := s.own(c.Caller, c.Path("id"))
	if err != nil {
		return 0, nil, err
	}
	for _, op := range ops {
		key, err := url.PathUnescape(strings.TrimPrefix(op.Path, "/"))
		if err != nil || strings.Contains(key, "/") {
			return 0, nil, badRequest("Invalid JSON pointer for this resource: '%s'", op.Path)
		}
		if op.Op != "add" && op.Op != "replace" {
			return 0, nil, badRequest("Unable to find '%s' in JSON Schema change.", op.Op)
		}
		if err := i.set(key, op.Value); err != nil {
			return 0, nil, err
		}
	}
	i.Updated = s.world.Now()
	return http.StatusOK, s.view(i), nil
}

// upload streams the content: an upload that breaks off leaves the image queued, as the real service does.
func (s *Service) upload(c *rest.Call) (int, any, error) {
	id := c.Path("id")
	if ct := c.R.Header.Get("Content-Type"); ct != "application/octet-stream" {
		const format = "Unsupported Content-Type: %s"
		return 0, nil, rest.Errorf(http.StatusUnsupportedMediaType, "UnsupportedMediaType", format, ct)
	}
	if err := s.startUpload(c.Caller, id); err != nil {
		return 0, nil, err
	}
	md, sha := md5.New(), sha512.New()
	n, err := io.CopyBuffer(io.MultiWriter(md, sha), c.R.Body, make([]byte, 256<<10))
	if err == nil {
		err = s.world.Take(c.R.Context(), "create", "OS::Glance::Image")
	}
	s.world.Lock()
	defer s.world.Unlock()
	i := s.Images.Get(id)
	if i == nil {
		const format = "Image %s could not be found after upload. The image may have been deleted during the upload."
		return 0, nil, rest.Errorf(http.StatusGone, "Gone", format, id)
	}
	i.loading = false
	if err != nil {
		i.Status = "queued"
		return 0, nil, badRequest("Error in store configuration or broken upload: %v", context.Cause(c.R.Context()))
	}
	i.Status, i.Size, i.Updated = "active", n, s.world.Now()
	i.Checksum, i.HashValue = hex.EncodeToString(md.Sum(nil)), hex.EncodeToString(sha.Sum(nil))
	return http.StatusNoContent, nil, nil
}

func (s *Service) startUpload(c rest.Caller, id string) error {
	s.world.Lock()
	defer s.world.Unlock()
	i, err := s.own(c, id)
	if err != nil {
		return err
	}
	if i.Status != "queued" || i.loading {
		const format = "Image status transition from %s to saving is not allowed"
		return rest.Errorf(http.StatusConflict, "Conflict", format, i.Status)
	}
	if i.DiskFormat == "" || i.ContainerFormat == "" {
		return badRequest("Properties disk_format, container_format must be set prior to saving data.")
	}
	i.Status, i.loading = "saving", true
	return nil
}

// unauthorized is the answer without a valid token; this service writes it itself.
func unauthorized(w http.ResponseWriter, r *http.Request) {
	writeError(w, r, rest.Errorf(http.StatusUnauthorized, "Unauthorized",
		"This server could not verify that you are authorized to access the document you requested. "+
			"Either you supplied the wrong credentials (e.g., bad password), or your browser does not understand "+
			"how to supply the credentials required."))
}

// writeError writes an error: in JSON for those who ask for it, otherwise as an HTML page.
func writeError(w http.ResponseWriter, r *http.Request, e *rest.Error) {
	title := strconv.Itoa(e.Status) + " " + http.StatusText(e.Status)
	if strings.Contains(r.Header.Get("Accept"), "json") {
		rest.WriteJSON(w, e.Status, rest.Obj{
			"message": e.Message + "<br /><br />\n\n\n", "code": title, "title": http.StatusText(e.Status),
		})
		return
	}
	body := "<html>\n <head>\n  <title>" + title + "</title>\n </head>\n <body>\n  <h1>" + title + "</h1>\n  " +
		html.EscapeString(e.Message) + "<br /><br />\n\n\n </body>\n</html>"
	w.Header().Set("Content-Type", "text/html; charset=UTF-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(e.Status)
	_, _ = io.WriteString(w, body)
}
