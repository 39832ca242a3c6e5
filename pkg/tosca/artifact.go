package tosca

import (
	"net/url"
	"path"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// artifact is one artifact of a node, its file resolved to a path from the package's root.
type artifact struct {
	name, typ string
	file      string
	at        value
	data      value  // its properties
	uri       string // of a file on another server
	outside   *Error // why it is not a file of the package; nil if it is, or if it has no file
}

// artifacts returns the artifacts of a node, then those that its types declare and it does not override.
func (p *parser) artifacts(n *node) []artifact {
	var (
		all  []artifact
		seen = map[string]bool{}
	)
	add := func(pairs []pair) {
		for _, a := range pairs {
			if !seen[a.key] {
				seen[a.key] = true
				all = append(all, p.artifact(n, a))
			}
		}
	}
	add(n.value.get("artifacts").pairs())
	for _, typ := range p.types.chain(n.typ) {
		add(p.types.defs[typ].get("artifacts").pairs())
	}
	return all
}

// artifact reads one of a node: {type: …, file: …} or only a path.
func (p *parser) artifact(n *node, a pair) artifact {
	out := artifact{
		name: a.key, typ: a.value.get("type").text(), at: a.value.get("file"), data: a.value.get("properties"),
	}
	if a.value.isScalar() {
		out.at = a.value
	}
	if out.typ == "" && a.key == "sw_image" {
		out.typ = typeSwImage
	}
	switch {
	case p.types.is(out.typ, typeHelmChart):
		if out.file = p.chartFolder(out.at); out.file != "" {
			return out
		}
	case p.types.is(n.typ, typeOsContainer) && p.types.is(out.typ, typeSwImage):
		// An image of an OS container is a file of the package, or a reference to one in a registry. The cluster pulls
		// it, so both are possible and neither is opened.
		if text := strings.TrimSpace(out.at.text()); strings.Contains(text, "://") {
			out.uri = addressOf(text)
		} else if text != "" {
			out.file, _ = p.locate(out.at.doc, text)
		}
		return out
	}
	out.file, out.outside = p.artifactFile(out.at, a.key)
	if out.outside != nil {
		out.uri = addressOf(out.at.text())
	}
	return out
}

// chartFolder is the folder of a Helm chart that is not packed into an archive, "" if there is none.
func (p *parser) chartFolder(v value) string {
	text := strings.TrimSpace(v.text())
	if text == "" || strings.Contains(text, "://") {
		return ""
	}
	file, _ := p.locate(v.doc, path.Join(text, "Chart.yaml"))
	return strings.TrimSuffix(file, "/Chart.yaml")
}

// artifactFile resolves the file of an artifact; "" stays "". A URL, and a path that leads out of the package, are
// never opened: they matter to operations that need the artifact, if there are any. A file that is not in the package
// is a defect of the package.
func (p *parser) artifactFile(v value, name string) (file string, outside *Error) {
	const remedy = "put the file in the package, and give its path there; nothing is fetched"
	text := strings.TrimSpace(v.text())
	if text == "" {
		return "", nil
	}
	if strings.Contains(text, "://") {
		return "", v.fail(MissingArtifact, remedy,
			"the artifact %s is at %q, outside of the package", name, clip(withoutUser(text)))
	}
	file, isOutside := p.locate(v.doc, text)
	switch {
	case isOutside && !strings.Contains(text, `\`):
		return "", v.fail(
			MissingArtifact, remedy, "the file %q of the artifact %s leads out of the package", clip(text), name,
		)
	case file == "":
		p.add(v.fail(
			MissingArtifact,
			"give its path from this file or from the package's root; leave the artifact out when it is an image "+
				"that the VIM has already",
			"the file %q of the artifact %s is not in the package", clip(text), name))
	}
	return file, nil
}

const (
	// maxExternal limits the addresses of artifacts on other servers that are shown.
	maxExternal = 100
	// maxAddress is the length in bytes of an address that is shown.
	maxAddress = 2048
)

// addExternal notes that an artifact, which is no software image, is on another server.
func (p *parser) addExternal(v value) {
	if at := addressOf(v.text()); at != "" && len(p.external) < maxExternal {
		p.external = appendUnique(p.external, at)
	}
}

// addressOf is the URL of a file on another server, without user and password; "" for other and too long texts.
func addressOf(text string) string {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Scheme == "" || u.Host == "" || len(text) > maxAddress {
		return ""
	}
	u.User = nil
	return u.String()
}

// withoutUser removes the user and the password of a URL.
func withoutUser(text string) string {
	scheme, rest, _ := strings.Cut(text, "://")
	host, rest, hasPath := strings.Cut(rest, "/")
	if i := strings.LastIndex(host, "@"); i >= 0 {
		host = host[i+1:]
	}
	if hasPath {
		host += "/" + rest
	}
	return scheme + "://" + host
}

// creating are the operations that create machines and volumes from images.
var creating = []string{"INSTANTIATE", "SCALE", "SCALE_TO_LEVEL", "HEAL", "CHANGE_FLAVOUR", "CHANGE_VNFPKG"}

// image reads the software image of a VDU, container or storage: sw_image_data and the SwImage artifact.
func (r *flavourReader) image(n *node) *vnfd.SwImage {
	data := r.property(n, "sw_image_data")
	var file *artifact
	for _, a := range r.artifacts(n) {
		if a.typ != typeSwImage && !r.types.is(a.typ, typeSwImage) {
			if a.outside != nil {
				r.warn(a.outside)
				r.addExternal(a.at)
			}
			continue
		}
		if file != nil {
			r.add(a.at.fail(DuplicateImage, "a VDU, container or storage has one image",
				"the node %s has two software images: %s and %s", n.name, file.name, a.name))
			continue
		}
		file = &a
	}
	if !data.ok() && file != nil {
		data = file.data // later versions of SOL001 have the data of the image in the artifact
	}
	if !data.ok() {
		if file != nil {
			r.add(n.fail(
				MissingValue, "", "the node %s has the software image %s, but no sw_image_data", n.name, file.name,
			))
		}
		return nil
	}
	text := func(key string) string { return r.resolve(r.t, data.get(key)).text() }
	size := func(key string) int64 { return r.size(r.resolve(r.t, data.get(key)), key+" of the image of "+n.name) }
	img := &vnfd.SwImage{
		Name: text("name"), Version: text("version"), Provider: text("provider"),
		ContainerFormat: text("container_format"), DiskFormat: text("disk_format"),
		MinDiskBytes: size("min_disk"), MinRAMBytes: size("min_ram"), SizeBytes: size("size"),
	}
	if img.Name == "" {
		r.add(data.fail(MissingValue, "", "the software image of the node %s has no name", n.name))
	}
	r.imageChecksum(img, data.get("checksum"))
	if file != nil {
		img.File, img.URI = file.file, file.uri
		if file.outside != nil {
			e := *file.outside
			e.Hint = "put the file in the package, or create an image with the name " + clip(img.Name) + " in the VIM"
			r.postpone(&e, n.name, creating...)
		}
	}
	return img
}

// imageChecksum reads {algorithm, hash}, or the bare hash of older versions of SOL001.
func (r *flavourReader) imageChecksum(img *vnfd.SwImage, v value) {
	v = r.resolve(r.t, v)
	if v.isScalar() {
		img.ChecksumHash = strings.ToLower(strings.TrimSpace(v.text()))
		return
	}
	img.ChecksumHash = strings.ToLower(strings.TrimSpace(r.resolve(r.t, v.get("hash")).text()))
	img.ChecksumAlgorithm = normalAlgorithm(r.resolve(r.t, v.get("algorithm")).text())
}

// normalAlgorithm returns one spelling for sha512, SHA-512 and similar names.
func normalAlgorithm(name string) string {
	plain := strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
	if digits, ok := strings.CutPrefix(plain, "sha"); ok {
		return "sha-" + digits
	}
	return plain
}
