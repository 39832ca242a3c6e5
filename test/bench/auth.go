package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/gophercloud/gophercloud/v2"

	"github.com/gybe-nfv/gybe/pkg/auth"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/stack"
)

// authentication measures what each mode adds to a request, on two nodes of one database: one without authentication,
// and one with all modes. The requests do not depend on the project.
func (b *bench) authentication(ctx context.Context, dir string) error {
	issuer, err := startIssuer(ctx)
	if err != nil {
		return err
	}
	defer issuer.Close()
	tokens := filepath.Join(dir, "tokens")
	static, token, err := auth.NewToken("bench", lcm.DefaultProject, lcm.RoleAdmin, time.Time{}, time.Now())
	if err != nil {
		return err
	}
	if err := auth.AddToken(tokens, token); err != nil {
		return err
	}
	sim := b.stack.Sim
	user, err := simcloud.Login(ctx, gophercloud.AuthOptions{
		IdentityEndpoint: sim.AuthURL, Username: sim.Username, Password: sim.Password, DomainName: sim.UserDomain,
		Scope: &gophercloud.AuthScope{ProjectName: sim.Project, DomainName: sim.ProjectDomain},
	})
	if err != nil {
		return err
	}
	open, err := b.stack.AddNode(ctx)
	if err != nil {
		return err
	}
	closed, err := b.stack.AddNode(ctx,
		"GYBE_AUTH_TOKENS_FILE="+tokens, "GYBE_AUTH_KEYSTONE_URL="+sim.AuthURL, "GYBE_AUTH_KEYSTONE_USERNAME=admin",
		"GYBE_AUTH_KEYSTONE_PASSWORD="+sim.Password, "GYBE_AUTH_KEYSTONE_PROJECT=admin",
		"GYBE_AUTH_OIDC_ISSUER="+issuer.url, "GYBE_AUTH_OIDC_AUDIENCE=gybe",
	)
	if err != nil {
		return err
	}
	kept := b.node
	defer func() { b.node = kept }()
	for range 2 { // the second round shows how much the figures of one mode differ
		for _, r := range []struct {
			what   string
			node   *stack.Node
			header string
			value  string
		}{
			{"without authentication", open, "", ""},
			{"a static token", closed, "Authorization", "Bearer " + static},
			{"a Keystone token", closed, "X-Auth-Token", user.Token()},
			{"a JWT (ES256)", closed, "Authorization", "Bearer " + issuer.ecdsa},
			{"a JWT (RS256)", closed, "Authorization", "Bearer " + issuer.rsa},
		} {
			b.node = r.node
			get := func(ctx context.Context) error { return b.getNodes(ctx, r.header, r.value) }
			if err := b.measure(ctx, "GET nodes, "+r.what, "", "aim ≤ 0.05 ms CPU more", 5000, 1, get); err != nil {
				return err
			}
		}
	}
	if err := open.Stop(20 * time.Second); err != nil {
		return err
	}
	return closed.Stop(20 * time.Second)
}

func (b *bench) getNodes(ctx context.Context, header, value string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.node.URL+"/gybe/v1/nodes", nil)
	if err != nil {
		return err
	}
	if header != "" {
		req.Header.Set(header, value)
	}
	resp, err := readers.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET nodes: %s", resp.Status)
	}
	return nil
}

// issuer is an OpenID provider with two tokens.
type issuer struct {
	*http.Server
	url        string
	ecdsa, rsa string
}

func startIssuer(ctx context.Context) (*issuer, error) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	long, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	i := &issuer{url: "http://" + listener.Addr().String()}
	sign := func(alg jose.SignatureAlgorithm, key any) (string, error) {
		private := jose.JSONWebKey{Key: key, KeyID: string(alg)}
		s, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: private}, nil)
		if err != nil {
			return "", err
		}
		return jwt.Signed(s).Claims(map[string]any{
			"iss": i.url, "aud": "gybe", "sub": "bench", "exp": time.Now().Add(time.Hour).Unix(),
			"project": lcm.DefaultProject, "roles": []string{"admin"},
		}).Serialize()
	}
	if i.ecdsa, err = sign(jose.ES256, ec); err != nil {
		return nil, err
	}
	if i.rsa, err = sign(jose.RS256, long); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	serve := func(path string, v any) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(v) // an error means that the client is gone
		})
	}
	serve("/.well-known/openid-configuration", map[string]any{"issuer": i.url, "jwks_uri": i.url + "/keys"})
	serve("/keys", jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{Key: ec.Public(), KeyID: "ES256"}, {Key: long.Public(), KeyID: "RS256"},
	}})
	i.Server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := i.Serve(listener); err != http.ErrServerClosed { //nolint:errorlint // Serve returns it bare
			fmt.Fprintln(os.Stderr, "bench: issuer:", err)
		}
	}()
	return i, nil
}
