package cmstest

import (
	encoding "encoding/asn1"
	"encoding/pem"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
)

// timeStampToken is the unsigned attribute of RFC 3161 appendix A.
var timeStampToken = encoding.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 14}

// WithTimeStamp returns a PEM signature whose signers have a time stamp token in addition. The token is DER.
func WithTimeStamp(tb testing.TB, signature, token []byte) []byte {
	tb.Helper()
	block, _ := pem.Decode(signature)
	require.NotNil(tb, block)
	whole := cryptobyte.String(block.Bytes)
	explicit := asn1.Tag(0).Constructed().ContextSpecific()
	var outer, kind, inner, data cryptobyte.String
	require.True(tb, whole.ReadASN1(&outer, asn1.SEQUENCE) && outer.ReadASN1Element(&kind, asn1.OBJECT_IDENTIFIER) &&
		outer.ReadASN1(&inner, explicit) && inner.ReadASN1(&data, asn1.SEQUENCE))
	var b cryptobyte.Builder
	b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddBytes(kind)
		b.AddASN1(explicit, func(b *cryptobyte.Builder) {
			b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
				for !data.Empty() {
					var part cryptobyte.String
					var tag asn1.Tag
					require.True(tb, data.ReadAnyASN1Element(&part, &tag))
					if !data.Empty() { // the signers come last
						b.AddBytes(part)
						continue
					}
					addStamps(tb, b, part, token)
				}
			})
		})
	})
	return pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: b.BytesOrPanic()})
}

// addStamps adds the set of signers, each with the token as its unsigned attribute.
func addStamps(tb testing.TB, b *cryptobyte.Builder, signers cryptobyte.String, token []byte) {
	tb.Helper()
	var set cryptobyte.String
	require.True(tb, signers.ReadASN1(&set, asn1.SET))
	b.AddASN1(asn1.SET, func(b *cryptobyte.Builder) {
		for !set.Empty() {
			var signer cryptobyte.String
			require.True(tb, set.ReadASN1(&signer, asn1.SEQUENCE))
			b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
				b.AddBytes(signer)
				b.AddASN1(asn1.Tag(1).Constructed().ContextSpecific(), func(b *cryptobyte.Builder) {
					b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
						b.AddASN1ObjectIdentifier(timeStampToken)
						b.AddASN1(asn1.SET, func(b *cryptobyte.Builder) { b.AddBytes(token) })
					})
				})
			})
		}
	})
}
