package frame

import (
	"errors"
	"net/http"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/version"
)

// versions are those that an API serves, the default one last.
type versions struct {
	served   []version.Version
	optional bool // see API.VersionOptional
	anyMinor bool // see API.AnyMinor
}

// negotiate writes the version of the answer and, for an interface of the standard, that its JSON has no ranges. An
// error of the Version header is answered in the default version.
func (v versions) negotiate(out, in http.Header) error {
	if len(v.served) == 0 {
		return nil
	}
	got, err := v.of(in.Values(version.Header))
	out.Set(version.Header, got)
	out.Set("Accept-Ranges", "none") // a file says otherwise
	return err
}

// of returns the version that a header names, or the default one and what is wrong with the header.
func (v versions) of(given []string) (string, error) {
	current := v.served[len(v.served)-1].String()
	switch {
	case len(given) == 1 && given[0] == current, len(given) == 0 && v.optional:
		return current, nil
	case len(given) > 1:
		return current, lcm.Errorf(lcm.CodeInvalid, "the request has %d Version headers; want one", len(given))
	}
	header := ""
	if len(given) == 1 {
		header = given[0]
	}
	major := v.served[len(v.served)-1].Major
	if wanted, err := version.Parse(header); v.anyMinor && err == nil && wanted.Major == major {
		return current, nil
	}
	got, err := version.Negotiate(header, v.served...)
	hint := "send Version: " + current
	switch {
	case err == nil:
		return got.String(), nil
	case errors.Is(err, version.ErrMissing):
		return current, lcm.Errorf(lcm.CodeInvalid, "'Version' HTTP header missing.").WithHint(hint)
	case errors.Is(err, version.ErrUnsupported):
		return current, lcm.Errorf(lcm.CodeNotAcceptable, "%s", err).WithHint(hint)
	default:
		return current, lcm.Errorf(lcm.CodeInvalid, "%s", err).WithHint(hint)
	}
}

// Versions returns the handler of an api_versions resource (SOL013 clause 9.3). None of the versions is deprecated.
func Versions(prefix string, served ...string) Handler {
	info := sol.ApiVersionInformation{URIPrefix: prefix}
	for _, v := range served {
		info.ApiVersions = append(info.ApiVersions, sol.ApiVersion{Version: v})
	}
	return func(w http.ResponseWriter, _ *Request) error {
		return WriteJSON(w, http.StatusOK, info)
	}
}
