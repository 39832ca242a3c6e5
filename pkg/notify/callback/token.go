package callback

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// tokens keeps the token of each subscription.
type tokens struct {
	mu sync.Mutex
	of map[string]*token // by id of the subscription
}

// token is one that can be requested by one request at a time.
type token struct {
	mu    chan struct{} // holds a value while a request is running
	value *oauth2.Token
}

// maxTokens bounds the tokens in memory.
const maxTokens = 10_000

func newTokens() *tokens { return &tokens{of: map[string]*token{}} }

func (t *tokens) entry(id string) *token {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.of[id]
	if e == nil {
		if len(t.of) >= maxTokens {
			for other := range t.of {
				delete(t.of, other)
				break
			}
		}
		e = &token{mu: make(chan struct{}, 1)}
		t.of[id] = e
	}
	return e
}

// earlier is how long before its end a token is renewed.
const earlier = 10 * time.Second

// authenticate adds credentials to a request. fresh says that the last token was not accepted.
func (c *Client) authenticate(
	ctx context.Context, req *http.Request, way *http.Client, s *notify.Subscription, used method, fresh bool,
) error {
	switch {
	case sol.AuthType(used) == sol.AuthTypeBasic:
		req.SetBasicAuth(s.Auth.ParamsBasic.UserName, s.Auth.ParamsBasic.Password)
	case used.token():
		got, err := c.token(ctx, way, s, used, fresh)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+got)
	}
	return nil
}

func (c *Client) token(
	ctx context.Context, way *http.Client, s *notify.Subscription, used method, fresh bool,
) (string, error) {
	e := c.tokens.entry(s.ID)
	select {
	case e.mu <- struct{}{}:
		defer func() { <-e.mu }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if v := e.value; v != nil && !fresh && (v.Expiry.IsZero() || time.Until(v.Expiry) > earlier) {
		return v.AccessToken, nil
	}
	e.value = nil
	conf := clientcredentials.Config{}
	if p := s.Auth.ParamsOauth2ClientCert; sol.AuthType(used) == sol.AuthTypeOauth2ClientCert {
		conf.ClientID, conf.TokenURL, conf.AuthStyle = p.ClientID, p.TokenEndpoint, oauth2.AuthStyleInParams
	} else {
		p := s.Auth.ParamsOauth2ClientCredentials
		conf.ClientID, conf.ClientSecret, conf.TokenURL = p.ClientID, p.ClientPassword, p.TokenEndpoint
		conf.AuthStyle = oauth2.AuthStyleInHeader
	}
	got, err := conf.Token(context.WithValue(ctx, oauth2.HTTPClient, way))
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok { // its text has the whole answer
		if e.Response != nil {
			return "", fmt.Errorf("the token endpoint answered %d", e.Response.StatusCode)
		}
		return "", errors.New("the token endpoint gave an answer that cannot be used")
	}
	if err != nil {
		return "", fmt.Errorf("the token endpoint: %s", reason(err))
	}
	e.value = got
	return got.AccessToken, nil
}
