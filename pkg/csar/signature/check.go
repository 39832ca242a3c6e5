package signature

import (
	"bytes"
	"context"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/cms"
	"github.com/gybe-nfv/gybe/pkg/csar"
)

const (
	// maxCertificates bounds the certificates of one file.
	maxCertificates = 32
	// maxCandidates bounds the certificates that are tried for one signer.
	maxCandidates = 2
	// maxNamed bounds the files that a check names.
	maxNamed = 5
)

// Checker checks the signatures of one package: those of the manifest or the archive when it is created, those of
// artifacts when all files have been read.
type Checker struct {
	archive   *csar.Archive
	container *csar.Container
	trust     *Trust
	result    *Result
	artifacts []artifact
}

// NewChecker reads and checks the signatures of a package; the container is nil for option 1. The error is one of the
// machine, or a *csar.Rejection of a damaged archive.
func NewChecker(
	ctx context.Context, a *csar.Archive, container *csar.Container, trust *Trust, now time.Time,
) (*Checker, error) {
	c := &Checker{archive: a, container: container, trust: trust, result: &Result{
		State: Trusted, Option: Option1, Checked: now.UTC().Truncate(time.Second),
	}}
	if container != nil {
		c.result.Option = Option2
		if err := c.checkArchive(ctx); err != nil {
			return nil, err
		}
	}
	if err := c.checkManifest(); err != nil {
		return nil, err
	}
	return c, c.readArtifacts()
}

// Result is the result so far.
func (c *Checker) Result() *Result {
	if c.result.State == Trusted && c.result.Problem() != nil {
		c.result.State = Failed
	}
	return c.result
}

// Finish checks the signatures of artifacts. The report has all Sums and the comparison of all hashes.
func (c *Checker) Finish(report *csar.Report) *Result {
	c.checkArtifacts(report)
	c.add(Check{
		Name: CheckDigests, Outcome: Passed, Detail: count(len(report.Artifacts), "listed file") +
			" of " + count(report.Files, "file") + " have the declared hashes",
	})
	return c.Result()
}

// Bounds of a result, which is stored with the package.
const (
	maxChecks  = 100
	maxSigners = 50
)

// add keeps checks. Of too many, the first failure is kept.
func (c *Checker) add(checks ...Check) {
	for _, check := range checks {
		switch {
		case len(c.result.Checks) < maxChecks:
			c.result.Checks = append(c.result.Checks, check)
		case check.Outcome == Failure && c.result.Problem() == nil:
			c.result.Checks[maxChecks-1] = check
		}
	}
}

// signed is content with its signatures.
type signed struct {
	name string
	// digests returns the digests of the content; several for a text whose ends of lines may have been changed.
	digests func(crypto.Hash) [][]byte
	// certificates are those in files.
	certificates []*x509.Certificate
}

// checkSignatures checks messages that sign the same content. At least one signer has to be trusted, and no signature
// may be damaged.
func (c *Checker) checkSignatures(s signed, messages [][]byte) []Check {
	var checks []Check
	trusted := false
	for _, m := range messages {
		parsed, err := cms.Parse(m)
		if err != nil {
			checks = append(checks, Check{
				Name: CheckSignature, Outcome: Failure, Subject: s.name, Detail: err.Error(),
				Hint: hintFor(err),
			})
			continue
		}
		for _, signer := range parsed.Signers {
			found, of := c.checkSigner(s, &signer, slices.Concat(parsed.Certificates, s.certificates))
			if len(c.result.Signers) < maxSigners {
				c.result.Signers = append(c.result.Signers, found)
			}
			checks, trusted = append(checks, of...), trusted || found.Trusted
		}
	}
	if !trusted {
		return checks
	}
	for i := range checks { // another signer is trusted
		if checks[i].Outcome == Failure && checks[i].Name != CheckSignature {
			checks[i].Outcome = Warning
		}
	}
	return checks
}

func hintFor(err error) string {
	if _, ok := errors.AsType[*cms.AlgorithmError](err); ok {
		return "sign the package with SHA-256 or better, and an RSA key of 2048 bits or more or an ECDSA key"
	}
	return ""
}

func (c *Checker) checkSigner(s signed, signer *cms.Signer, certificates []*x509.Certificate) (Signer, []Check) {
	out := Signer{Signs: s.name, Algorithm: signer.Algorithm()}
	if !signer.SigningTime.IsZero() {
		out.SigningTime = &signer.SigningTime
	}
	check := Check{Name: CheckSignature, Subject: s.name, Outcome: Failure}
	cert, err := match(s, signer, certificates)
	if cert == nil {
		check.Detail = "the signer's certificate is neither in the signature nor in a file of the package"
		check.Hint = "name it in TOSCA.meta (ETSI-Entry-Certificate), or sign again with the certificate in the " +
			"signature"
		return out, []Check{check}
	}
	out.Subject, out.Issuer = subject(cert), clip(cert.Issuer.String())
	out.Serial, out.Fingerprint = cert.SerialNumber.Text(16), fingerprint(cert)
	if err != nil {
		check.Detail, check.Hint = err.Error(), hintFor(err)
		return out, []Check{check}
	}
	check.Outcome, check.Detail = Passed, out.Algorithm+" by "+out.Subject
	c.noteCertificateFile(s, cert)
	checks := []Check{check, checkCertificate(cert, signer.SigningTime, c.result.Checked)}
	chain, trust := c.trust.findChain(cert, certificates, c.result.Checked)
	checks = append(checks, trust)
	if chain != nil {
		root := chain[len(chain)-1]
		out.Root, out.RootFingerprint = subject(root), fingerprint(root)
		checks = append(checks, c.trust.checkRevocation(chain, c.result.Checked))
	}
	out.Trusted = !slices.ContainsFunc(checks, func(c Check) bool { return c.Outcome == Failure })
	return out, checks
}

// match returns the certificate of a signer and whether it has signed the content.
func match(s signed, signer *cms.Signer, certificates []*x509.Certificate) (cert *x509.Certificate, err error) {
	tried := 0
	for _, candidate := range certificates {
		if !signer.Names(candidate) || tried == maxCandidates || cert != nil && cert.Equal(candidate) {
			continue
		}
		tried++
		cert = candidate
		for _, digest := range s.digests(signer.Hash) {
			failed := signer.Verify(candidate, digest)
			if failed == nil {
				return candidate, nil
			}
			if err == nil || !errors.Is(failed, cms.ErrWrongContent) { // of one text it is the content
				err = failed
			}
		}
	}
	return cert, err
}

// noteCertificateFile keeps the certificate of the package's signer if it is in a file.
func (c *Checker) noteCertificateFile(s signed, cert *x509.Certificate) {
	if slices.ContainsFunc(s.certificates, cert.Equal) {
		c.result.SigningCertificate = string(encodeCertificate(cert))
	}
}

func encodeCertificate(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

// checkArchive checks the signatures of option 2.
func (c *Checker) checkArchive(ctx context.Context) error {
	s := signed{name: c.container.Name}
	for _, f := range c.container.Certificates {
		certs, problem := readCertificates(f.Data)
		if problem != "" {
			c.add(Check{Name: CheckCertificate, Outcome: Warning, Subject: f.Name, Detail: problem})
		}
		s.certificates = append(s.certificates, certs...)
	}
	var messages [][]byte
	for _, f := range c.container.Signatures {
		messages = append(messages, f.Data)
	}
	sums, err := c.archiveSums(ctx, messages)
	if err != nil {
		return err
	}
	s.digests = func(h crypto.Hash) [][]byte { return [][]byte{sums[h]} }
	checks := c.checkSignatures(s, messages)
	c.add(checks...)
	return nil
}

// archiveSums reads the archive once for all algorithms that its signatures use.
func (c *Checker) archiveSums(ctx context.Context, messages [][]byte) (map[crypto.Hash][]byte, error) {
	sums := hashes{}
	for _, m := range messages {
		if parsed, err := cms.Parse(m); err == nil {
			for _, s := range parsed.Signers {
				sums.add(s.Hash)
			}
		}
	}
	if len(sums) == 0 {
		return nil, nil
	}
	if err := c.container.Copy(ctx, sums); err != nil {
		return nil, err
	}
	return sums.sums(), nil
}

// checkManifest checks the signature of the manifest and which files it covers. In a container the archive's signature
// decides: problems of the manifest's are warnings then.
func (c *Checker) checkManifest() error {
	checks, isSigned, err := c.manifestChecks()
	if err != nil {
		return err
	}
	if c.container != nil {
		for i := range checks {
			if checks[i].Outcome == Failure {
				checks[i].Outcome = Warning
			}
		}
		if !isSigned { // nothing to report
			return nil
		}
	} else if !isSigned {
		c.result.State = Unsigned
	}
	c.add(checks...)
	return nil
}

func (c *Checker) manifestChecks() (checks []Check, isSigned bool, err error) {
	info := c.archive.Info()
	if !info.Signed {
		detail := "the manifest " + info.Manifest + " is not signed"
		if info.Manifest == "" {
			detail = "the package has no manifest, and no signature"
		}
		return []Check{{
			Name: CheckSignature, Outcome: Failure, Subject: info.Manifest, Detail: detail,
			Hint: "ask the vendor for a signed package, or sign it after you have checked it: gybe package sign",
		}}, false, nil
	}
	mf, err := c.archive.ReadManifest()
	if err != nil {
		return nil, true, err
	}
	s := signed{name: info.Manifest, digests: manifestDigests(mf.Content)}
	if name := c.certificatePath(); name != "" {
		data, err := c.archive.ReadText(name)
		if err != nil {
			return nil, true, err
		}
		certs, problem := readCertificates(data)
		if problem != "" {
			checks = append(checks, Check{Name: CheckCertificate, Outcome: Failure, Subject: name, Detail: problem})
		}
		s.certificates = certs
	}
	messages, problem := decodeAll(mf.CMS)
	if problem != "" {
		return append(checks, Check{
			Name: CheckSignature, Outcome: Failure, Subject: s.name, Detail: problem,
		}), true, nil
	}
	checks = append(checks, c.checkSignatures(s, messages)...)
	return append(checks, c.checkCoverage()), true, nil
}

// decodeAll returns the messages at the end of a manifest, or the reason why they cannot be read.
func decodeAll(text []byte) (messages [][]byte, problem string) {
	messages, err := cms.DecodePEM(text)
	switch {
	case err != nil:
		return nil, err.Error()
	case len(messages) == 0:
		return nil, "the signature is empty"
	}
	return messages, ""
}

// certificatePath is the file with the signer's certificate, "" if there is none.
func (c *Checker) certificatePath() string {
	info := c.archive.Info()
	if info.Certificate != "" {
		return info.Certificate
	}
	if name := strings.TrimSuffix(info.Manifest, path.Ext(info.Manifest)) + ".cert"; c.archive.Has(name) {
		return name
	}
	return ""
}

// manifestDigests returns the digests of a manifest as it is, and as it was before an editor, an archiver or the
// signing program changed the ends of lines. All these texts list the same files.
func manifestDigests(content []byte) func(crypto.Hash) [][]byte {
	unix := bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
	dos := bytes.ReplaceAll(unix, []byte("\n"), []byte("\r\n"))
	var texts [][]byte
	for _, text := range [][]byte{content, unix, dos} {
		for _, t := range [][]byte{text, bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))} {
			if !slices.ContainsFunc(texts, func(o []byte) bool { return bytes.Equal(o, t) }) {
				texts = append(texts, t)
			}
		}
	}
	known := map[crypto.Hash][][]byte{}
	return func(h crypto.Hash) [][]byte {
		if known[h] == nil {
			for _, t := range texts {
				w := h.New()
				w.Write(t)
				known[h] = append(known[h], w.Sum(nil))
			}
		}
		return known[h]
	}
}

// checkCoverage finds files that the signed manifest does not list with a strong hash.
func (c *Checker) checkCoverage() Check {
	info := c.archive.Info()
	covered := map[string]bool{info.Manifest: true, c.certificatePath(): true}
	weak := map[string]bool{}
	for _, f := range c.archive.ManifestFiles() {
		switch f.Algorithm {
		case csar.SHA256, csar.SHA384, csar.SHA512:
			covered[f.Path] = true
		case "":
		default:
			weak[f.Path] = true
		}
		// They are checked as what they are.
		covered[f.Signature], covered[f.Certificate] = true, true
	}
	var missing []string
	for _, name := range c.archive.Names() {
		if !covered[name] {
			missing = append(missing, name)
		}
	}
	check := Check{Name: CheckCoverage, Outcome: Passed, Subject: info.Manifest, Detail: "the manifest lists all files"}
	if len(missing) == 0 {
		return check
	}
	check.Outcome = Failure
	check.Detail = count(len(missing), "file") + " without a hash in the signed manifest: " + nameSome(missing)
	if len(missing) == 1 && weak[missing[0]] {
		check.Detail = "the hash of " + missing[0] + " in the signed manifest is weaker than SHA-256"
	}
	check.Hint = "list every file of the package in the manifest with its hash, and sign it again: gybe package sign"
	return check
}

func nameSome(names []string) string {
	if len(names) > maxNamed {
		return strings.Join(names[:maxNamed], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// readCertificates reads a file with certificates in PEM or DER; problem says why it has none.
func readCertificates(data []byte) (out []*x509.Certificate, problem string) {
	if !bytes.Contains(data, []byte("-----BEGIN ")) {
		c, err := x509.ParseCertificate(data)
		if err != nil {
			return nil, "the file is not a certificate"
		}
		return []*x509.Certificate{c}, ""
	}
	for rest := data; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if block.Type != "CERTIFICATE" || err != nil || len(out) == maxCertificates {
			return out, "the file has something else than certificates, or too many of them"
		}
		out = append(out, c)
	}
	if out == nil {
		return nil, "the file is not a certificate"
	}
	return out, ""
}
