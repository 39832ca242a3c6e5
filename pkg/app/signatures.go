package app

import (
	"fmt"

	"github.com/gybe-nfv/gybe/pkg/csar/signature"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
)

// signatures says how the signatures of packages are checked. A trust store that cannot be read is an error of the
// start; later it delays the packages that need it.
func (a *App) signatures() (vnfpkg.Signatures, error) {
	set := a.cfg.Packages
	s := vnfpkg.Signatures{
		Policy: signature.Policy(set.Signatures),
		Trust:  func() (*signature.Trust, error) { return signature.LoadTrust(set.TrustDir, set.TrustFiles) },
	}
	if s.Policy == signature.Off {
		return s, nil
	}
	trust, err := s.Trust()
	if err != nil {
		return s, fmt.Errorf("packages.trust_dir, packages.trust_files: %w", err)
	}
	if s.Policy == signature.Require && trust.Empty() {
		return s, fmt.Errorf("packages.signatures is require, and no file of %s has a certificate",
			append([]string{set.TrustDir}, set.TrustFiles...))
	}
	return s, nil
}
