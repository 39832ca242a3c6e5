package ubuntu

import (
	"context"
	"crypto/ecdsa"
	"crypto/md5"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"hash"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// opensslArgs are the options of one openssl command.
type opensslArgs struct {
	flag map[string]bool
	val  map[string]string
	rest []string
}

func parseOpenssl(args []string) opensslArgs {
	a := opensslArgs{flag: map[string]bool{}, val: map[string]string{}}
	takes := map[string]bool{
		"in": true, "out": true, "inform": true, "outform": true, "checkend": true, "CAfile": true, "connect": true, "nameopt": true, "passin": true,
		"hmac": true, "servername": true, "w": false, "days": true, "subj": true, "keyout": true, "newkey": true, "addext": true, "sign": true, "verify": true, "signature": true,
	}
	for i := 0; i < len(args); i++ {
		if !strings.HasPrefix(args[i], "-") {
			a.rest = append(a.rest, args[i])
			continue
		}
		name := strings.TrimLeft(args[i], "-")
		if takes[name] && i+1 < len(args) {
			i++
			a.val[name] = args[i]
		} else {
			a.flag[name] = true
		}
	}
	return a
}

// input reads -in or standard input.
func (a opensslArgs) input(p *process.Proc) ([]byte, bool) {
	name := a.val["in"]
	if name == "" {
		name = "-"
	}
	b, err := p.ReadFile(name)
	if err != nil {
		p.Errorf("Can't open \"%s\" for reading, %s\n", name, process.Reason(err))
		return nil, false
	}
	return b, true
}

func (a opensslArgs) output(p *process.Proc, b []byte) int {
	if o := a.val["out"]; o != "" {
		if err := p.WriteFile(o, b, 0o644); err != nil {
			return p.Errorf("Can't open \"%s\" for writing, %s\n", o, process.Reason(err))
		}
		return 0
	}
	_, _ = p.Out().Write(b)
	return 0
}

func openssl(ctx context.Context, p *process.Proc) int {
	if len(p.Args) < 2 {
		return 1
	}
	a := parseOpenssl(p.Args[2:])
	switch p.Args[1] {
	case "version":
		p.Printf("OpenSSL 3.0.2 15 Mar 2022 (Library: OpenSSL 3.0.2 15 Mar 2022)\n")
	case "x509":
		return opensslX509(p, a)
	case "rsa", "pkey", "ec":
		return opensslKey(p, a)
	case "dgst", "sha256", "sha512", "sha1", "md5":
		return opensslDigest(p, p.Args[1], a)
	case "rand":
		n := 0
		if len(a.rest) > 0 {
			n, _ = strconv.Atoi(a.rest[len(a.rest)-1])
		}
		b := make([]byte, min(max(n, 0), 1<<20))
		_, _ = rand.Read(b)
		switch {
		case a.flag["hex"]:
			return a.output(p, []byte(hex.EncodeToString(b)+"\n"))
		case a.flag["base64"]:
			return a.output(p, []byte(base64.StdEncoding.EncodeToString(b)+"\n"))
		}
		return a.output(p, b)
	case "base64", "enc":
		b, ok := a.input(p)
		if !ok {
			return 1
		}
		if a.flag["d"] {
			out, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(b)), ""))
			if err != nil {
				return 1
			}
			return a.output(p, out)
		}
		text := base64.StdEncoding.EncodeToString(b)
		if a.flag["A"] {
			return a.output(p, []byte(text))
		}
		var out strings.Builder
		for len(text) > 64 {
			out.WriteString(text[:64] + "\n")
			text = text[64:]
		}
		return a.output(p, []byte(out.String()+text+"\n"))
	case "verify":
		return opensslVerify(p, a)
	case "s_client":
		return opensslClient(ctx, p, a)
	default:
		return p.Errorf("Invalid command '%s'; type \"help\" for a list.\n", p.Args[1])
	}
	return 0
}

func firstCert(b []byte) *x509.Certificate {
	for {
		block, rest := pem.Decode(b)
		if block == nil {
			c, err := x509.ParseCertificate(b)
			if err != nil {
				return nil
			}
			return c
		}
		if block.Type == "CERTIFICATE" {
			c, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil
			}
			return c
		}
		b = rest
	}
}

func opensslX509(p *process.Proc, a opensslArgs) int {
	b, ok := a.input(p)
	if !ok {
		return 1
	}
	c := firstCert(b)
	if c == nil {
		return p.Errorf("Could not read certificate from %s\nUnable to load certificate\n", a.val["in"])
	}
	var out strings.Builder
	if a.flag["subject"] {
		out.WriteString("subject=" + dn(c.Subject.String()) + "\n")
	}
	if a.flag["issuer"] {
		out.WriteString("issuer=" + dn(c.Issuer.String()) + "\n")
	}
	if a.flag["startdate"] || a.flag["dates"] {
		out.WriteString("notBefore=" + c.NotBefore.UTC().Format("Jan _2 15:04:05 2006 GMT") + "\n")
	}
	if a.flag["enddate"] || a.flag["dates"] {
		out.WriteString("notAfter=" + c.NotAfter.UTC().Format("Jan _2 15:04:05 2006 GMT") + "\n")
	}
	if a.flag["fingerprint"] {
		h := sha256.Sum256(c.Raw)
		var parts []string
		for _, x := range h {
			parts = append(parts, fmt.Sprintf("%02X", x))
		}
		out.WriteString("sha256 Fingerprint=" + strings.Join(parts, ":") + "\n")
	}
	if a.flag["serial"] {
		fmt.Fprintf(&out, "serial=%X\n", c.SerialNumber)
	}
	if a.flag["text"] || a.flag["ext"] {
		var sans []string
		for _, n := range c.DNSNames {
			sans = append(sans, "DNS:"+n)
		}
		for _, ip := range c.IPAddresses {
			sans = append(sans, "IP Address:"+ip.String())
		}
		fmt.Fprintf(&out, "Certificate:\n    Data:\n        Subject: %s\n            X509v3 Subject Alternative Name: \n                %s\n", dn(c.Subject.String()), strings.Join(sans, ", "))
	}
	if a.flag["pubkey"] {
		der, err := x509.MarshalPKIXPublicKey(c.PublicKey)
		if err != nil {
			return 1
		}
		out.Write(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	}
	if s := a.val["checkend"]; s != "" {
		n, _ := strconv.Atoi(s)
		if p.Sys.Clock.Now().Add(time.Duration(n) * time.Second).After(c.NotAfter) {
			p.Printf("Certificate will expire\n")
			return 1
		}
		p.Printf("Certificate will not expire\n")
		return 0
	}
	if !a.flag["noout"] && !a.flag["text"] {
		if a.val["outform"] == "der" || a.val["outform"] == "DER" {
			out.Write(c.Raw)
		} else {
			out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
		}
	}
	return a.output(p, []byte(out.String()))
}

// dn writes a distinguished name as openssl does: "CN = kubernetes".
func dn(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "=", " = "), ",", ", ")
}

func opensslKey(p *process.Proc, a opensslArgs) int {
	b, ok := a.input(p)
	if !ok {
		return 1
	}
	block, _ := pem.Decode(b)
	if block == nil {
		return p.Errorf("Could not read public key from <stdin>\n")
	}
	var pub any
	if a.flag["pubin"] {
		k, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return p.Errorf("Could not read public key from <stdin>\n")
		}
		pub = k
	} else {
		k, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			if rk, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
				k = rk
			} else if ek, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
				k = ek
			} else {
				return p.Errorf("Could not read private key from %s\n", a.val["in"])
			}
		}
		switch k := k.(type) {
		case *rsa.PrivateKey:
			pub = &k.PublicKey
		case *ecdsa.PrivateKey:
			pub = &k.PublicKey
		}
		if !a.flag["pubout"] {
			if a.flag["noout"] || a.flag["check"] {
				p.Printf("RSA key ok\n")
				return 0
			}
			return a.output(p, b)
		}
	}
	// The CAs of simulated clusters have EC keys, which `openssl rsa` would refuse; kubeadm's have RSA keys, and scripts
	// rely on that.
	der, err := x509.MarshalPKIXPublicKey(pub)
	if err != nil {
		return 1
	}
	if strings.EqualFold(a.val["outform"], "der") {
		return a.output(p, der)
	}
	return a.output(p, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

func opensslDigest(p *process.Proc, cmd string, a opensslArgs) int {
	alg := cmd
	if cmd == "dgst" {
		alg = "sha256"
	}
	for _, n := range []string{"sha256", "sha512", "sha1", "md5"} {
		if a.flag[n] {
			alg = n
		}
	}
	h := map[string]func() hash.Hash{"sha256": sha256.New, "sha512": sha512.New, "sha1": sha1.New, "md5": md5.New}[alg]()
	name := "stdin"
	if len(a.rest) > 0 {
		name = a.rest[0]
		a.val["in"] = name
	}
	b, ok := a.input(p)
	if !ok {
		return 1
	}
	_, _ = h.Write(b)
	if a.flag["binary"] {
		return a.output(p, h.Sum(nil))
	}
	text := hex.EncodeToString(h.Sum(nil))
	if a.flag["r"] {
		return a.output(p, []byte(text+" *"+name+"\n"))
	}
	label := strings.ToUpper(alg) + "(" + name + ")= "
	if name == "stdin" {
		label = strings.ToUpper(alg) + "(stdin)= "
		if alg == "sha256" {
			label = "SHA2-256(stdin)= "
		}
	} else if alg == "sha256" {
		label = "SHA2-256(" + name + ")= "
	}
	return a.output(p, []byte(label+text+"\n"))
}

func opensslVerify(p *process.Proc, a opensslArgs) int {
	roots := x509.NewCertPool()
	if b, err := p.ReadFile(a.val["CAfile"]); err == nil {
		roots.AppendCertsFromPEM(b)
	}
	status := 0
	for _, n := range a.rest {
		b, err := p.ReadFile(n)
		if err != nil {
			return p.Errorf("Could not open file or uri for loading certificate from %s\n", n)
		}
		c := firstCert(b)
		if c == nil {
			return p.Errorf("unable to load certificate\n")
		}
		if _, err := c.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
			p.Errorf("error %s: verification failed\n", n)
			status = 2
			continue
		}
		p.Printf("%s: OK\n", n)
	}
	return status
}

func opensslClient(ctx context.Context, p *process.Proc, a opensslArgs) int {
	c, err := p.Sys.Net.Dial(ctx, a.val["connect"])
	if err != nil {
		return p.Errorf("connect:errno=111\n")
	}
	defer func() { _ = c.Close() }()
	t := tls.Client(c, &tls.Config{InsecureSkipVerify: true})
	if err := t.HandshakeContext(ctx); err != nil {
		return p.Errorf("write:errno=104\n")
	}
	p.Printf("CONNECTED(00000003)\n---\n")
	for _, cert := range t.ConnectionState().PeerCertificates {
		p.Printf("%s", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}))
		if !a.flag["showcerts"] {
			break
		}
	}
	p.Printf("---\n")
	return 0
}
