package app

import (
	"fmt"

	"github.com/gybe-nfv/gybe/pkg/nfvo"
)

// openNFVO makes the client of the NFVO, if there is one.
func (a *App) openNFVO() error {
	set := a.cfg.NFVO
	if set.URL == "" {
		return nil
	}
	var err error
	a.nfvo, err = nfvo.New(nfvo.Options{
		URL: set.URL, CAFile: set.CAFile, CertFile: set.CertFile, KeyFile: set.KeyFile, Timeout: set.RequestTimeout,
		Login: nfvo.Login{
			TokenFile: set.TokenFile, Username: set.Username, PasswordFile: set.PasswordFile,
			TokenURL: set.OAuth2.TokenURL, ClientID: set.OAuth2.ClientID, SecretFile: set.OAuth2.ClientSecretFile,
			Scopes: set.OAuth2.Scopes,
		},
		Outbound: outboundPolicy(&a.cfg),
	})
	if err != nil {
		return fmt.Errorf("nfvo: %w", err)
	}
	return nil
}
