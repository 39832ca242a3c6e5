package kubernetes

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/url"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/version"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/outbound"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Identity is what an API server says about itself and about the user of a connection.
type Identity struct {
	Version string // such as v1.34.2
	User    string // empty when the server is too old to say it (before 1.28)
}

// anonymous is the user of requests without credentials.
const anonymous = "system:anonymous"

// Verify connects to a cluster and asks for its version and for the user that the credentials belong to. An error about
// which the user of the connection can do something is CodeUnprocessable, with a pointer into the connection with this
// key: credentials that the server does not accept, certificates that cannot be read, and an address that no API server
// answers at or that the policy does not allow.
func Verify(ctx context.Context, key string, conn sol.VimConnectionInfo, p *outbound.Policy) (Identity, error) {
	at := func(member string, err error) (Identity, error) {
		e := *lcm.AsError(err)
		e.Code = lcm.CodeUnprocessable
		e.Params = []lcm.InvalidParam{{
			Pointer: "/vimConnectionInfo/" + lcm.Escape(key) + "/" + member, Detail: e.Detail,
		}}
		if e.Hint == "" {
			e.Hint = remedy(member)
		}
		return Identity{}, &e
	}
	a, err := FromVim(conn)
	if err != nil {
		return at("accessInfo", err)
	}
	if member, err := a.unreadable(); err != nil {
		return at(member, err)
	}
	c, err := New(a.Outbound(p))
	if err != nil {
		return at("interfaceInfo/"+InterfaceEndpoint, err)
	}
	defer c.Close()
	who, err := c.identity(ctx)
	if err != nil {
		if member := a.mistake(err); member != "" {
			return at(member, err)
		}
		return Identity{}, err
	}
	return who, nil
}

// remedy says what to do about a member of a connection with which no API server was reached.
func remedy(member string) string {
	switch member {
	case "interfaceInfo/" + InterfaceEndpoint:
		return "give the address of the API server as auth_url; kubectl cluster-info shows it"
	case "interfaceInfo/" + InterfaceCA:
		return "give the certificate authority of the API server as ssl_ca_cert (certificate-authority-data of a " +
			"kubeconfig, decoded), or cert_verify: False to trust any certificate"
	case "accessInfo/" + AccessToken:
		return "give a bearer_token that is still valid; kubectl create token SERVICE_ACCOUNT makes one"
	case "accessInfo/" + AccessCertificate:
		return "give client_certificate and client_key of a user of this cluster, and check that the certificate has " +
			"not expired"
	}
	return "check the credentials: the API server has to know their user"
}

// unreadable finds certificates and addresses that cannot be used, and their member of the connection.
func (a Access) unreadable() (member string, err error) {
	if len(a.CA) > 0 && !x509.NewCertPool().AppendCertsFromPEM(a.CA) {
		return "interfaceInfo/" + InterfaceCA,
			lcm.Errorf(lcm.CodeUnprocessable, "%s is not a PEM certificate", InterfaceCA)
	}
	if len(a.Certificate) > 0 {
		// The text of this error has no part of the key.
		if _, err := tls.X509KeyPair(a.Certificate, a.Key); err != nil {
			return "accessInfo/" + AccessCertificate, lcm.Errorf(
				lcm.CodeUnprocessable, "%s cannot be used with %s: %w", AccessCertificate, AccessKey, err,
			)
		}
	}
	if u, err := url.Parse(a.Endpoint); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return "interfaceInfo/" + InterfaceEndpoint, lcm.Errorf(
			lcm.CodeUnprocessable, "the address is not a URL such as https://192.0.2.10:6443",
		)
	}
	return "", nil
}

// mistake is the member of the connection that an error is about; "" when the error is the server's.
func (a Access) mistake(err error) string {
	const endpoint = "interfaceInfo/" + InterfaceEndpoint
	provider := errors.Is(err, errProvider)
	var authority x509.UnknownAuthorityError
	_, forbidden := errors.AsType[*outbound.Error](err)
	e := lcm.AsError(err)
	switch {
	case errors.As(err, &authority):
		return "interfaceInfo/" + InterfaceCA
	case provider && e.Class == lcm.Transient && e.Code == lcm.CodeUpstream: // it answered that it fails
	case provider && e.Class != lcm.Auth:
		return "accessInfo/" + AccessProvider
	case forbidden:
		return endpoint
	case e.Class == lcm.Auth:
		return "accessInfo/" + a.secretMember()
	case e.Code == lcm.CodeUnavailable && !errors.Is(err, context.DeadlineExceeded), errors.Is(err, errNotKubernetes):
		return endpoint
	}
	return ""
}

// secretMember is the member of accessInfo that proves who the user is.
func (a Access) secretMember() string {
	switch {
	case a.Token != "":
		return AccessToken
	case len(a.Certificate) > 0:
		return AccessCertificate
	}
	return AccessPassword
}

// errNotKubernetes is the cause of errors of a server that is no API server.
var errNotKubernetes = errors.New("not a Kubernetes API server")

// identity asks the API server.
func (c *Client) identity(ctx context.Context) (Identity, error) {
	var is version.Info
	res := c.rest.Get().AbsPath("/version").Do(ctx)
	raw, _ := res.Raw()
	err := res.Error() // that of Raw lacks the server's text
	if err == nil && (json.Unmarshal(raw, &is) != nil || is.GitVersion == "") {
		return Identity{}, c.notKubernetes("its answer to GET /version is not the version of an API server")
	}
	if apierrors.IsNotFound(err) {
		return Identity{}, c.notKubernetes("it does not have /version")
	}
	if err != nil {
		return Identity{}, c.requestError("ask for the version", err)
	}
	user, err := c.whoAmI(ctx)
	return Identity{Version: is.GitVersion, User: user}, err
}

func (c *Client) notKubernetes(why string) error {
	e := lcm.Errorf(lcm.CodeUpstream, "%s is not a Kubernetes API server: %s", c.host, why)
	e.Title, e.Cause = "Kubernetes API failed", errNotKubernetes
	return e
}

// whoAmI returns the name of the user. /version does not prove who it is: everyone may read it. Servers before 1.28,
// and those that do not allow the question, are asked for a right, which only a known user may do.
func (c *Client) whoAmI(ctx context.Context) (string, error) {
	var me authenticationv1.SelfSubjectReview
	err := c.rest.Post().AbsPath("/apis/authentication.k8s.io/v1/selfsubjectreviews").
		Body(&authenticationv1.SelfSubjectReview{}).Do(ctx).Into(&me)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		err = c.rest.Post().AbsPath("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews").
			Body(&authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Version: "v1", Resource: "pods"},
			}}).Do(ctx).Error()
	}
	if err != nil {
		return "", c.requestError("ask who the user of the credentials is", err)
	}
	if me.Status.UserInfo.Username == anonymous {
		e := lcm.Errorf(lcm.CodeUpstream, "the server does not know the credentials: the user is %s (cluster %s)",
			anonymous, c.host)
		e.Title, e.Class = "Kubernetes API failed", lcm.Auth
		return "", e
	}
	return me.Status.UserInfo.Username, nil
}
