package vnfpkg

import (
	"cmp"
	"slices"
	"time"

	"github.com/gybe-nfv/gybe/pkg/content"
	"github.com/gybe-nfv/gybe/pkg/csar"
	"github.com/gybe-nfv/gybe/pkg/csar/signature"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Package is a VNF package resource (SOL005 VnfPkgInfo) with internal values.
type Package struct {
	ID      string // UUID
	Project string // set by the store
	Version int64  // grows with every change that users can see; the ETag
	Created time.Time
	Updated time.Time
	// Shared packages can be used by all projects, and changed by their own. They are ONBOARDED.
	Shared bool

	OnboardingState  sol.PackageOnboardingState
	OperationalState sol.PackageOperationalState
	// UsageState is computed by the store from the instances that refer to the package; writing it has no effect.
	UsageState      sol.PackageUsageState
	UserDefinedData sol.KeyValuePairs

	// Upload is set while the package is UPLOADING by a request.
	Upload *Upload
	// Source and Download are set while the package is UPLOADING from an address. Source has secrets.
	Source   *sol.UploadVnfPackageFromUriRequest
	Download *Download
	// Content is the archive that the package needs: from before it is published until the package releases it.
	Content *Content
	// VnfdID is set while the package is ONBOARDED; no two such packages of a project have the same.
	VnfdID string
	// Onboarded describes the content while the package is ONBOARDED, and counts the attempts while it is PROCESSING.
	Onboarded *Onboarded
	// Failure is the reason why the last content was rejected, or why the last attempt to onboard it failed.
	Failure *sol.ProblemDetails
}

// Upload is an upload in progress.
type Upload struct {
	// Token distinguishes this upload from a later one to the same package.
	Token string
	// LeaseUntil is when the upload counts as abandoned unless it is renewed before.
	LeaseUntil time.Time
}

// Content is a stored archive.
type Content struct {
	// Digest is the name of the archive in the content store.
	Digest string `json:"digest"`
	// Size is in bytes.
	Size int64 `json:"size"`
}

// Onboarded describes the content of an onboarded package.
type Onboarded struct {
	Provider        string   `json:"provider"`
	ProductName     string   `json:"productName"`
	SoftwareVersion string   `json:"softwareVersion"`
	VnfdVersion     string   `json:"vnfdVersion"`
	VnfmInfo        []string `json:"vnfmInfo,omitempty"`
	// CompatibleVersions are the SOL004 versions that the manifest claims.
	CompatibleVersions []string `json:"compatibleVersions,omitempty"`
	// VnfdFiles are the paths of the files that make up the VNFD, the main file first.
	VnfdFiles []string                          `json:"vnfdFiles"`
	Images    []sol.VnfPackageSoftwareImageInfo `json:"images,omitempty"`
	Artifacts []sol.VnfPackageArtifactInfo      `json:"artifacts,omitempty"`
	// Texts are the warnings of a package that an earlier release has onboarded.
	Texts []string `json:"warnings,omitempty"`
	// Warnings are defects that concern only operations that may never be requested, or none.
	Warnings []vnfd.Warning `json:"defects,omitempty"`
	// IgnoredDrivers are mgmt drivers that the VNFD names and that do not exist here: the upload says to ignore them.
	IgnoredDrivers []string `json:"ignoredDrivers,omitempty"`
	// Signature is the result of checking the signatures; nil for packages of earlier releases.
	Signature *signature.Result `json:"signature,omitempty"`
	// Attempts counts the attempts to onboard the package while it is PROCESSING; it is the only value that is set
	// then.
	Attempts int `json:"attempts,omitempty"`
}

// Info is the package as its users see it, without links.
func (p *Package) Info() sol.VnfPkgInfo {
	info := sol.VnfPkgInfo{
		ID: p.ID, OnboardingState: p.OnboardingState, OperationalState: p.OperationalState, UsageState: p.UsageState,
		UserDefinedData: p.UserDefinedData, OnboardingFailureDetails: p.Failure,
	}
	if info.UserDefinedData == nil {
		info.UserDefinedData = sol.KeyValuePairs{}
	}
	if p.OnboardingState != sol.PackageOnboardingStateOnboarded || p.Onboarded == nil {
		return info
	}
	o := p.Onboarded
	info.VnfdID, info.VnfProvider, info.VnfProductName = p.VnfdID, o.Provider, o.ProductName
	info.VnfSoftwareVersion, info.VnfdVersion, info.VnfmInfo = o.SoftwareVersion, o.VnfdVersion, o.VnfmInfo
	info.CompatibleSpecificationVersions = o.CompatibleVersions
	info.PackageSecurityOption = signature.Option1 // hashes of single files
	if s := o.Signature; s != nil {
		info.PackageSecurityOption = cmp.Or(s.Option, signature.Option1)
		info.SigningCertificate = s.SigningCertificate
	}
	info.SoftwareImages, info.AdditionalArtifacts = slices.Clone(o.Images), slices.Clone(o.Artifacts)
	for i := range info.SoftwareImages {
		info.SoftwareImages[i].UserMetadata = sol.KeyValuePairs{}
		spell(&info.SoftwareImages[i].Checksum)
	}
	for i := range info.AdditionalArtifacts {
		info.AdditionalArtifacts[i].Metadata = sol.KeyValuePairs{}
		spell(&info.AdditionalArtifacts[i].Checksum)
	}
	info.Warnings = o.warnings()
	if p.Content != nil {
		info.Checksum = &sol.Checksum{Algorithm: content.Algorithm, Hash: p.Content.Digest}
	}
	return info
}

// spell gives an algorithm the name that SOL004 has for it. Packages use others, and rows from before have them.
func spell(sum *sol.Checksum) {
	if name, ok := csar.Algorithm(sum.Algorithm); ok {
		sum.Algorithm = name
	}
}

// serves says whether a file of the package may be downloaded by its path: artifacts and images, not everything.
func (o *Onboarded) serves(path string) (sol.Checksum, bool) {
	if i := slices.IndexFunc(o.Artifacts, func(a sol.VnfPackageArtifactInfo) bool {
		return a.ArtifactPath == path
	}); i >= 0 && path != "" {
		return o.Artifacts[i].Checksum, true
	}
	if i := slices.IndexFunc(o.Images, func(m sol.VnfPackageSoftwareImageInfo) bool {
		return m.ImagePath == path
	}); i >= 0 && path != "" {
		return o.Images[i].Checksum, true
	}
	return sol.Checksum{}, false
}
