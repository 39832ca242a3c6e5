package vnfpkg

import (
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/csar"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// describe returns the public description of a package's content (SOL005 VnfPkgInfo).
func (c *Contents) describe(now time.Time) *Onboarded {
	o := &Onboarded{
		Provider: c.VNFD.Provider, ProductName: c.VNFD.ProductName, SoftwareVersion: c.VNFD.SoftwareVersion,
		VnfdVersion: c.VNFD.Version, VnfmInfo: c.VNFD.VnfmInfo, CompatibleVersions: c.Info.CompatibleVersions,
		VnfdFiles: c.VnfdFiles, Warnings: c.Warnings, Signature: c.Signature,
	}
	// Images of OS containers have no disk format, which VnfPackageSoftwareImageInfo requires. Their files are listed
	// as artifacts.
	for _, f := range c.VNFD.Flavours {
		for _, v := range f.VDUs {
			o.addImage(c.image(v.Name, v.Image, now))
		}
		for _, s := range f.Storages {
			o.addImage(c.image(s.Name, s.Image, now))
		}
	}
	for _, a := range c.Report.Artifacts {
		if c.isArtifact(o, a) {
			o.Artifacts = append(o.Artifacts, sol.VnfPackageArtifactInfo{
				ArtifactPath: a.Path, Checksum: sol.Checksum{Algorithm: a.Algorithm, Hash: a.Hash},
				NonManoArtifactSetID: a.Set, ArtifactClassification: classification(a.Path),
			})
		}
	}
	c.describeExternal(o)
	return o
}

// describeExternal adds artifacts on other servers (SOL005 clause 9.5.3.3, artifactURI): those of the metadata with
// their checksum, and those that only the VNFD names. Gybe does not download them, so they have no path. The checksum
// of an image is the image's if the VNFD has none.
func (c *Contents) describeExternal(o *Onboarded) {
	add := func(a sol.VnfPackageArtifactInfo) {
		for i := range o.Images {
			if img := &o.Images[i]; img.ImageURI == a.ArtifactURI {
				if img.Checksum.Hash == "" {
					img.Checksum = a.Checksum
				}
				return
			}
		}
		if !slices.ContainsFunc(o.Artifacts, func(other sol.VnfPackageArtifactInfo) bool {
			return other.ArtifactURI == a.ArtifactURI
		}) {
			o.Artifacts = append(o.Artifacts, a)
		}
	}
	for _, e := range c.Info.External {
		add(sol.VnfPackageArtifactInfo{
			ArtifactURI: e.URL, Checksum: sol.Checksum{Algorithm: e.Algorithm, Hash: e.Hash},
			NonManoArtifactSetID: e.Set,
		})
	}
	for _, at := range c.External {
		add(sol.VnfPackageArtifactInfo{ArtifactURI: at})
	}
}

// addImage adds an image unless another flavour's node of the same name has the same.
func (o *Onboarded) addImage(img *sol.VnfPackageSoftwareImageInfo) {
	if img == nil || slices.ContainsFunc(o.Images, func(other sol.VnfPackageSoftwareImageInfo) bool {
		return other.ID == img.ID && other.Name == img.Name && other.ImagePath == img.ImagePath &&
			other.ImageURI == img.ImageURI && other.Checksum == img.Checksum && other.Size == img.Size
	}) {
		return
	}
	o.Images = append(o.Images, *img)
}

// image describes the image of a node, nil when it has none. Where the VNFD has no checksum, the file's is given.
func (c *Contents) image(node string, img *vnfd.SwImage, now time.Time) *sol.VnfPackageSoftwareImageInfo {
	if img == nil {
		return nil
	}
	sum := sol.Checksum{Algorithm: img.ChecksumAlgorithm, Hash: img.ChecksumHash}
	if sum.Hash == "" && img.File != "" {
		sum = sol.Checksum{Algorithm: imageAlgorithm(*img), Hash: c.Report.Sums[csar.Sum{
			Path: img.File, Algorithm: imageAlgorithm(*img),
		}]}
	}
	return &sol.VnfPackageSoftwareImageInfo{
		ID: node, Name: img.Name, Provider: img.Provider, Version: img.Version, Checksum: sum, CreatedAt: now,
		// The VNFD has the VIM's spelling, the interface another.
		ContainerFormat: strings.ToUpper(img.ContainerFormat), DiskFormat: strings.ToUpper(img.DiskFormat),
		MinDisk: img.MinDiskBytes, MinRam: img.MinRAMBytes, Size: img.SizeBytes, ImagePath: img.File,
		ImageURI: img.URI,
	}
}

// isArtifact leaves out what is an image, part of the VNFD, or metadata of the archive.
func (c *Contents) isArtifact(o *Onboarded, a csar.Artifact) bool {
	switch {
	case slices.Contains(c.VnfdFiles, a.Path), a.Path == csar.MetaPath, a.Path == c.Info.Manifest,
		a.Path == c.Info.Certificate:
		return false
	}
	return !slices.ContainsFunc(o.Images, func(i sol.VnfPackageSoftwareImageInfo) bool { return i.ImagePath == a.Path })
}

// classification is that of SOL004's fixed folders and files.
func classification(path string) string {
	switch dir, file, _ := strings.Cut(path, "/"); {
	case strings.EqualFold(path, "ChangeLog.txt"), strings.EqualFold(dir, "Files") &&
		strings.EqualFold(file, "ChangeLog.txt"):
		return "HISTORY"
	case file != "" && (strings.EqualFold(dir, "Tests") || strings.HasPrefix(strings.ToLower(file), "tests/")):
		return "TESTING"
	case file != "" && (strings.EqualFold(dir, "Licenses") || strings.HasPrefix(strings.ToLower(file), "licenses/")):
		return "LICENSE"
	}
	return ""
}
