package auth

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// CertificateRule gives a role in a project to certificates with a name. A rule is a line of a file:
//
//	operator  default  cn:nfvo.example.com
//	reader    nfv      uri:spiffe://example.com/nfv/*
//
// The name has a kind (cn, o, ou, dns, uri, email) and may end with * for all names that begin so. The first rule that
// matches counts.
type CertificateRule struct {
	Role    lcm.Role
	Project string
	Kind    string
	Name    string
	Prefix  bool
}

var nameKinds = []string{"cn", "o", "ou", "dns", "uri", "email"}

// ReadCertificateRules reads the rules of a file. The error names every invalid line.
func ReadCertificateRules(path string) ([]CertificateRule, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var (
		out []CertificateRule
		bad []error
		n   int
	)
	for line := range strings.Lines(string(raw)) {
		n++
		line = strings.TrimSpace(strings.ReplaceAll(line, "\t", " "))
		if line == "" || line[0] == '#' {
			continue
		}
		r, err := parseCertificateRule(line)
		if err != nil {
			bad = append(bad, fmt.Errorf("%s line %d: %w", path, n, err))
			continue
		}
		out = append(out, r)
	}
	if len(out) == 0 && len(bad) == 0 {
		return nil, fmt.Errorf("%s has no rule", path)
	}
	return out, errors.Join(bad...)
}

func parseCertificateRule(line string) (CertificateRule, error) {
	role, rest, _ := strings.Cut(line, " ")
	project, name, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kind, value, _ := strings.Cut(strings.TrimSpace(name), ":")
	r := CertificateRule{Role: lcm.Role(role), Project: project, Kind: kind, Name: value}
	r.Name, r.Prefix = strings.CutSuffix(value, "*")
	switch {
	case !slices.Contains(lcm.Roles, r.Role):
		return r, fmt.Errorf("the role %.20q is not one of reader, operator, admin", role)
	case CheckProject(project) != nil:
		return r, CheckProject(project)
	case !slices.Contains(nameKinds, kind):
		return r, fmt.Errorf("the kind of name %.20q is not one of %s", kind, strings.Join(nameKinds, ", "))
	case r.Name == "":
		return r, errors.New("the name is empty")
	}
	return r, nil
}

func (r CertificateRule) matches(c *x509.Certificate) bool {
	var names []string
	switch r.Kind {
	case "cn":
		names = []string{c.Subject.CommonName}
	case "o":
		names = c.Subject.Organization
	case "ou":
		names = c.Subject.OrganizationalUnit
	case "dns":
		names = c.DNSNames
	case "email":
		names = c.EmailAddresses
	case "uri":
		for _, u := range c.URIs {
			names = append(names, u.String())
		}
	}
	return slices.ContainsFunc(names, func(n string) bool {
		return n == r.Name || r.Prefix && strings.HasPrefix(n, r.Name)
	})
}
