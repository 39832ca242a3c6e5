package signature

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds of a trust store.
const (
	maxTrustFiles = 1000
	maxTrustBytes = 64 << 20 // of all files
)

// trustNames are the extensions of files that are read in a folder.
var trustNames = []string{".pem", ".crt", ".cer", ".cert", ".crl"}

// Trust holds the certificates that an operator trusts, and revocation lists.
type Trust struct {
	pool  *x509.CertPool
	count int
	lists []revocations
}

// revocations is a list of revoked certificates.
type revocations struct {
	file    string
	list    *x509.RevocationList
	serials map[string]bool
}

// LoadTrust reads certificates and revocation lists (CRL) from the files of a folder with the extensions .pem, .crt,
// .cer, .cert and .crl, and from single files, in PEM or DER. Every certificate is trusted: of a root, of an authority
// below one, or of a single signer. A file that cannot be read is an error, because it could be a revocation list.
func LoadTrust(dir string, files []string) (*Trust, error) {
	t := &Trust{pool: x509.NewCertPool()}
	if dir != "" {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("read trust store: %w", err)
		}
		files = slices.Clone(files)
		for _, e := range entries {
			name := e.Name()
			if !strings.HasPrefix(name, ".") && slices.Contains(trustNames, strings.ToLower(filepath.Ext(name))) {
				files = append(files, filepath.Join(dir, name))
			}
		}
	}
	if len(files) > maxTrustFiles {
		return nil, fmt.Errorf("the trust store has %d files, %d are allowed", len(files), maxTrustFiles)
	}
	left := int64(maxTrustBytes)
	for _, name := range files {
		data, err := readFile(name, left)
		if err != nil {
			return nil, fmt.Errorf("read trust store: %w", err)
		}
		left -= int64(len(data))
		if err := t.add(name, data); err != nil {
			return nil, fmt.Errorf("trust store: %s: %w", name, err)
		}
	}
	return t, nil
}

// Empty reports whether no certificate is trusted.
func (t *Trust) Empty() bool { return t.count == 0 }

func readFile(name string, limit int64) (_ []byte, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.Join(err, errors.New("not a regular file"))}
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s: the files are larger than %d bytes together", name, maxTrustBytes)
	}
	return data, err
}

func (t *Trust) add(name string, data []byte) error {
	if !bytes.Contains(data, []byte("-----BEGIN ")) {
		if c, err := x509.ParseCertificate(data); err == nil {
			t.addCertificate(c)
			return nil
		}
		return t.addList(name, data)
	}
	found := 0
	for rest := data; ; found++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		switch block.Type {
		case "CERTIFICATE", "TRUSTED CERTIFICATE":
			c, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return err
			}
			t.addCertificate(c)
		case "X509 CRL":
			if err := t.addList(name, block.Bytes); err != nil {
				return err
			}
		default:
			return fmt.Errorf("a block %s; only certificates and revocation lists belong here", clip(block.Type))
		}
	}
	if found != bytes.Count(data, []byte("-----BEGIN ")) { // the decoder skips blocks that are damaged
		return errors.New("a damaged block in PEM")
	}
	return nil
}

func (t *Trust) addCertificate(c *x509.Certificate) {
	t.pool.AddCert(c)
	t.count++
}

func (t *Trust) addList(name string, der []byte) error {
	list, err := x509.ParseRevocationList(der)
	if err != nil {
		return fmt.Errorf("neither a certificate nor a revocation list: %w", err)
	}
	for _, e := range list.Extensions {
		if e.Critical {
			return fmt.Errorf("the revocation list has the critical extension %s, which is not supported", e.Id)
		}
	}
	r := revocations{file: filepath.Base(name), list: list, serials: map[string]bool{}}
	for _, e := range list.RevokedCertificateEntries {
		const removed = 8 // removeFromCRL
		if e.ReasonCode != removed {
			r.serials[e.SerialNumber.String()] = true
		}
	}
	list.RevokedCertificateEntries, list.Raw = nil, nil
	t.lists = append(t.lists, r)
	return nil
}
