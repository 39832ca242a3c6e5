package signature

import "github.com/gybe-nfv/gybe/pkg/gybeapi"

// Document is the result as users see it.
func (r *Result) Document() gybeapi.PackageSignature {
	d := gybeapi.PackageSignature{
		State: string(r.State), Option: r.Option, Checked: r.Checked,
		Signers: []gybeapi.PackageSigner{}, Checks: []gybeapi.SignatureCheck{},
	}
	for _, s := range r.Signers {
		one := gybeapi.PackageSigner{
			Signs: s.Signs, Subject: s.Subject, Issuer: s.Issuer, Serial: s.Serial, Fingerprint: s.Fingerprint,
			Root: s.Root, RootFingerprint: s.RootFingerprint, Algorithm: s.Algorithm, Trusted: s.Trusted,
		}
		if s.SigningTime != nil {
			one.SigningTime = *s.SigningTime
		}
		d.Signers = append(d.Signers, one)
	}
	for _, c := range r.Checks {
		d.Checks = append(d.Checks, gybeapi.SignatureCheck{
			Name: c.Name, Outcome: string(c.Outcome), Subject: c.Subject, Detail: c.Detail, Hint: c.Hint,
		})
	}
	return d
}
