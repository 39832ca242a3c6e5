package openstack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// image is what Glance says about an image.
type image struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Status  string   `json:"status"`
	Created string   `json:"created_at"`
	Tags    []string `json:"tags"`
}

// active is the status of an image that has all its data.
const active = "active"

// imagesPerPage is how many images one call lists.
const imagesPerPage = 100

// taggedImages lists the images of the instance, oldest first.
func (j *job) taggedImages(ctx context.Context) ([]image, error) {
	var all []image
	marker := ""
	for {
		q := url.Values{"tag": {j.w.Instance.ID}, "limit": {strconv.Itoa(imagesPerPage)}}
		if marker != "" {
			q.Set("marker", marker)
		}
		var out struct {
			Images []image `json:"images"`
		}
		err := j.do(ctx, call{what: "look for the instance's images", service: glance, method: http.MethodGet, path: "/images?" + q.Encode(), out: &out})
		if err != nil {
			return nil, err
		}
		for _, i := range out.Images {
			if slices.Contains(i.Tags, j.w.Instance.ID) {
				all = append(all, i)
			}
		}
		if len(out.Images) < imagesPerPage {
			break
		}
		marker = out.Images[len(out.Images)-1].ID
	}
	slices.SortStableFunc(all, func(a, b image) int { return strings.Compare(a.Created+a.ID, b.Created+b.ID) })
	return all, nil
}

// contentTag tells an image of the instance by what it is made from. Packages have images of the same name with other content: without a
// checksum every VNFD's is another.
func contentTag(img *vnfd.SwImage, vnfdID string) string {
	if img.ChecksumHash != "" {
		vnfdID = ""
	}
	h := sha256.New()
	for _, part := range []string{img.Name, img.ChecksumAlgorithm, img.ChecksumHash, img.DiskFormat, img.ContainerFormat, vnfdID} {
		_, _ = fmt.Fprintf(h, "%d %s ", len(part), part)
	}
	_, _ = fmt.Fprintf(h, "%d %d", img.MinDiskBytes, img.MinRAMBytes)
	return "gybe-image-" + hex.EncodeToString(h.Sum(nil)[:12])
}

// is says whether an image of the instance is the one of the package with this content tag.
func (i image) is(tag string) bool { return slices.Contains(i.Tags, tag) }

// tagOf is the content tag of an image of the package.
func (j *job) tagOf(img *vnfd.SwImage) string { return contentTag(img, j.w.VNFD.ID) }

// provideImages uploads the images of the package that the grant does not name, and puts their ids into the grant.
func (j *job) provideImages(ctx context.Context) error {
	return j.provide(ctx, packaged(j.w.Flavour))
}

// provide does it for some of them.
func (j *job) provide(ctx context.Context, nodes []imageNode) error {
	var missing []imageNode
	todo := map[string]*vnfd.SwImage{}
	for _, n := range nodes {
		if j.w.Op.Grant == nil || j.w.Op.Grant.Images[n.node] == "" {
			missing = append(missing, n)
			todo[n.image.Name] = n.image
		}
	}
	if len(missing) == 0 {
		return nil
	}
	// The list is only made when somebody needs it: whoever follows an upload of this process does not.
	found := sync.OnceValues(func() ([]image, error) { return j.taggedImages(ctx) })
	names := slices.Sorted(maps.Keys(todo))
	ids := make([]string, len(names))
	at := func(name string) int { return slices.Index(names, name) }
	err := lcm.Each(ctx, 2, names, func(ctx context.Context, name string) error {
		return j.w.Step(ctx, "upload image", name, func(ctx context.Context, s *lcm.Step) error {
			id, err := j.imageUploaded(ctx, s, todo[name], found)
			if err == nil {
				ids[at(name)] = id
				s.Detail("image " + id)
			}
			return err
		})
	})
	if err != nil {
		return err
	}
	for i, name := range names { // steps that were done before this tick
		if ids[i] == "" {
			if ids[i], err = j.recordedImage(todo[name], found); err != nil {
				return err
			}
		}
	}
	if j.w.Op.Grant == nil {
		j.w.Op.Grant = &lcm.Grant{}
	}
	granted := maps.Clone(j.w.Op.Grant.Images)
	if granted == nil {
		granted = map[string]string{}
	}
	for _, n := range missing {
		granted[n.node] = ids[at(n.image.Name)]
	}
	j.w.Op.Grant.Images = granted
	return nil
}

// recordedImage finds the image of a step that an earlier tick finished.
func (j *job) recordedImage(img *vnfd.SwImage, found func() ([]image, error)) (string, error) {
	all, err := found()
	if err != nil {
		return "", err
	}
	for _, i := range all {
		if i.is(j.tagOf(img)) && i.Status == active {
			return i.ID, nil
		}
	}
	return "", lcm.Errorf(lcm.CodeUpstream, "the image %s was uploaded to %s and is not there any more", img.Name, j.conn.base).
		WithHint("roll the operation back and start it again")
}

// uploading is the checkpoint of the step that uploads an image.
type uploading struct {
	// ID is the image's; it is recorded before any data is sent.
	ID string `json:"id"`
	// Node and Process say who sends the data, Beat when it last said so.
	Node    string    `json:"node"`
	Process string    `json:"process"`
	Since   time.Time `json:"since"`
	Beat    time.Time `json:"beat"`
}

// beatLimit is how long the sender of an image may be silent before it counts as dead, where nobody can tell.
const beatLimit = time.Minute

// imageUploaded is one look at an image, and what follows from it. found lists the instance's images. Data is sent in the
// background, because an image can take longer than a tick.
func (j *job) imageUploaded(ctx context.Context, s *lcm.Step, img *vnfd.SwImage, found func() ([]image, error)) (string, error) {
	var cp uploading
	if _, err := s.Load(&cp); err != nil {
		return "", fmt.Errorf("read the step's checkpoint: %w", err)
	}
	if cp.ID != "" && cp.Process == j.uploads.id() {
		if u := j.uploads.get(cp.ID); u != nil {
			return j.ownUpload(ctx, s, img, cp, u)
		}
	}
	all, err := found()
	if err != nil {
		return "", err
	}
	for _, i := range all {
		if i.is(j.tagOf(img)) && i.Status == active {
			return i.ID, nil
		}
	}
	if cp.ID != "" && j.elsewhere(ctx, cp) && slices.ContainsFunc(all, func(i image) bool { return i.ID == cp.ID }) {
		return "", lcm.Wait(3*time.Second, fmt.Sprintf("node %s is uploading image %s", cp.Node, img.Name))
	}
	for _, i := range all { // half of what a dead predecessor wanted to make
		if i.is(j.tagOf(img)) {
			if err := j.deleteImage(ctx, i.ID); err != nil {
				return "", err
			}
		}
	}
	return j.startUpload(ctx, s, img)
}

// elsewhere says whether another node may still be sending.
func (j *job) elsewhere(ctx context.Context, cp uploading) bool {
	switch {
	case cp.Node == j.w.Op.Node: // this node, before it was restarted
		return false
	case j.cfg.NodeAlive != nil:
		return j.cfg.NodeAlive(ctx, cp.Node)
	}
	return j.w.Clock.Now().Sub(cp.Beat) < beatLimit
}

// atOnce is how long a tick stays with an upload that it has begun: small images are there by then.
const atOnce = 100 * time.Millisecond

func (j *job) startUpload(ctx context.Context, s *lcm.Step, img *vnfd.SwImage) (string, error) {
	f, err := j.w.Package.Open(img.File)
	if err != nil {
		return "", lcm.Errorf(lcm.CodeUnprocessable, "the package's image %s cannot be read: %w", img.File, err)
	}
	id, err := j.createImage(ctx, img)
	if err == nil {
		now := j.w.Clock.Now()
		err = s.Save(ctx, uploading{ID: id, Node: j.w.Op.Node, Process: j.uploads.id(), Since: now, Beat: now})
	}
	if err != nil {
		_ = f.Close()
		return "", err
	}
	u := j.uploads.start(ctx, j.session, id, img.Name, f)
	if !u.within(ctx, atOnce) {
		return "", lcm.Wait(atOnce, "uploading image "+img.Name)
	}
	j.uploads.forget(id)
	return id, u.err
}

// ownUpload follows an upload of this process.
func (j *job) ownUpload(ctx context.Context, s *lcm.Step, img *vnfd.SwImage, cp uploading, u *upload) (string, error) {
	over, err := u.result()
	now := j.w.Clock.Now()
	if !over {
		if now.Sub(cp.Beat) > beatLimit/4 {
			cp.Beat = now
			if err := s.Save(ctx, cp); err != nil {
				return "", err
			}
		}
		return "", lcm.Wait(min(max(now.Sub(cp.Since)/2, atOnce), time.Second), fmt.Sprintf("uploading image %s, %s", img.Name, u.progress()))
	}
	j.uploads.forget(cp.ID)
	if err != nil {
		return "", err // the next attempt finds the half image and begins again
	}
	return cp.ID, nil
}

// createImage makes the record of an image, private and tagged with the instance and its content, before its data.
func (j *job) createImage(ctx context.Context, img *vnfd.SwImage) (string, error) {
	body := map[string]any{
		"name": img.Name, "visibility": "private", "tags": []string{j.w.Instance.ID, j.tagOf(img)},
		"disk_format": first(img.DiskFormat, "qcow2"), "container_format": first(img.ContainerFormat, "bare"),
		"min_disk": roundUp(img.MinDiskBytes, 1_000_000_000, 1<<30), "min_ram": roundUp(img.MinRAMBytes, 1_000_000, 1<<20),
	}
	var out image
	err := j.do(ctx, call{what: "create image " + img.Name, service: glance, method: http.MethodPost, path: "/images", in: body, out: &out})
	return out.ID, err
}

// roundUp converts bytes to Glance's GiB or MiB. Descriptors mean 1000 as often as 1024: a whole multiple of the decimal unit counts as
// that many.
func roundUp(n, decimal, binary int64) int64 {
	if n%binary != 0 && n%decimal == 0 {
		return n / decimal
	}
	return (n + binary - 1) / binary
}

// deleteImage deletes an image; one that is gone is as good.
func (j *job) deleteImage(ctx context.Context, id string) error {
	j.uploads.cancel(id)
	err := j.do(ctx, call{what: "delete image " + id, service: glance, method: http.MethodDelete, path: "/images/" + segment(id)})
	if notFound(err) {
		return nil
	}
	return err
}
