package callback

import (
	"context"
	"net/url"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// method is how a node authenticates itself to a subscriber; "" is not at all.
type method sol.AuthType

// preference is the order in which one of several ways that a subscriber accepts is taken.
var preference = []sol.AuthType{
	sol.AuthTypeOauth2ClientCert, sol.AuthTypeOauth2ClientCredentials, sol.AuthTypeTLSCert, sol.AuthTypeBasic,
}

// chosen is the way that is taken; certified says that the node has a certificate.
func chosen(a *sol.SubscriptionAuthentication, certified bool) method {
	if a == nil {
		return ""
	}
	for _, t := range preference {
		if slices.Contains(a.AuthType, t) && (certified || !method(t).certificate()) {
			return method(t)
		}
	}
	return ""
}

// certificate says whether connections need the certificate of the node.
func (m method) certificate() bool {
	return sol.AuthType(m) == sol.AuthTypeTLSCert || sol.AuthType(m) == sol.AuthTypeOauth2ClientCert
}

// token says whether requests need a token.
func (m method) token() bool {
	return sol.AuthType(m) == sol.AuthTypeOauth2ClientCredentials || sol.AuthType(m) == sol.AuthTypeOauth2ClientCert
}

// CheckTarget implements notify.Tester.
func (c *Client) CheckTarget(ctx context.Context, callback string, a *sol.SubscriptionAuthentication) error {
	e := lcm.Errorf(lcm.CodeUnprocessable, "the subscription cannot be used")
	add := func(pointer, detail string) {
		e.Params = append(e.Params, lcm.InvalidParam{Pointer: pointer, Detail: detail})
	}
	if problem := c.checkURL(callback); problem != "" {
		add("/callbackUri", problem)
	}
	if a != nil {
		c.checkAuthentication(ctx, a, add)
	}
	if len(e.Params) == 0 {
		return nil
	}
	e.Detail = e.Params[0].Pointer + ": " + e.Params[0].Detail
	return e
}

// longestURL bounds URLs.
const longestURL = 2048

func (c *Client) checkURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return "it is not an http or https URL"
	case len(text) > longestURL:
		return "it is too long"
	case u.User != nil:
		return "it has a user; use authentication"
	case u.Fragment != "":
		return "it has a fragment"
	}
	if err := c.options.Outbound.CheckHost(u.Hostname()); err != nil {
		return err.Error()
	}
	return ""
}

// checkAuthentication reports parameters that are missing, and those of a way that is not named.
func (c *Client) checkAuthentication(
	ctx context.Context, a *sol.SubscriptionAuthentication, add func(pointer, detail string),
) {
	const at = "/authentication"
	if len(a.AuthType) == 0 {
		add(at+"/authType", "it names no way to authenticate")
	}
	for _, p := range []struct {
		member string
		of     sol.AuthType
		given  bool
	}{
		{"/paramsBasic", sol.AuthTypeBasic, a.ParamsBasic != nil},
		{"/paramsOauth2ClientCredentials", sol.AuthTypeOauth2ClientCredentials, a.ParamsOauth2ClientCredentials != nil},
		{"/paramsOauth2ClientCert", sol.AuthTypeOauth2ClientCert, a.ParamsOauth2ClientCert != nil},
	} {
		named := slices.Contains(a.AuthType, p.of)
		switch {
		case named && !p.given:
			add(at+p.member, "authType names "+string(p.of)+", and this node does not know the parameters otherwise")
		case p.given && !named:
			add(at+p.member, "authType does not name "+string(p.of))
		}
	}
	if p := a.ParamsBasic; p != nil && p.UserName == "" {
		add(at+"/paramsBasic/userName", "it is required")
	}
	if p := a.ParamsOauth2ClientCredentials; p != nil {
		if p.ClientID == "" {
			add(at+"/paramsOauth2ClientCredentials/clientId", "it is required")
		}
		if problem := c.checkURL(p.TokenEndpoint); problem != "" {
			add(at+"/paramsOauth2ClientCredentials/tokenEndpoint", problem)
		}
	}
	if p := a.ParamsOauth2ClientCert; p != nil {
		if problem := c.checkURL(p.TokenEndpoint); problem != "" {
			add(at+"/paramsOauth2ClientCert/tokenEndpoint", problem)
		}
		if own := c.ways.thumbprint(ctx); own != "" && p.CertificateRef.Value != own {
			add(at+"/paramsOauth2ClientCert/certificateRef/value", "it is not the x5t#S256 of this node's certificate")
		}
	}
	if len(a.AuthType) > 0 && chosen(a, c.ways.certified(ctx)) == "" {
		add(at+"/authType", "this node has no client certificate (notify.cert_file)")
	}
}
