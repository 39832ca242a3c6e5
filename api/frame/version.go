package frame

import (
	"errors"
	"net/http"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/version"
)

// negotiate applies the rules of the Version header and returns the version of the answer.
func negotiate(given []string, served []version.Version) (string, error) {
	header := ""
	switch len(given) {
	case 0:
	case 1:
		header = given[0]
	default:
		return "", lcm.Errorf(lcm.CodeInvalid, "the request has %d Version headers; want one", len(given))
	}
	v, err := version.Negotiate(header, served...)
	hint := "send Version: " + served[len(served)-1].String()
	switch {
	case err == nil:
		return v.String(), nil
	case errors.Is(err, version.ErrMissing):
		return "", lcm.Errorf(lcm.CodeInvalid, "'Version' HTTP header missing.").WithHint(hint)
	case errors.Is(err, version.ErrUnsupported):
		return "", lcm.Errorf(lcm.CodeNotAcceptable, "%s", err).WithHint(hint)
	default:
		return "", lcm.Errorf(lcm.CodeInvalid, "%s", err).WithHint(hint)
	}
}

// Versions returns the handler of an api_versions resource (SOL013 clause 9.3).
func Versions(prefix string, served ...string) Handler {
	info := sol.ApiVersionInformation{URIPrefix: prefix}
	for _, v := range served {
		info.ApiVersions = append(info.ApiVersions, sol.ApiVersion{Version: v})
	}
	return func(w http.ResponseWriter, _ *Request) error {
		return WriteJSON(w, http.StatusOK, info)
	}
}
