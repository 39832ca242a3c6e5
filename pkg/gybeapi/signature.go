package gybeapi

import "time"

// PackageSignature is what the signatures of a VNF package say (SOL004 clause 5).
type PackageSignature struct {
	State  string `json:"state"`  // TRUSTED, UNSIGNED, FAILED or NOT_CHECKED
	Option string `json:"option"` // OPTION_1 or OPTION_2
	// Checked is when the package was onboarded; zero when nothing was checked.
	Checked time.Time        `json:"checked,omitzero"`
	Signers []PackageSigner  `json:"signers"`
	Checks  []SignatureCheck `json:"checks"`
}

// PackageSigner is one signature of a package.
type PackageSigner struct {
	Signs           string    `json:"signs"`
	Subject         string    `json:"subject,omitempty"`
	Issuer          string    `json:"issuer,omitempty"`
	Serial          string    `json:"serial,omitempty"`
	Fingerprint     string    `json:"fingerprint,omitempty"`
	Root            string    `json:"root,omitempty"`
	RootFingerprint string    `json:"rootFingerprint,omitempty"`
	Algorithm       string    `json:"algorithm"`
	SigningTime     time.Time `json:"signingTime,omitzero"`
	Trusted         bool      `json:"trusted"`
}

// SignatureCheck is one check of the signatures of a package.
type SignatureCheck struct {
	Name    string `json:"name"`
	Outcome string `json:"outcome"` // passed, warning, failed or skipped
	Subject string `json:"subject,omitempty"`
	Detail  string `json:"detail"`
	Hint    string `json:"hint,omitempty"`
}
