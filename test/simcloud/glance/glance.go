// Package glance is the simulated image service (v2). Content that is uploaded is streamed, counted and hashed, and not
// kept; the image of a server keeps what the fleet makes of its disk.
//
// Exported methods other than New and Register need the world's lock.
package glance

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/fleet"
	"github.com/gybe-nfv/gybe/test/simcloud/rest"
	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

// Image is an image.
type Image struct {
	ID, Name, Project           string
	Status                      string
	DiskFormat, ContainerFormat string
	Visibility                  string
	MinDisk, MinRAM             int
	Protected, Hidden           bool
	Tags                        []string
	Properties                  map[string]string
	Created, Updated            time.Time
	Size                        int64
	Checksum, HashValue         string
	loading                     bool
	// Content is what the fleet has found on the disk of a machine; nil for an image that came as a file.
	Content fleet.Content
}

// Service is the image service of one cloud.
type Service struct {
	world  *sim.World
	Images sim.Table[Image]
}

// New returns an empty service.
func New(w *sim.World) *Service { return &Service{world: w} }

// Reset forgets all images.
func (s *Service) Reset() { s.Images.Clear() }

// Seed adds an active image without content of its own.
func (s *Service) Seed(project, name string, size int64) *Image {
	now := s.world.Now()
	i := &Image{
		ID: sim.NewID(), Name: name, Project: project, Status: "active", DiskFormat: "qcow2", ContainerFormat: "bare",
		Visibility: "public", Created: now, Updated: now, Size: size, Properties: map[string]string{},
		Checksum: "443b7623e27ecf03dc9e01ee93f67afe", HashValue: strings.Repeat("6b813aa4", 16),
	}
	s.Images.Add(i.ID, i)
	return i
}

// Reserve adds a private image whose content another service sends.
func (s *Service) Reserve(project, name string, minDisk int, properties map[string]string) *Image {
	now := s.world.Now()
	i := &Image{
		ID: sim.NewID(), Name: name, Project: project, Status: "queued", Visibility: "private", MinDisk: minDisk,
		Created: now, Updated: now, Properties: properties,
	}
	s.Images.Add(i.ID, i)
	return i
}

// Fill makes an image of Reserve active, if it still exists.
func (s *Service) Fill(i *Image, c fleet.Content) {
	if s.Images.Get(i.ID) == nil {
		return
	}
	i.Status, i.Size, i.Updated, i.DiskFormat, i.ContainerFormat = "active", 1<<20, s.world.Now(), "qcow2", "bare"
	i.Checksum, i.HashValue = "443b7623e27ecf03dc9e01ee93f67afe", strings.Repeat("6b813aa4", 16)
	i.Content = c
}

// Image finds an image that the caller may see: its own and public ones.
func (s *Service) Image(c rest.Caller, id string) (*Image, error) {
	i := s.Images.Get(id)
	if i == nil || !c.Admin && i.Project != c.ProjectID && i.Visibility != "public" && i.Visibility != "community" {
		return nil, rest.Errorf(http.StatusNotFound, "NotFound", "No image found with ID %s", id)
	}
	return i, nil
}

// Find resolves a name or id of an image.
func (s *Service) Find(c rest.Caller, nameOrID string) (*Image, error) {
	if i, err := s.Image(c, nameOrID); err == nil {
		return i, nil
	}
	found := s.Images.Filter(func(i *Image) bool {
		_, err := s.Image(c, i.ID)
		return err == nil && i.Name == nameOrID
	})
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		const format = "No images matching {'name': '%s'}."
		return nil, rest.Errorf(http.StatusNotFound, "EntityMatchNotFound", format, nameOrID)
	}
	const format = "No unique images match found for {'name': '%s'}."
	return nil, rest.Errorf(http.StatusConflict, "EntityUniqueMatchNotFound", format, nameOrID)
}

func badRequest(format string, args ...any) *rest.Error {
	return rest.Errorf(http.StatusBadRequest, "BadRequest", format, args...)
}

var (
	diskFormats      = []string{"ami", "ari", "aki", "vhd", "vhdx", "vmdk", "raw", "qcow2", "vdi", "ploop", "iso"}
	containerFormats = []string{"ami", "ari", "aki", "bare", "ovf", "ova", "docker", "compressed"}
)

func (s *Service) create(c *rest.Call, members map[string]any) (int, any, error) {
	now := s.world.Now()
	i := &Image{
		ID: sim.NewID(), Project: c.ProjectID, Status: "queued", Visibility: "shared", Created: now, Updated: now,
		Properties: map[string]string{},
	}
	for key, v := range members {
		if err := i.set(key, v); err != nil {
			return 0, nil, err
		}
	}
	if s.Images.Get(i.ID) != nil {
		return 0, nil, rest.Errorf(http.StatusConflict, "Conflict", "Image ID %s already exists!", i.ID)
	}
	if i.Visibility == "public" && !c.Admin {
		const text = "You are not authorized to complete publicize_image action."
		return 0, nil, rest.Errorf(http.StatusForbidden, "Forbidden", text)
	}
	s.Images.Add(i.ID, i)
	c.W.Header().Set("Location", s.world.BaseURL+"/image/v2/images/"+i.ID)
	c.W.Header().Set("OpenStack-image-import-methods", "web-download,glance-direct")
	return http.StatusCreated, s.view(i), nil
}

// set applies one member of a create or patch.
func (i *Image) set(key string, v any) error {
	text, isText := v.(string)
	bad := func() error {
		return badRequest("Provided object does not match schema 'image': %v is not valid for '%s'", v, key)
	}
	switch key {
	case "id":
		i.ID = text
	case "name":
		if v != nil && !isText {
			return bad()
		}
		i.Name = text
	case "disk_format":
		if v != nil && !slices.Contains(diskFormats, text) {
			return bad()
		}
		i.DiskFormat = text
	case "container_format":
		if v != nil && !slices.Contains(containerFormats, text) {
			return bad()
		}
		i.ContainerFormat = text
	case "visibility":
		if !slices.Contains([]string{"public", "private", "shared", "community"}, text) {
			return bad()
		}
		i.Visibility = text
	case "min_disk", "min_ram":
		n, ok := v.(float64)
		if !ok || n < 0 {
			return bad()
		}
		if key == "min_disk" {
			i.MinDisk = int(n)
		} else {
			i.MinRAM = int(n)
		}
	case "protected":
		i.Protected, _ = v.(bool)
	case "os_hidden":
		i.Hidden, _ = v.(bool)
	case "tags":
		list, ok := v.([]any)
		if !ok {
			return bad()
		}
		i.Tags = nil
		for _, t := range list {
			if t, ok := t.(string); ok && !slices.Contains(i.Tags, t) {
				i.Tags = append(i.Tags, t)
			}
		}
	case "status", "size", "checksum", "owner", "created_at", "updated_at", "file", "schema", "self", "virtual_size",
		"os_hash_algo", "os_hash_value", "direct_url", "locations":
		return rest.Errorf(http.StatusForbidden, "Forbidden", "Attribute '%s' is read-only.", key)
	default:
		if !isText {
			return bad()
		}
		i.Properties[key] = text
	}
	return nil
}

// filters are the members of the query of a list that do not stand for properties.
var filters = []string{
	"id", "name", "status", "visibility", "owner", "disk_format", "container_format", "os_hidden", "tag", "limit",
	"marker", "sort", "sort_key", "sort_dir", "member_status", "size_min", "size_max", "protected", "created_at",
	"updated_at",
}

// hasProperties says whether an image has the properties that a list asks for.
func (i *Image) hasProperties(q url.Values) bool {
	for key := range q {
		if !slices.Contains(filters, key) && i.Properties[key] != q.Get(key) {
			return false
		}
	}
	return true
}

func (s *Service) list(c *rest.Call) (int, any, error) {
	q := c.Query
	var found []*Image
	for _, i := range s.Images.All() {
		if _, err := s.Image(c.Caller, i.ID); err != nil {
			continue
		}
		if rest.OneOf(q, "id", i.ID) && rest.OneOf(q, "name", i.Name) && rest.OneOf(q, "status", i.Status) &&
			rest.OneOf(q, "visibility", i.Visibility) && rest.OneOf(q, "owner", i.Project) &&
			rest.OneOf(q, "disk_format", i.DiskFormat) && rest.OneOf(q, "container_format", i.ContainerFormat) &&
			rest.Bool(q.Get("os_hidden")) == i.Hidden &&
			rest.TagsMatch(i.Tags, strings.Join(q["tag"], ","), "", "", "") && i.hasProperties(q) {
			found = append(found, i)
		}
	}
	slices.Reverse(found) // created_at:desc is the default
	views, next, err := rest.Views(c, found, func(i *Image) string { return i.ID }, s.view)
	if err != nil {
		return 0, nil, err
	}
	out := rest.Obj{"images": views, "schema": "/v2/schemas/images", "first": "/v2/images"}
	if next != "" {
		out["next"] = strings.TrimPrefix(next, s.world.BaseURL+"/image")
	}
	return http.StatusOK, out, nil
}

func (s *Service) view(i *Image) rest.Obj {
	const form = "2006-01-02T15:04:05Z"
	v := rest.Obj{
		"id": i.ID, "name": i.Name, "status": i.Status, "visibility": i.Visibility, "owner": i.Project,
		"disk_format": rest.OrNil(i.DiskFormat), "container_format": rest.OrNil(i.ContainerFormat),
		"min_disk": i.MinDisk, "min_ram": i.MinRAM, "protected": i.Protected, "os_hidden": i.Hidden,
		"tags": rest.Strings(i.Tags), "created_at": i.Created.Format(form), "updated_at": i.Updated.Format(form),
		"self": "/v2/images/" + i.ID, "file": "/v2/images/" + i.ID + "/file", "schema": "/v2/schemas/image",
		"size": nil, "virtual_size": nil, "checksum": nil, "os_hash_algo": nil, "os_hash_value": nil,
	}
	if i.Status == "active" {
		v["size"], v["checksum"], v["os_hash_algo"], v["os_hash_value"] = i.Size, i.Checksum, "sha512", i.HashValue
	}
	for k, p := range i.Properties {
		v[k] = p
	}
	return v
}
