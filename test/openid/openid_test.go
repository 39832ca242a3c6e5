package openid_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/cmd/gybe/cli"
)

const instances = "/vnflcm/v2/vnf_instances"

// An NFVO gets a token with its own credentials (SOL013 clause 8, RFC 6749 clause 4.4).
func TestAServiceUsesItsClientCredentials(t *testing.T) {
	t.Parallel()
	for _, opaque := range []bool{false, true} {
		t.Run(fmt.Sprintf("opaque=%t", opaque), func(t *testing.T) {
			t.Parallel()
			w := start(t, opaque)
			answer := w.post("/oauth/token", service, serviceWord, url.Values{
				"grant_type": {"client_credentials"}, "scope": {"openid"},
			})
			token, _ := answer["access_token"].(string)
			status, text := w.status(http.MethodGet, instances, token)
			require.Equal(t, http.StatusOK, status, text)
			status, text = w.status(http.MethodPost, instances, token)
			require.Equal(t, http.StatusBadRequest, status, text) // the role suffices, the body does not
			status, _ = w.status(http.MethodGet, "/gybe/v1/audit", token)
			require.Equal(t, http.StatusForbidden, status)
			status, _ = w.status(http.MethodGet, instances, token[:len(token)-8]+"AAAAAAAA")
			require.Equal(t, http.StatusUnauthorized, status)
		})
	}
}

// The console uses the authorization code with PKCE. The user has the role and the project of the token.
func TestTheConsoleLogsInAtTheProvider(t *testing.T) {
	t.Parallel()
	for _, opaque := range []bool{false, true} {
		t.Run(fmt.Sprintf("opaque=%t", opaque), func(t *testing.T) {
			t.Parallel()
			w := start(t, opaque)
			b := newBrowser(t)
			home := w.node.URL() + "/ui/"
			require.Contains(t, b.get(home).text, "/ui/login/provider")
			entered := b.logIn(w.node.URL()+"/ui/login/provider?next=/ui/packages", "bob")
			require.Equal(t, http.StatusOK, entered.StatusCode, entered.text)
			require.Equal(t, "0; url=/ui/packages", entered.Header.Get("Refresh"))
			shown := b.get(home)
			require.Equal(t, "/ui/", shown.Request.URL.Path)
			require.Contains(t, shown.text, "bob")
			require.Contains(t, shown.text, "reader")
			require.Contains(t, shown.text, "red")
			b.read(b.PostForm(w.node.URL()+"/ui/logout", nil))
			require.Equal(t, "/ui/login", b.get(home).Request.URL.Path)

			b.logIn(w.node.URL()+"/ui/login/provider", "eve")
			refused := b.get(home)
			require.Equal(t, http.StatusForbidden, refused.StatusCode)
			require.Contains(t, refused.text, "eve")
			require.Contains(t, refused.text, "role")
		})
	}
}

var link = regexp.MustCompile(`http://\S+user_code=\S+`)

// The command logs in on another device (RFC 8628), and with the browser of the machine (RFC 8252).
func TestTheCommandLogsInAtTheProvider(t *testing.T) {
	t.Parallel()
	ways := map[string]func(t *testing.T, p *person, args []string){
		"device": func(t *testing.T, p *person, args []string) {
			t.Helper()
			r, errs := io.Pipe()
			defer r.Close()
			told := make(chan string, 1)
			go func() {
				var seen bytes.Buffer
				part := make([]byte, 4096)
				for {
					n, err := r.Read(part)
					if seen.Write(part[:n]); err != nil {
						return
					}
					if at := link.FindString(seen.String()); at != "" && len(told) == 0 {
						told <- at
					}
				}
			}()
			ended := make(chan int, 1)
			go func() {
				code, _ := p.gybe(nil, errs, args...)
				ended <- code
			}()
			newBrowser(t).confirmDevice(<-told, "ada")
			require.Equal(t, cli.ExitOK, <-ended)
		},
		"browser": func(t *testing.T, p *person, args []string) {
			t.Helper()
			var errs bytes.Buffer
			code, _ := p.gybe(func(address string) {
				require.Contains(t, newBrowser(t).logIn(address, "ada").text, "You are logged in.")
			}, &errs, append(args, "--browser")...)
			require.Equal(t, cli.ExitOK, code, errs.String())
		},
	}
	for name, logIn := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, false)
			p := newPerson(w)
			logIn(t, p, []string{"login", "--oidc", "--issuer", w.issuer, "--client-id", commandLine})
			var errs bytes.Buffer
			code, out := p.gybe(nil, &errs, "vnf", "list")
			require.Equal(t, cli.ExitOK, code, errs.String())
			require.Contains(t, out, "NAME")
			code, _ = p.gybe(nil, &errs, "audit")
			require.Equal(t, cli.ExitLogin, code)
			require.Contains(t, errs.String(), "you have the role operator in the project red")
		})
	}
}
