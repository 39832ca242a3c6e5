package main

import (
	"net/http"
	"time"

	"github.com/gybe-nfv/gybe/pkg/auth"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/test/oracle"
)

// tokens are the credentials of the honest users and of the attackers. They belong to different projects.
type tokens struct{ user, attacker string }

// writeTokens makes the tokens, and the file by which the node knows them.
func writeTokens(file string) (t tokens, err error) {
	for _, one := range []struct {
		project string
		token   *string
	}{{"honest", &t.user}, {"hostile", &t.attacker}} {
		secret, token, err := auth.NewToken("user", one.project, lcm.RoleOperator, time.Time{}, time.Now())
		if err != nil {
			return tokens{}, err
		}
		if err := auth.AddToken(file, token); err != nil {
			return tokens{}, err
		}
		*one.token = secret
	}
	return t, nil
}

// bearer sends a token with each request that has no credentials.
type bearer struct {
	token string
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") == "" && r.Header.Get("X-Auth-Token") == "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.next.RoundTrip(r)
}

// clientWith is an HTTP client that sends a token and does not follow redirects. Answers that differ from the published
// documents break the promise.
func clientWith(token string, r *report) *http.Client {
	compared := oracle.Transport{
		Report: func(format string, args ...any) { r.breaks("standard", format, args...) },
		Next:   &http.Transport{MaxIdleConnsPerHost: 8},
	}
	return &http.Client{
		Timeout:       time.Minute,
		Transport:     bearer{token, compared},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
