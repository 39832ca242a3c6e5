package chart

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	repo "helm.sh/helm/v4/pkg/repo/v1"
	"sigs.k8s.io/yaml"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/outbound"
	"github.com/gybe-nfv/gybe/pkg/redirect"
)

const (
	maxIndex     = 32 << 20 // bytes of the index of a repository
	fetchTimeout = time.Minute
	dialTimeout  = 15 * time.Second
)

// Source is a chart on a server.
type Source struct {
	// Repository is the URL of a chart repository (https, http) or of a folder of an OCI registry (oci).
	Repository string
	// Name is that of the chart in the repository.
	Name string
	// Version is a version, or in a chart repository a range of them; "" is the newest one, which only a chart
	// repository knows.
	Version string
	// Username and Password are sent to the server of the repository and to no other; "" are none.
	Username, Password string
}

// String names the chart in errors.
func (s Source) String() string {
	name := strings.TrimSuffix(s.Repository, "/") + "/" + s.Name
	if s.Version != "" {
		name += " " + s.Version
	}
	return name
}

// Check returns the problem of a Source that cannot be right; it contacts no server.
func (s Source) Check() error {
	u, err := url.Parse(s.Repository)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "oci":
		return errors.New("is not a URL that begins with https://, http:// or oci://")
	case u.User != nil:
		return errors.New("has credentials; give them as helm_repository_username and helm_repository_password")
	case u.Scheme == "oci" && s.Version == "":
		return errors.New("is an OCI registry, which needs helm_chart_version")
	}
	return nil
}

// Servers fetches charts. It is safe for concurrent use.
type Servers struct{ http *http.Client }

// NewServers returns a Servers that connects as the policy allows; nil allows all. wrap puts a layer around the
// transport, for tests; nil is none.
func NewServers(p *outbound.Policy, wrap func(http.RoundTripper) http.RoundTripper) *Servers {
	t := &http.Transport{
		TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: fetchTimeout, IdleConnTimeout: time.Minute,
		MaxIdleConns: 10, ForceAttemptHTTP2: true,
	}
	p.Route(t, dialTimeout)
	var rt http.RoundTripper = t
	if wrap != nil {
		rt = wrap(t)
	}
	return &Servers{http: &http.Client{Transport: rt, Timeout: fetchTimeout, CheckRedirect: follow}}
}

// follow drops the credentials of a redirect to another server. Registries redirect to storage servers.
func follow(req *http.Request, via []*http.Request) error {
	if len(via) > 5 {
		return errors.New("the server redirects more than 5 times")
	}
	if via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return errors.New("redirects from https to http are not followed")
	}
	if redirect.SameServer(req, via) != nil {
		req.Header.Del("Authorization")
	}
	return nil
}

// Close closes idle connections.
func (s *Servers) Close() { s.http.CloseIdleConnections() }

// Fetch brings a chart. Errors: CodeUnprocessable when the server does not have it or it is no chart; CodeUpstream when
// the server refuses; a transient CodeUnavailable when it does not answer.
func (s *Servers) Fetch(ctx context.Context, src Source) (*chart.Chart, error) {
	if strings.HasPrefix(src.Repository, "oci://") {
		return s.pull(ctx, src)
	}
	base := strings.TrimSuffix(src.Repository, "/") + "/"
	raw, err := s.get(ctx, src, base+"index.yaml", maxIndex)
	if err != nil {
		return nil, err
	}
	var index repo.IndexFile
	if err := yaml.Unmarshal(raw, &index); err != nil || len(index.Entries) == 0 {
		return nil, unusable(src.String(), fmt.Errorf("%sindex.yaml is not the index of a chart repository", base))
	}
	for name, versions := range index.Entries {
		index.Entries[name] = usable(versions)
	}
	index.SortEntries()
	v, err := index.Get(src.Name, src.Version)
	if err != nil {
		return nil, unusable(src.String(), fmt.Errorf("the repository does not have it: %w", err))
	}
	at, err := resolve(base, v.URLs[0])
	if err != nil {
		return nil, unusable(src.String(), err)
	}
	if raw, err = s.get(ctx, src, at, maxArchive); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(raw)
	if v.Digest != "" && strings.TrimPrefix(v.Digest, "sha256:") != hex.EncodeToString(sum[:]) {
		return nil, unusable(src.String(), errors.New("it does not have the digest of the index"))
	}
	return unpack(src.String(), strings.NewReader(string(raw)))
}

// usable are the entries of an index that name a version and an archive.
func usable(all repo.ChartVersions) repo.ChartVersions {
	var out repo.ChartVersions
	for _, v := range all {
		if v != nil && v.Metadata != nil && v.Version != "" && len(v.URLs) > 0 {
			out = append(out, v)
		}
	}
	return out
}

func resolve(base, ref string) (string, error) {
	b, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	u, err := b.Parse(ref)
	if err != nil {
		return "", fmt.Errorf("its address in the index is not a URL: %w", err)
	}
	if u.Scheme != "https" && u.Scheme != "http" {
		return "", fmt.Errorf("its address in the index begins with %s://", u.Scheme)
	}
	return u.String(), nil
}

// get reads a file of a chart repository.
func (s *Servers) get(ctx context.Context, src Source, at string, limit int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return nil, unusable(src.String(), err)
	}
	if src.Username != "" && sameServer(src.Repository, req.URL) {
		req.SetBasicAuth(src.Username, src.Password)
	}
	res, err := s.http.Do(req)
	if err != nil {
		return nil, unreachable(src, err)
	}
	defer func() { _ = res.Body.Close() }() // it was only read
	if res.StatusCode != http.StatusOK {
		return nil, refused(src, req.URL.Redacted(), res.StatusCode)
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err != nil {
		return nil, unreachable(src, err)
	}
	if int64(len(raw)) > limit {
		return nil, unusable(src.String(), fmt.Errorf("%s is larger than %d MiB", req.URL.Redacted(), limit>>20))
	}
	return raw, nil
}

func sameServer(repository string, at *url.URL) bool {
	u, err := url.Parse(repository)
	return err == nil && u.Scheme == at.Scheme && u.Host == at.Host
}

// unreachable is the error of a server that does not answer, or that the policy does not allow.
func unreachable(src Source, err error) error {
	e := lcm.Errorf(lcm.CodeUnavailable, "get the Helm chart %s: %w", src, err)
	e.Title, e.Class = "Chart repository failed", lcm.Transient
	if _, forbidden := errors.AsType[*outbound.Error](err); forbidden {
		e.Code, e.Class = lcm.CodeUnprocessable, lcm.Permanent
	}
	return e
}

// refused is the error of an answer other than 200.
func refused(src Source, at string, status int) error {
	text := http.StatusText(status)
	e := lcm.Errorf(lcm.CodeUpstream, "get the Helm chart %s: %s answered %d %s", src, at, status, text)
	e.Title = "Chart repository failed"
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e.Class, e.Hint = lcm.Auth, "check helm_repository_username and helm_repository_password"
	case status == http.StatusNotFound:
		e.Code, e.Hint = lcm.CodeUnprocessable, "check helm_repository_url, helm_chart_name and helm_chart_version"
	case status == http.StatusTooManyRequests || status >= http.StatusInternalServerError:
		e.Class = lcm.Transient
	}
	return e
}
