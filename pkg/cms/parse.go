package cms

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
)

// MaxBytes bounds a signature with its certificates.
const MaxBytes = 256 << 10

const (
	maxCertificates = 32
	maxSigners      = 8
)

// Signature is a detached signature: SignedData without content.
type Signature struct {
	// Signers have signed the same content; there is at least one.
	Signers []Signer
	// Certificates are those that the signature carries. They are not checked.
	Certificates []*x509.Certificate
}

// Signer is the signature of one signer.
type Signer struct {
	// Hash is the algorithm of the content's digest.
	Hash crypto.Hash
	// SigningTime is when the signature was made, as the signer claims; zero when it does not say.
	SigningTime time.Time

	issuer, keyID []byte // one of them names the certificate: issuer (DER) with serial, or key identifier
	serial        *big.Int
	attributes    []byte // DER of the signed attributes as a SET, nil without
	digest        []byte // of the content, when there are attributes
	scheme        scheme
	salt          int
	signature     []byte
}

var errDamaged = errors.New("the signature is damaged")

func damaged(part string) error { return fmt.Errorf("%w: %s", errDamaged, part) }

// Parse reads a signature in DER, BER or PEM.
func Parse(data []byte) (*Signature, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("the signature is larger than %d bytes", MaxBytes)
	}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("-----BEGIN ")) {
		blocks, err := DecodePEM(data)
		if err != nil {
			return nil, err
		}
		if len(blocks) != 1 {
			return nil, fmt.Errorf("the file has %d signatures, one is expected", len(blocks))
		}
		data = blocks[0]
	}
	der, err := toDER(data)
	if err != nil {
		return nil, err
	}
	return parse(der)
}

// DecodePEM returns the content of blocks -----BEGIN CMS----- (or PKCS7) that make up data. Anything beside them except
// white space is an error, so that no part of data stays unchecked.
func DecodePEM(data []byte) ([][]byte, error) {
	var out [][]byte
	if len(data) > 2*MaxBytes {
		return nil, fmt.Errorf("the signatures are larger than %d bytes", 2*MaxBytes)
	}
	for rest := bytes.TrimSpace(data); len(rest) > 0; rest = bytes.TrimSpace(rest) {
		block, after := pem.Decode(rest)
		switch {
		case !bytes.HasPrefix(rest, []byte("-----BEGIN ")) || block == nil:
			return nil, damaged("the text is not one of complete blocks -----BEGIN CMS-----")
		case block.Type != "CMS" && block.Type != "PKCS7" || len(block.Headers) > 0:
			return nil, damaged("a block " + clip(block.Type) + " where CMS is expected")
		case len(out) == maxSigners:
			return nil, fmt.Errorf("there are more than %d signatures", maxSigners)
		}
		// pem.Decode skips what it cannot read, and ignores bits at the end.
		if again := pem.EncodeToMemory(block); squeeze(again) != squeeze(rest[:len(rest)-len(after)]) {
			return nil, damaged("the text is not base64")
		}
		out, rest = append(out, block.Bytes), after
	}
	return out, nil
}

// squeeze removes the ends of lines, which may be at other places.
func squeeze(text []byte) string {
	return strings.NewReplacer("\r", "", "\n", "").Replace(string(text))
}

func clip(s string) string { return s[:min(len(s), 40)] }

// parse reads ContentInfo.
func parse(der []byte) (*Signature, error) {
	in := cryptobyte.String(der)
	var info, explicit, data cryptobyte.String
	var kind asn1.ObjectIdentifier
	if !in.ReadASN1(&info, cbasn1.SEQUENCE) || !in.Empty() || !info.ReadASN1ObjectIdentifier(&kind) {
		return nil, damaged("it is not a CMS message")
	}
	if !kind.Equal(oidSignedData) {
		return nil, damaged("it is a CMS message of another kind than signed data")
	}
	if !info.ReadASN1(&explicit, context(0)) || !info.Empty() || !explicit.ReadASN1(&data, cbasn1.SEQUENCE) ||
		!explicit.Empty() {
		return nil, damaged("it has no signed data")
	}
	return parseSignedData(data)
}

func context(n uint8) cbasn1.Tag { return cbasn1.Tag(n).ContextSpecific().Constructed() }

func parseSignedData(data cryptobyte.String) (*Signature, error) {
	var algorithms, content, certificates, crls, signers cryptobyte.String
	var kind asn1.ObjectIdentifier
	var version int
	if !data.ReadASN1Integer(&version) || !data.ReadASN1(&algorithms, cbasn1.SET) ||
		!data.ReadASN1(&content, cbasn1.SEQUENCE) || !content.ReadASN1ObjectIdentifier(&kind) {
		return nil, damaged("version, digest algorithms or content")
	}
	if !kind.Equal(oidData) {
		return nil, damaged("the signed content is not of the kind data")
	}
	if !content.Empty() {
		return nil, errors.New("the signature includes the content; it has to be detached")
	}
	var has bool
	if !data.ReadOptionalASN1(&certificates, &has, context(0)) || !data.ReadOptionalASN1(&crls, &has, context(1)) ||
		!data.ReadASN1(&signers, cbasn1.SET) || !data.Empty() {
		return nil, damaged("certificates or signers")
	}
	used, err := parseDigests(algorithms)
	if err != nil {
		return nil, err
	}
	s := &Signature{}
	if s.Certificates, err = parseCertificates(certificates); err != nil {
		return nil, err
	}
	if s.Signers, err = parseSigners(signers, used); err != nil {
		return nil, err
	}
	if version != s.version() {
		return nil, damaged("version")
	}
	return s, nil
}

// version is the version of a message with X.509 certificates.
func (s *Signature) version() int {
	if slices.ContainsFunc(s.Signers, func(one Signer) bool { return one.keyID != nil }) {
		return 3
	}
	return 1
}

func parseCertificates(set cryptobyte.String) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	for !set.Empty() {
		var one cryptobyte.String
		if !set.ReadASN1Element(&one, cbasn1.SEQUENCE) {
			return nil, damaged("a certificate is not of the kind X.509")
		}
		if len(out) == maxCertificates {
			return nil, fmt.Errorf("the signature has more than %d certificates", maxCertificates)
		}
		c, err := x509.ParseCertificate(one)
		if err != nil {
			return nil, damaged("a certificate cannot be read: " + err.Error())
		}
		out = append(out, c)
	}
	return out, nil
}

func parseSigners(set cryptobyte.String, used map[crypto.Hash]bool) ([]Signer, error) {
	var out []Signer
	for !set.Empty() {
		if len(out) == maxSigners {
			return nil, fmt.Errorf("the signature has more than %d signers", maxSigners)
		}
		one, err := parseSigner(&set)
		if err != nil {
			return nil, err
		}
		if !used[one.Hash] {
			return nil, damaged("a signer uses a digest algorithm that the signature does not list")
		}
		out = append(out, *one)
	}
	if len(out) == 0 {
		return nil, errors.New("the signature has no signer")
	}
	return out, nil
}

func parseDigests(set cryptobyte.String) (map[crypto.Hash]bool, error) {
	used := map[crypto.Hash]bool{}
	for !set.Empty() {
		a, ok := readAlgorithm(&set)
		if !ok {
			return nil, damaged("digest algorithms")
		}
		h, err := a.hash()
		if err != nil {
			return nil, err
		}
		used[h] = true
	}
	return used, nil
}

func parseSigner(set *cryptobyte.String) (*Signer, error) {
	var in cryptobyte.String
	var version int
	if !set.ReadASN1(&in, cbasn1.SEQUENCE) || !in.ReadASN1Integer(&version) {
		return nil, damaged("a signer")
	}
	s := &Signer{}
	if err := s.parseID(&in, version); err != nil {
		return nil, err
	}
	digest, ok := readAlgorithm(&in)
	if !ok {
		return nil, damaged("a signer's digest algorithm")
	}
	var err error
	if s.Hash, err = digest.hash(); err != nil {
		return nil, err
	}
	if err := s.parseAttributes(&in); err != nil {
		return nil, err
	}
	how, ok := readAlgorithm(&in)
	if !ok || !in.ReadASN1Bytes(&s.signature, cbasn1.OCTET_STRING) {
		return nil, damaged("a signer's signature")
	}
	var unsigned cryptobyte.String
	var has bool
	if !in.ReadOptionalASN1(&unsigned, &has, context(1)) || !in.Empty() {
		return nil, damaged("a signer's unsigned attributes")
	}
	s.scheme, s.salt, err = how.signatureScheme(s.Hash)
	return s, err
}

// parseID reads which certificate a signature belongs to; the version says in which form.
func (s *Signer) parseID(in *cryptobyte.String, version int) error {
	var id, issuer cryptobyte.String
	switch version {
	case 1:
		s.serial = new(big.Int)
		if !in.ReadASN1(&id, cbasn1.SEQUENCE) || !id.ReadASN1Element(&issuer, cbasn1.SEQUENCE) ||
			!id.ReadASN1Integer(s.serial) || !id.Empty() {
			return damaged("a signer's issuer and serial number")
		}
		s.issuer = issuer
	case 3:
		if !in.ReadASN1Bytes(&s.keyID, cbasn1.Tag(0).ContextSpecific()) || len(s.keyID) == 0 {
			return damaged("a signer's key identifier")
		}
	default:
		return damaged("a signer's version")
	}
	return nil
}

// parseAttributes reads the signed attributes.
func (s *Signer) parseAttributes(in *cryptobyte.String) error {
	var all cryptobyte.String
	if !in.PeekASN1Tag(context(0)) {
		return nil
	}
	if !in.ReadASN1(&all, context(0)) || all.Empty() {
		return damaged("a signer's signed attributes")
	}
	s.attributes = encode(byte(cbasn1.SET), all)
	seen := map[string]bool{}
	for !all.Empty() {
		var one, values cryptobyte.String
		var oid asn1.ObjectIdentifier
		if !all.ReadASN1(&one, cbasn1.SEQUENCE) || !one.ReadASN1ObjectIdentifier(&oid) ||
			!one.ReadASN1(&values, cbasn1.SET) || !one.Empty() || seen[oid.String()] || !s.readAttribute(oid, values) {
			return damaged("a signer's signed attributes")
		}
		seen[oid.String()] = true
	}
	if !seen[oidContentType.String()] || !seen[oidMessageDigest.String()] {
		return damaged("a signer's signed attributes lack the digest or the kind of the content")
	}
	return nil
}

// readAttribute reads the attributes that are used, and ignores others.
func (s *Signer) readAttribute(oid asn1.ObjectIdentifier, values cryptobyte.String) (ok bool) {
	switch {
	case oid.Equal(oidContentType):
		var kind asn1.ObjectIdentifier
		return values.ReadASN1ObjectIdentifier(&kind) && values.Empty() && kind.Equal(oidData)
	case oid.Equal(oidMessageDigest):
		var value cryptobyte.String
		ok = values.ReadASN1(&value, cbasn1.OCTET_STRING) && values.Empty()
		s.digest = value
		return ok
	case oid.Equal(oidSigningTime):
		s.SigningTime, ok = readTime(&values)
		return ok
	}
	return true
}

func readTime(values *cryptobyte.String) (t time.Time, ok bool) {
	if values.PeekASN1Tag(cbasn1.GeneralizedTime) {
		ok = values.ReadASN1GeneralizedTime(&t)
	} else {
		ok = values.ReadASN1UTCTime(&t)
	}
	return t.UTC(), ok && values.Empty()
}
