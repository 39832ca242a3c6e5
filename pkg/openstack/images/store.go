package images

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Store is the images of one VNF instance in one VIM, for one tick of an operation.
type Store struct {
	Cloud     *cloud.Client
	Execution *lcm.Execution
	Vim       string // the key of the connection in vimConnectionInfo; "" is the primary one
	Uploads   *Uploads
	// NodeAlive tells whether another node of this VNFM runs; nil: an upload of another node counts as dead when it has
	// said nothing for a minute.
	NodeAlive func(ctx context.Context, node string) bool
}

// list lists the images of the instance, the oldest first.
func (m *Store) list(ctx context.Context) ([]cloud.Image, error) {
	return m.Cloud.ListTaggedImages(ctx, m.Execution.Instance.ID)
}

// ContentTag tells an image of the instance by what it is made from. Packages have images of the same name with other
// content: without a checksum every VNFD's is another.
func ContentTag(img *vnfd.SwImage, vnfdID string) string {
	if img.ChecksumHash != "" {
		vnfdID = ""
	}
	h := sha256.New()
	for _, part := range []string{
		img.Name, img.ChecksumAlgorithm, img.ChecksumHash, img.DiskFormat, img.ContainerFormat, vnfdID,
	} {
		_, _ = fmt.Fprintf(h, "%d %s ", len(part), part)
	}
	_, _ = fmt.Fprintf(h, "%d %d", img.MinDiskBytes, img.MinRAMBytes)
	return "gybe-image-" + hex.EncodeToString(h.Sum(nil)[:12])
}

// tagOf is the content tag of an image of the package.
func (m *Store) tagOf(img *vnfd.SwImage) string { return ContentTag(img, m.Execution.VNFD.ID) }

// Provide uploads the images that the grant does not name, and puts their ids into the grant.
func (m *Store) Provide(ctx context.Context, nodes []Node) error {
	var missing []Node
	todo := map[string]*vnfd.SwImage{}
	for _, n := range nodes {
		if m.Execution.Op.Grant == nil || m.Execution.Op.Grant.Images[n.Name] == "" {
			missing = append(missing, n)
			todo[n.Image.Name] = n.Image
		}
	}
	if len(missing) == 0 {
		return nil
	}
	// The list is only made when it is needed: a tick that follows an upload of this process does not need it.
	found := sync.OnceValues(func() ([]cloud.Image, error) { return m.list(ctx) })
	names := slices.Sorted(maps.Keys(todo))
	ids := make([]string, len(names))
	at := func(name string) int { return slices.Index(names, name) }
	err := lcm.Each(ctx, 2, names, func(ctx context.Context, name string) error {
		return m.Execution.Step(ctx, "upload image", m.target(name), func(ctx context.Context, s *lcm.Step) error {
			id, err := m.upload(ctx, s, todo[name], found)
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
			if ids[i], err = m.recorded(todo[name], found); err != nil {
				return err
			}
		}
	}
	if m.Execution.Op.Grant == nil {
		m.Execution.Op.Grant = &lcm.Grant{}
	}
	granted := maps.Clone(m.Execution.Op.Grant.Images)
	if granted == nil {
		granted = map[string]string{}
	}
	for _, n := range missing {
		granted[n.Name] = ids[at(n.Image.Name)]
	}
	m.Execution.Op.Grant.Images = granted
	return nil
}

// target is the target of a step in the VIM.
func (m *Store) target(what string) string {
	if m.Vim == "" {
		return what
	}
	return what + ", " + m.Vim
}

// recorded finds the image of a step that an earlier tick finished.
func (m *Store) recorded(img *vnfd.SwImage, found func() ([]cloud.Image, error)) (string, error) {
	all, err := found()
	if err != nil {
		return "", err
	}
	for _, i := range all {
		if i.HasTag(m.tagOf(img)) && i.Status == cloud.ImageActive {
			return i.ID, nil
		}
	}
	return "", lcm.Errorf(lcm.CodeUpstream, "the image %s was uploaded to %s and is not there any more", img.Name,
		m.Cloud.URL()).
		WithHint("roll the operation back and start it again")
}

// progress is the checkpoint of the step that uploads an image.
type progress struct {
	// ID is the image's; it is recorded before any data is sent.
	ID string `json:"id"`
	// Node and Process say who sends the data, Beat when it last said so.
	Node    string    `json:"node"`
	Process string    `json:"process"`
	Since   time.Time `json:"since"`
	Beat    time.Time `json:"beat"`
}

// BeatLimit is how long the sender of an image may be silent before it counts as dead, where NodeAlive is not set.
const BeatLimit = time.Minute

// upload is one look at an image, and what follows from it. found lists the instance's images. Data is sent in the
// background, because an image can take longer than a tick.
func (m *Store) upload(
	ctx context.Context, s *lcm.Step, img *vnfd.SwImage, found func() ([]cloud.Image, error),
) (string, error) {
	var cp progress
	if _, err := s.Load(&cp); err != nil {
		return "", fmt.Errorf("read the step's checkpoint: %w", err)
	}
	if cp.ID != "" && cp.Process == m.Uploads.ID() {
		if u := m.Uploads.get(cp.ID); u != nil {
			return m.ownUpload(ctx, s, img, cp, u)
		}
	}
	all, err := found()
	if err != nil {
		return "", err
	}
	for _, i := range all {
		if i.HasTag(m.tagOf(img)) && i.Status == cloud.ImageActive {
			return i.ID, nil
		}
	}
	if cp.ID != "" && m.elsewhere(ctx, cp) && slices.ContainsFunc(
		all, func(i cloud.Image) bool { return i.ID == cp.ID },
	) {
		return "", lcm.Wait(3*time.Second, fmt.Sprintf("node %s is uploading image %s", cp.Node, img.Name))
	}
	for _, i := range all { // half of what a dead predecessor wanted to make
		if i.HasTag(m.tagOf(img)) {
			if err := m.Delete(ctx, i.ID); err != nil {
				return "", err
			}
		}
	}
	return m.startUpload(ctx, s, img)
}

// elsewhere says whether another node may still be sending.
func (m *Store) elsewhere(ctx context.Context, cp progress) bool {
	switch {
	case cp.Node == m.Execution.Op.Node: // this node, before it was restarted
		return false
	case m.NodeAlive != nil:
		return m.NodeAlive(ctx, cp.Node)
	}
	return m.Execution.Clock.Now().Sub(cp.Beat) < BeatLimit
}

// atOnce is how long a tick stays with an upload that it has begun: small images are there by then.
const atOnce = 100 * time.Millisecond

func (m *Store) startUpload(ctx context.Context, s *lcm.Step, img *vnfd.SwImage) (string, error) {
	f, err := m.Execution.Package.Open(img.File)
	if err != nil {
		return "", lcm.Errorf(lcm.CodeUnprocessable, "the package's image %s cannot be read: %w", img.File, err)
	}
	id, err := m.create(ctx, img)
	if err == nil {
		now := m.Execution.Clock.Now()
		err = s.Save(ctx, progress{ID: id, Node: m.Execution.Op.Node, Process: m.Uploads.ID(), Since: now, Beat: now})
	}
	if err != nil {
		_ = f.Close()
		return "", err
	}
	u := m.Uploads.start(ctx, m.Cloud, id, img.Name, f)
	if !u.within(ctx, atOnce) {
		return "", lcm.Wait(atOnce, "uploading image "+img.Name)
	}
	m.Uploads.forget(id)
	return id, u.err
}

// ownUpload follows an upload of this process.
func (m *Store) ownUpload(
	ctx context.Context, s *lcm.Step, img *vnfd.SwImage, cp progress, u *transfer,
) (string, error) {
	over, err := u.result()
	now := m.Execution.Clock.Now()
	if !over {
		if now.Sub(cp.Beat) > BeatLimit/4 {
			cp.Beat = now
			if err := s.Save(ctx, cp); err != nil {
				return "", err
			}
		}
		return "", lcm.Wait(min(max(now.Sub(cp.Since)/2, atOnce), time.Second),
			fmt.Sprintf("uploading image %s, %s", img.Name, u.progress()))
	}
	m.Uploads.forget(cp.ID)
	if err != nil {
		return "", err // the next attempt finds the half image and begins again
	}
	return cp.ID, nil
}

// create makes the record of an image, private and tagged with the instance and its content, before its data.
func (m *Store) create(ctx context.Context, img *vnfd.SwImage) (string, error) {
	return m.Cloud.CreateImage(ctx, cloud.NewImage{
		Name: img.Name, Tags: []string{m.Execution.Instance.ID, m.tagOf(img)},
		DiskFormat: cmp.Or(img.DiskFormat, "qcow2"), ContainerFormat: cmp.Or(img.ContainerFormat, "bare"),
		MinDisk: roundUp(img.MinDiskBytes, 1_000_000_000, 1<<30), MinRAM: roundUp(img.MinRAMBytes, 1_000_000, 1<<20),
	})
}

// roundUp converts bytes to Glance's GiB or MiB. Descriptors mean 1000 as often as 1024: a whole multiple of the
// decimal unit counts as that many.
func roundUp(n, decimal, binary int64) int64 {
	if n%binary != 0 && n%decimal == 0 {
		return n / decimal
	}
	return (n + binary - 1) / binary
}

// Delete deletes an image, and stops sending it before that.
func (m *Store) Delete(ctx context.Context, id string) error {
	m.Uploads.cancel(id)
	return m.Cloud.DeleteImage(ctx, id)
}
