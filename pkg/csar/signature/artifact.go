package signature

import (
	"crypto"
	"crypto/x509"
	"encoding/hex"
	"hash"

	"github.com/gybe-nfv/gybe/pkg/cms"
	"github.com/gybe-nfv/gybe/pkg/csar"
)

// Bounds of the signatures of artifacts.
const (
	maxArtifacts     = 1000
	maxArtifactBytes = 16 << 20 // of signatures and certificates together
)

// artifact is a file with a signature of its own.
type artifact struct {
	path         string
	message      []byte
	certificates []*x509.Certificate
	sums         []csar.Sum
}

// names of hash algorithms in a report.
var sumNames = map[crypto.Hash]string{
	crypto.SHA256: csar.SHA256, crypto.SHA384: csar.SHA384, crypto.SHA512: csar.SHA512,
}

// readArtifacts reads the signatures that the manifest names.
func (c *Checker) readArtifacts() error {
	left := maxArtifactBytes
	for _, f := range c.archive.ManifestFiles() {
		if f.Signature == "" {
			continue
		}
		fail := func(detail string) {
			c.add(Check{Name: CheckArtifact, Outcome: Failure, Subject: f.Path, Detail: detail})
		}
		if len(c.artifacts) == maxArtifacts || left <= 0 {
			fail("the package has too many signatures of artifacts")
			break
		}
		one := artifact{path: f.Path}
		for i, name := range []string{f.Signature, f.Certificate} {
			if name == "" {
				continue
			}
			if !c.archive.Has(name) {
				fail("the file " + name + " is not in the package, but the manifest names it")
				continue
			}
			data, err := c.archive.ReadText(name)
			if err != nil {
				return err
			}
			left -= len(data)
			if i == 0 {
				one.message = data
				continue
			}
			certs, problem := readCertificates(data)
			if problem != "" {
				fail(name + ": " + problem)
			}
			one.certificates = certs
		}
		if one.message == nil {
			continue
		}
		if parsed, err := cms.Parse(one.message); err == nil {
			for _, s := range parsed.Signers {
				one.sums = append(one.sums, csar.Sum{Path: f.Path, Algorithm: sumNames[s.Hash]})
			}
		}
		c.artifacts = append(c.artifacts, one)
	}
	return nil
}

// Sums are the digests that Finish needs.
func (c *Checker) Sums() []csar.Sum {
	var out []csar.Sum
	for _, a := range c.artifacts {
		out = append(out, a.sums...)
	}
	return out
}

// checkArtifacts checks the signatures of artifacts. In a container, problems of them are warnings.
func (c *Checker) checkArtifacts(report *csar.Report) {
	good := 0
	for _, a := range c.artifacts {
		s := signed{name: a.path, certificates: a.certificates, digests: func(h crypto.Hash) [][]byte {
			sum, err := hex.DecodeString(report.Sums[csar.Sum{Path: a.path, Algorithm: sumNames[h]}])
			if err != nil {
				return nil
			}
			return [][]byte{sum}
		}}
		keep := c.result.SigningCertificate
		checks := c.checkSignatures(s, [][]byte{a.message})
		c.result.SigningCertificate = keep // that of the package, not of an artifact
		failed := false
		for _, check := range checks {
			if check.Outcome != Failure {
				continue
			}
			failed = true
			outcome := Failure
			if c.container != nil {
				outcome = Warning
			}
			c.add(Check{
				Name: CheckArtifact, Outcome: outcome, Subject: a.path, Detail: check.Name + ": " + check.Detail,
				Hint: check.Hint,
			})
		}
		if !failed {
			good++
		}
	}
	if good > 0 {
		c.add(Check{
			Name: CheckArtifact, Outcome: Passed, Detail: count(good, "artifact") + " with a trusted signature",
		})
	}
}

// hashes computes several digests of one content.
type hashes map[crypto.Hash]hash.Hash

func (s hashes) add(h crypto.Hash) {
	if s[h] == nil {
		s[h] = h.New()
	}
}

// Write implements io.Writer.
func (s hashes) Write(p []byte) (int, error) {
	for _, w := range s {
		w.Write(p)
	}
	return len(p), nil
}

func (s hashes) sums() map[crypto.Hash][]byte {
	out := map[crypto.Hash][]byte{}
	for h, w := range s {
		out[h] = w.Sum(nil)
	}
	return out
}
