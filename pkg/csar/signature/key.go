package signature

import (
	"bytes"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdsa"
	"crypto/pbkdf2"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // of the passphrase of older key files, by PBKDF2
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"hash"

	"github.com/gybe-nfv/gybe/pkg/cms"
)

// ReadIdentity reads a private key and its certificate, which other certificates of the chain may follow, in PEM.
// passphrase is called for an encrypted key.
func ReadIdentity(key, certificates []byte, passphrase func() (string, error)) (cms.Identity, error) {
	signer, err := readKey(key, passphrase)
	if err != nil {
		return cms.Identity{}, err
	}
	all, problem := readCertificates(certificates)
	if problem != "" {
		return cms.Identity{}, errors.New("the certificate cannot be read: " + problem)
	}
	id := cms.Identity{Key: signer, Certificate: all[0], Chain: all[1:]}
	return id, id.Check()
}

func readKey(data []byte, passphrase func() (string, error)) (crypto.Signer, error) {
	for rest := data; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil, errors.New("the file has no private key in PEM")
		}
		switch block.Type {
		case "EC PARAMETERS", "CERTIFICATE":
			continue
		case "RSA PRIVATE KEY", "EC PRIVATE KEY":
			if block.Headers["DEK-Info"] != "" {
				return nil, errEncryption
			}
			if k, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
				return k, nil
			}
			if k, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
				return k, nil
			}
			return nil, errors.New("the private key cannot be read")
		case "ENCRYPTED PRIVATE KEY":
			text, err := passphrase()
			if err != nil {
				return nil, err
			}
			plain, err := decrypt(block.Bytes, text)
			if err != nil {
				return nil, err
			}
			return parseKey(plain)
		case "PRIVATE KEY":
			return parseKey(block.Bytes)
		default:
			return nil, fmt.Errorf("the file has a block %s, not a private key", clip(block.Type))
		}
	}
}

func parseKey(der []byte) (crypto.Signer, error) {
	k, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, errors.New("the private key cannot be read")
	}
	switch k := k.(type) {
	case *rsa.PrivateKey:
		return k, nil
	case *ecdsa.PrivateKey:
		return k, nil
	}
	return nil, &cms.AlgorithmError{Name: fmt.Sprintf("a key of the kind %T", k)}
}

// The structures of an encrypted key (RFC 5958, RFC 8018).
type (
	encryptedKey struct {
		Algorithm struct {
			OID    asn1.ObjectIdentifier
			Params struct {
				KDF    algorithm
				Cipher algorithm
			}
		}
		Data []byte
	}
	algorithm struct {
		OID    asn1.ObjectIdentifier
		Params asn1.RawValue
	}
	kdfParams struct {
		Salt       []byte
		Iterations int
		KeyLength  int `asn1:"optional"`
		PRF        struct {
			OID    asn1.ObjectIdentifier
			Params asn1.RawValue `asn1:"optional"`
		} `asn1:"optional"`
	}
)

const (
	oidPBES2  = "1.2.840.113549.1.5.13"
	oidPBKDF2 = "1.2.840.113549.1.5.12"
)

// maxIterations bounds the time for a passphrase; openssl uses 2048 by default.
const maxIterations = 10_000_000

// ciphers are AES in the mode CBC, by the length of the key.
var ciphers = map[string]int{
	"2.16.840.1.101.3.4.1.2": 16, "2.16.840.1.101.3.4.1.22": 24, "2.16.840.1.101.3.4.1.42": 32,
}

var prfs = map[string]func() hash.Hash{
	"": sha1.New, "1.2.840.113549.2.7": sha1.New, "1.2.840.113549.2.9": sha256.New, "1.2.840.113549.2.11": sha512.New,
}

var errEncryption = errors.New("the key is encrypted in a way that is not supported; convert it: " +
	"openssl pkcs8 -topk8 -v2 aes-256-cbc -in KEY -out NEW")

// decrypt decrypts a key in PKCS #8 with PBES2: PBKDF2 and AES, as openssl writes it.
func decrypt(der []byte, passphrase string) ([]byte, error) {
	var k encryptedKey
	if rest, err := asn1.Unmarshal(der, &k); err != nil || len(rest) > 0 || k.Algorithm.OID.String() != oidPBES2 ||
		len(k.Data) == 0 || len(k.Data)%aes.BlockSize != 0 {
		return nil, errEncryption
	}
	var iv []byte
	used := k.Algorithm.Params.Cipher
	if _, err := asn1.Unmarshal(used.Params.FullBytes, &iv); err != nil || len(iv) != aes.BlockSize {
		return nil, errEncryption
	}
	secret, err := deriveKey(k.Algorithm.Params.KDF, passphrase, ciphers[used.OID.String()])
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, errEncryption
	}
	plain := make([]byte, len(k.Data))
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(plain, k.Data)
	pad := int(plain[len(plain)-1])
	if pad == 0 || pad > aes.BlockSize || !bytes.HasSuffix(plain, bytes.Repeat([]byte{byte(pad)}, pad)) {
		return nil, errPassphrase
	}
	return plain[:len(plain)-pad], nil
}

var errPassphrase = errors.New("the passphrase of the key is wrong")

// deriveKey computes the key of a cipher from a passphrase.
func deriveKey(a algorithm, passphrase string, length int) ([]byte, error) {
	var kdf kdfParams
	if _, err := asn1.Unmarshal(a.Params.FullBytes, &kdf); err != nil || a.OID.String() != oidPBKDF2 {
		return nil, errEncryption
	}
	prf := prfs[kdf.PRF.OID.String()]
	if prf == nil || length == 0 || kdf.Iterations < 1 || kdf.Iterations > maxIterations {
		return nil, errEncryption
	}
	secret, err := pbkdf2.Key(prf, passphrase, kdf.Salt, kdf.Iterations, length)
	if err != nil {
		return nil, errEncryption
	}
	return secret, nil
}
