package vnfpkgm

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// The openstack command sends no Version header, which the standard requires, and prints answers as they are. For it
// they have the values that Tacker's have: formats and hash algorithms of images as a VIM and a VNFD have them, their
// creation time with a space, and links that are paths of this server.

// unversioned says that a request was sent by the openstack command.
func (m *major) unversioned(r *frame.Request) bool {
	return m.optional && len(r.Header.Values("Version")) == 0 && r.FromTackerClient()
}

// unversionedMark is in the entity tags of these answers, because another form has another tag.
const unversionedMark = "unversioned"

// linkOf is the URL of a path in links: absolute, or only the path for a client of Tacker.
func (m *major) linkOf(r *frame.Request, path string) string {
	link := r.Public(path)
	if !m.unversioned(r) {
		return link
	}
	u, err := url.Parse(link)
	if err != nil {
		return path // the setting has been checked
	}
	return u.EscapedPath()
}

// respell gives the images of a package the values that clients of Tacker print.
func respell(info *sol.VnfPkgInfo) {
	for n := range info.SoftwareImages {
		i := &info.SoftwareImages[n]
		i.ContainerFormat, i.DiskFormat = strings.ToLower(i.ContainerFormat), strings.ToLower(i.DiskFormat)
		i.Checksum.Algorithm = strings.ToLower(i.Checksum.Algorithm)
	}
}

// unversionedInfo is the JSON of a package for a client of Tacker.
type unversionedInfo struct {
	sol.VnfPkgInfo
	SoftwareImages []unversionedImage `json:"softwareImages,omitempty"`
}

// unversionedImage has createdAt in another form, and always an imagePath.
type unversionedImage struct {
	image
	CreatedAt string `json:"createdAt"`
	ImagePath string `json:"imagePath"`
}

// image is an image without the methods for its JSON.
type image sol.VnfPackageSoftwareImageInfo

// spaced is the form of times: that of RFC 3339 with a space, and the offset of UTC.
const spaced = "2006-01-02 15:04:05-07:00"

// form returns a package, or what was selected of it, as the client of the request expects it.
func (m *major) form(r *frame.Request, info sol.VnfPkgInfo) any {
	if !m.unversioned(r) {
		return info
	}
	out := unversionedInfo{VnfPkgInfo: info}
	for _, i := range info.SoftwareImages {
		out.SoftwareImages = append(out.SoftwareImages, unversionedImage{
			image: image(i), CreatedAt: i.CreatedAt.In(time.UTC).Format(spaced), ImagePath: i.ImagePath,
		})
	}
	return out
}

// varies says that the answer depends on the Version header.
func (m *major) varies(w http.ResponseWriter) {
	if m.optional {
		w.Header().Add("Vary", "Version, User-Agent")
	}
}
