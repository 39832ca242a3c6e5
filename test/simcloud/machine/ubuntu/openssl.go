package ubuntu

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// openssl computes what identifies the CA of a cluster:
//
//	openssl x509 -pubkey -noout -in FILE | openssl pkey -pubin -outform der | openssl dgst -sha256 -hex
func openssl(_ context.Context, p *process.Proc) int {
	call := strings.Join(p.Args[1:], " ")
	switch {
	case strings.HasPrefix(call, "x509 -pubkey -noout -in ") && len(p.Args) == 6:
		b, err := p.ReadFile(p.Args[5])
		if err != nil {
			return p.Errorf("Can't open \"%s\" for reading, %s\n", p.Args[5], process.Reason(err))
		}
		block, _ := pem.Decode(b)
		if block == nil {
			return p.Errorf("Could not read certificate from %s\n", p.Args[5])
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return p.Errorf("Unable to load certificate\n")
		}
		der, err := x509.MarshalPKIXPublicKey(cert.PublicKey)
		if err != nil {
			return 1
		}
		_, _ = p.Out().Write(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	case call == "pkey -pubin -outform der":
		b, _ := p.ReadFile("-")
		block, _ := pem.Decode(b)
		if block == nil {
			return p.Errorf("Could not read public key from <stdin>\n")
		}
		_, _ = p.Out().Write(block.Bytes)
	case slices.Contains([]string{"dgst -sha256 -hex", "dgst -sha256"}, call):
		b, err := p.ReadFile("-")
		if err != nil {
			return 1
		}
		sum := sha256.Sum256(b)
		p.Printf("SHA2-256(stdin)= %s\n", hex.EncodeToString(sum[:]))
	default:
		return p.Errorf("openssl: not simulated: %s\n", call)
	}
	return 0
}
