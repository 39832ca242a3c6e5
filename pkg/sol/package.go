package sol

import "time"

// VnfPkgInfo is a VNF package resource (SOL003 §10.5.2.2, SOL005 §9.5.2.5).
// OnboardingFailureDetails comes from SOL005: it keeps the reason of the last
// failed onboarding. UserDefinedData and the metadata of images and artifacts may be
// empty: clients of Tacker print them as {}.
type VnfPkgInfo struct {
	ID                              string                        `json:"id"`
	VnfdID                          string                        `json:"vnfdId,omitempty"`
	VnfProvider                     string                        `json:"vnfProvider,omitempty"`
	VnfProductName                  string                        `json:"vnfProductName,omitempty"`
	VnfSoftwareVersion              string                        `json:"vnfSoftwareVersion,omitempty"`
	VnfdVersion                     string                        `json:"vnfdVersion,omitempty"`
	CompatibleSpecificationVersions []string                      `json:"compatibleSpecificationVersions,omitempty"`
	Checksum                        *Checksum                     `json:"checksum,omitempty"`
	PackageSecurityOption           string                        `json:"packageSecurityOption,omitempty"`
	SigningCertificate              string                        `json:"signingCertificate,omitempty"`
	SoftwareImages                  []VnfPackageSoftwareImageInfo `json:"softwareImages,omitempty"`
	AdditionalArtifacts             []VnfPackageArtifactInfo      `json:"additionalArtifacts,omitempty"`
	OnboardingState                 PackageOnboardingState        `json:"onboardingState"`
	OperationalState                PackageOperationalState       `json:"operationalState"`
	UsageState                      PackageUsageState             `json:"usageState"`
	VnfmInfo                        []string                      `json:"vnfmInfo,omitempty"`
	UserDefinedData                 KeyValuePairs                 `json:"userDefinedData,omitzero"`
	OnboardingFailureDetails        *ProblemDetails               `json:"onboardingFailureDetails,omitempty"`
	Warnings                        []VnfPkgWarning               `json:"warnings,omitempty"`
	Links                           *VnfPkgInfoLinks              `json:"_links,omitempty"`
}

// VnfPkgWarning is a defect of a package that concerns only operations that may never be requested, or none. It is an
// extension of the standard: a request that meets the defect is refused with its text.
type VnfPkgWarning struct {
	Code       string   `json:"code,omitempty"`
	Subject    string   `json:"subject,omitempty"`
	FlavourID  string   `json:"flavourId,omitempty"`
	Location   string   `json:"location,omitempty"`
	Text       string   `json:"text"`
	Remedy     string   `json:"remedy,omitempty"`
	Operations []string `json:"operations,omitempty"`
}

// VnfPkgInfoLinks (inline in the standard).
type VnfPkgInfoLinks struct {
	Self           Link  `json:"self"`
	Vnfd           *Link `json:"vnfd,omitempty"`
	PackageContent Link  `json:"packageContent"`
}

// VnfPackageSoftwareImageInfo describes a software image of a package. MinDisk,
// MinRam and Size are bytes, as the standard asks. One of ImagePath (inside the
// package) and ImageURI is set.
type VnfPackageSoftwareImageInfo struct {
	ID              string        `json:"id"`
	Name            string        `json:"name"`
	Provider        string        `json:"provider"`
	Version         string        `json:"version"`
	Checksum        Checksum      `json:"checksum"`
	IsEncrypted     bool          `json:"isEncrypted"`
	ContainerFormat string        `json:"containerFormat"`
	DiskFormat      string        `json:"diskFormat"`
	CreatedAt       time.Time     `json:"createdAt"`
	MinDisk         int64         `json:"minDisk"`
	MinRam          int64         `json:"minRam"`
	Size            int64         `json:"size"`
	UserMetadata    KeyValuePairs `json:"userMetadata,omitzero"`
	ImagePath       string        `json:"imagePath,omitempty"`
	ImageURI        string        `json:"imageUri,omitempty"`
}

// VnfPackageArtifactInfo describes an artifact of a package that is neither a
// software image nor part of the VNFD.
type VnfPackageArtifactInfo struct {
	ArtifactPath           string        `json:"artifactPath,omitempty"`
	ArtifactURI            string        `json:"artifactURI,omitempty"`
	Checksum               Checksum      `json:"checksum"`
	IsEncrypted            bool          `json:"isEncrypted"`
	NonManoArtifactSetID   string        `json:"nonManoArtifactSetId,omitempty"`
	ArtifactClassification string        `json:"artifactClassification,omitempty"`
	Metadata               KeyValuePairs `json:"metadata,omitzero"`
}

// CreateVnfPkgInfoRequest creates a package resource without content (SOL005).
type CreateVnfPkgInfoRequest struct {
	UserDefinedData KeyValuePairs `json:"userDefinedData,omitempty"`
}

// VnfPkgInfoModifications is the body of PATCH on a package and of its answer
// (SOL005). UserDefinedData is a merge patch: a nil value deletes the key.
type VnfPkgInfoModifications struct {
	OperationalState PackageOperationalState `json:"operationalState,omitempty"`
	UserDefinedData  KeyValuePairs           `json:"userDefinedData,omitempty"`
}

// UploadVnfPackageFromUriRequest asks to fetch the content from a URI (SOL005).
// UserName and Password are those of SOL005 v2.6.1.
type UploadVnfPackageFromUriRequest struct {
	AddressInformation            string                         `json:"addressInformation"`
	AuthType                      string                         `json:"authType,omitempty"`
	UserName                      string                         `json:"userName,omitempty"`
	Password                      string                         `json:"password,omitempty"`
	ParamsOauth2ClientCredentials *ParamsOauth2ClientCredentials `json:"paramsOauth2ClientCredentials,omitempty"`
}
