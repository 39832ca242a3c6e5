package cli

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"slices"
	"strings"
	"syscall"

	"github.com/gybe-nfv/gybe/pkg/client"
)

// advice says what to do about an error of the connection or the login; "" when nothing is known.
func advice(err error) string {
	if answer, ok := errors.AsType[*client.Error](err); ok {
		return adviceOnAnswer(answer)
	}
	if _, ok := errors.AsType[*client.Unreachable](err); !ok {
		return ""
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "name the file of the authority that has signed the server's certificate with --cacert or GYBE_CACERT"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "use a name that is in the server's certificate in --endpoint"
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok ||
		strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") {
		return "the server does not use TLS: begin the endpoint with http://"
	}
	if strings.Contains(err.Error(), "tls: certificate required") {
		return "the server requires a client certificate: use --cert and --key"
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return "start gybe serve there, or name another server with --endpoint, GYBE_ENDPOINT or --context"
	}
	return ""
}

func adviceOnAnswer(e *client.Error) string {
	switch {
	case e.Status() == http.StatusBadRequest && strings.Contains(e.Problem.Detail, "HTTP request to an HTTPS server"):
		return "the server uses TLS: begin the endpoint with https://"
	case e.Status() == http.StatusUnauthorized:
		return waysToLogIn(e.Challenges)
	case e.Foreign:
		return "this is not the answer of a Gybe server: another server, or a proxy, is at the endpoint"
	}
	return ""
}

// waysToLogIn lists the commands for the modes that a server names.
func waysToLogIn(challenges []string) string {
	var ways []string
	for _, c := range challenges {
		scheme, _, _ := strings.Cut(c, " ")
		way := ""
		switch strings.ToLower(scheme) {
		case "keystone":
			way = "gybe login --keystone, or the variables OS_… or OS_CLOUD"
		case "bearer":
			way = "gybe login --oidc, gybe login --token, or GYBE_TOKEN"
		}
		if way != "" && !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
	}
	if len(ways) == 0 {
		return "the server requires a login: gybe login"
	}
	return "log in: " + strings.Join(ways, "; or ")
}
