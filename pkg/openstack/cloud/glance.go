package cloud

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/redirect"
)

// glanceAPI are the requests to Glance.
type glanceAPI struct{ *session }

// Image is an image of Glance.
type Image struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Status  string   `json:"status"`
	Created string   `json:"created_at"`
	Tags    []string `json:"tags"`
}

// ImageActive is the status of an image that has all its data.
const ImageActive = "active"

// HasTag says whether the image has a tag.
func (i Image) HasTag(tag string) bool { return slices.Contains(i.Tags, tag) }

// ListTaggedImages lists the images with a tag, the oldest first.
func (c glanceAPI) ListTaggedImages(ctx context.Context, tag string) ([]Image, error) {
	all, err := c.listImages(ctx, "look for the instance's images", url.Values{"tag": {tag}})
	all = slices.DeleteFunc(all, func(i Image) bool { return !i.HasTag(tag) })
	slices.SortStableFunc(all, func(a, b Image) int { return strings.Compare(a.Created+a.ID, b.Created+b.ID) })
	return all, err
}

func (c glanceAPI) listImages(ctx context.Context, what string, q url.Values) (all []Image, err error) {
	list := List{What: what, Service: Glance, Path: "/images", Member: "images", Query: q, Pages: SurveyPages}
	err = EachPage(ctx, c, list, func(i Image) (string, bool) {
		all = append(all, i)
		return i.ID, true
	})
	return all, err
}

// FindImages lists the images of a name, or else the one with this id.
func (c glanceAPI) FindImages(ctx context.Context, name string) ([]Image, error) {
	found, err := c.listImages(ctx, "look for image "+name, url.Values{"name": {name}})
	if err != nil || len(found) > 0 {
		return found, err
	}

	err = c.typed(ctx, "look for image "+name, Glance, func(ctx context.Context, sc *gophercloud.ServiceClient) error {
		found = make([]Image, 1)
		return images.Get(ctx, sc, segment(name)).ExtractInto(&found[0])
	})
	if NotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}

// NewImage is the record of an image before its data.
type NewImage struct {
	Name                        string
	Tags                        []string
	DiskFormat, ContainerFormat string
	MinDisk, MinRAM             int64 // GiB, MiB
}

// CreateImage makes the record of a private image and returns its id.
func (c glanceAPI) CreateImage(ctx context.Context, i NewImage) (string, error) {
	var created Image
	private := images.ImageVisibilityPrivate
	opts := images.CreateOpts{
		Name: i.Name, Visibility: &private, Tags: i.Tags, DiskFormat: i.DiskFormat, ContainerFormat: i.ContainerFormat,
		MinDisk: int(i.MinDisk), MinRAM: int(i.MinRAM),
	}
	err := c.typed(ctx, "create image "+i.Name, Glance, func(ctx context.Context, sc *gophercloud.ServiceClient) error {
		return images.Create(ctx, sc, opts).ExtractInto(&created)
	})
	return created.ID, err
}

// DeleteImage deletes an image. One that is gone is not an error.
func (c glanceAPI) DeleteImage(ctx context.Context, id string) error {
	err := c.typed(ctx, "delete image "+id, Glance, func(ctx context.Context, sc *gophercloud.ServiceClient) error {
		return images.Delete(ctx, sc, segment(id)).ExtractErr()
	})
	if NotFound(err) {
		return nil
	}
	return err
}

// SendImage sends the data of an image, whose size is -1 when it is not known. gophercloud is not used for it: it would
// send the rest of a file that is half read when the token is refused, and has a timeout for the whole call. The caller
// bounds it by the end of ctx.
func (c glanceAPI) SendImage(ctx context.Context, id, name string, data io.Reader, size int64) error {
	info := callInfo{what: "upload image " + name, service: Glance}
	base, err := c.base(Glance)
	if err != nil {
		return err
	}
	c.renew()

	info.url = base + "/images/" + segment(id) + "/file"
	req, err := http.NewRequestWithContext(withService(ctx, Glance), http.MethodPut, info.url, data)
	if err != nil {
		return fmt.Errorf("upload image %s: %w", name, err)
	}
	req.ContentLength = size
	req.Header.Set("Content-Type", "application/octet-stream")
	req.Header.Set("Accept", "application/json") // else its errors are HTML
	req.Header.Set("User-Agent", "gybe")
	req.Header.Set("X-Auth-Token", c.provider.Token())
	res, err := (&http.Client{Transport: c.rt, CheckRedirect: redirect.SameServer}).Do(req)
	if err != nil {
		return interrupted(ctx, info, err)
	}
	defer func() { _ = res.Body.Close() }()

	answer, _ := io.ReadAll(res.Body)
	if res.StatusCode == http.StatusUnauthorized {
		if err := c.provider.Reauthenticate(ctx, req.Header.Get("X-Auth-Token")); err == nil {
			return &lcm.Error{
				Code: lcm.CodeUnavailable, Class: lcm.Transient, Title: "VIM token expired",
				Detail: info.what + ": the token expired; a new one is there",
			}
		}
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return refusal(info, gophercloud.ErrUnexpectedResponseCode{
			URL: info.url, Method: http.MethodPut, Expected: []int{http.StatusNoContent}, Actual: res.StatusCode,
			Body: answer, ResponseHeader: res.Header,
		})
	}
	return nil
}

// interrupted explains an upload that got no answer.
func interrupted(ctx context.Context, info callInfo, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return &lcm.Error{
			Code: lcm.CodeUnavailable, Class: lcm.Transient, Title: "Image upload interrupted", Cause: err,
			Detail: fmt.Sprintf("%s: %s: %v", info.what, info.where(), cause),
		}
	}
	return info.unreachable(err)
}
