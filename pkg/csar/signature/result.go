package signature

import (
	"slices"
	"time"
)

// Policy is how signatures decide about packages.
type Policy string

// The policies.
const (
	Require Policy = "require" // a package is rejected unless it is Trusted
	Warn    Policy = "warn"    // the result is kept with the package
	Off     Policy = "off"     // signatures are not read
)

// State is the result of all checks together.
type State string

// The states.
const (
	Trusted    State = "TRUSTED"     // signed by a trusted signer, and no check failed
	Unsigned   State = "UNSIGNED"    // the package has no signature
	Failed     State = "FAILED"      // it has one, and a check failed
	NotChecked State = "NOT_CHECKED" // the policy is Off
)

// The security options of SOL004.
const (
	Option1 = "OPTION_1"
	Option2 = "OPTION_2"
)

// Result is what the signatures of a package say.
type Result struct {
	State State `json:"state"`
	// Option is the security option of the package; OPTION_1 also for a package without signature.
	Option string `json:"option"`
	// Checked is when the checks were made, and for which certificates have to be valid.
	Checked time.Time `json:"checked"`
	// Signers have signed the package or one of its artifacts.
	Signers []Signer `json:"signers,omitempty"`
	Checks  []Check  `json:"checks,omitempty"`
	// SigningCertificate is the signer's certificate in PEM if the package has it in a file of its own.
	SigningCertificate string `json:"signingCertificate,omitempty"`
}

// Signer is one signature.
type Signer struct {
	// Signs is the signed file: the manifest, the archive in a container, or an artifact.
	Signs string `json:"signs"`
	// Subject, Issuer, Serial and Fingerprint (SHA-256) name the certificate; empty when it is missing.
	Subject     string `json:"subject,omitempty"`
	Issuer      string `json:"issuer,omitempty"`
	Serial      string `json:"serial,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	// Root and RootFingerprint name the certificate of the trust store at the end of the chain.
	Root            string `json:"root,omitempty"`
	RootFingerprint string `json:"rootFingerprint,omitempty"`
	Algorithm       string `json:"algorithm"`
	// SigningTime is what the signer claims.
	SigningTime *time.Time `json:"signingTime,omitempty"`
	// Trusted means that the signature is intact and the certificate valid and trusted.
	Trusted bool `json:"trusted"`
}

// Outcome is the result of one check.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "passed"
	Warning Outcome = "warning" // does not matter for the state
	Failure Outcome = "failed"
	Skipped Outcome = "skipped"
)

// The names of checks.
const (
	CheckSignature   = "signature"   // the signature exists and covers the content
	CheckCertificate = "certificate" // the signer's certificate is valid and may sign
	CheckTrust       = "trust"       // its chain ends in the trust store
	CheckRevocation  = "revocation"  // no certificate of the chain is revoked
	CheckCoverage    = "coverage"    // the signed manifest lists all files with hashes
	CheckDigests     = "digests"     // the files have the listed hashes
	CheckArtifact    = "artifact"    // the signature of a single artifact
)

// Check is one check.
type Check struct {
	Name    string  `json:"name"`
	Outcome Outcome `json:"outcome"`
	// Subject is the file or certificate that was checked.
	Subject string `json:"subject,omitempty"`
	Detail  string `json:"detail"`
	Hint    string `json:"hint,omitempty"`
}

// Problem returns the check that explains why the package is not Trusted; nil when it is, or when nothing was checked.
func (r *Result) Problem() *Check {
	if i := slices.IndexFunc(r.Checks, func(c Check) bool { return c.Outcome == Failure }); i >= 0 {
		return &r.Checks[i]
	}
	return nil
}
