// Package signature checks and makes the signatures of VNF packages (ETSI GS NFV-SOL 004 clause 5).
//
//   - Option 1: the manifest lists all files with their hashes, and ends with a CMS signature of the text before.
//   - Option 2: a zip file holds the package archive and its CMS signature.
//   - Single artifacts: the manifest's entry of a file names a file with its signature.
//
// A [Checker] compares a package with a [Trust], the certificates and revocation lists of the operator. The [Result]
// names the signers and lists all checks. A defect of a signature is a check that failed, never an error: the caller
// decides by its [Policy] whether the package is rejected.
package signature
