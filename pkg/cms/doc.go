// Package cms reads, verifies and writes detached signatures of the Cryptographic Message Syntax (RFC 5652,
// SignedData), as SOL004 uses them for VNF packages.
//
// It accepts what can be trusted today: SHA-256, SHA-384 and SHA-512, with RSA keys of 2048 to 8192 bits (PKCS #1 v1.5
// and PSS) and ECDSA keys on the curves P-256, P-384 and P-521. The content is never part of a signature: callers
// compute its digest, so that content of any size can be checked. Whether a certificate is trusted is not decided here.
//
// A signature comes from a stranger. Its size, depth and the number of certificates and signers are limited, and every
// error says which part is wrong. Two encodings are read: DER, and BER with indefinite lengths, which Java libraries
// write.
package cms
