package config

import "path/filepath"

// Packages says which VNF packages are accepted. All nodes of one database need the same values.
type Packages struct {
	// Signatures is require: only packages that a trusted signer has signed; warn: every package, with the result of
	// the checks; or off: signatures are not read.
	Signatures string `yaml:"signatures" env:"SIGNATURES"`
	// TrustDir is a directory with certificates that are trusted and with revocation lists, in files with the
	// extensions .pem, .crt, .cer, .cert and .crl. It is read for each package.
	TrustDir string `yaml:"trust_dir" env:"TRUST_DIR"`
	// TrustFiles are further such files.
	TrustFiles []string `yaml:"trust_files" env:"TRUST_FILES"`
}

// Values of Packages.Signatures.
const (
	SignaturesRequire = "require"
	SignaturesWarn    = "warn"
	SignaturesOff     = "off"
)

func (c *Config) validatePackages(report report) {
	p := c.Packages
	checkOneOf(report, "packages.signatures", p.Signatures, SignaturesRequire, SignaturesWarn, SignaturesOff)
	if p.Signatures == SignaturesRequire && p.TrustDir == "" && len(p.TrustFiles) == 0 {
		report("packages.signatures", "is require, and no certificate is trusted; set packages.trust_dir or "+
			"packages.trust_files")
	}
	if p.TrustDir != "" && !filepath.IsAbs(p.TrustDir) {
		report("packages.trust_dir", "%q is not an absolute path", p.TrustDir)
	}
	for _, name := range p.TrustFiles {
		if !filepath.IsAbs(name) {
			report("packages.trust_files", "%q is not an absolute path", name)
		}
	}
}
