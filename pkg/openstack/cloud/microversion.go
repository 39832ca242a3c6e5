package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// microversion is a version of a service's API such as 2.79; its zero value is the oldest.
type microversion struct{ major, minor int }

func (v microversion) String() string { return strconv.Itoa(v.major) + "." + strconv.Itoa(v.minor) }

// understood holds, for the services that have microversions, the newest one whose answers this package reads, and the
// word that asks for it. A newer server answers as that version did.
//
// Nova 2.47 gives a server's flavour by name, 2.26 its tags, 2.53 and later name hypervisors by UUID. Cinder 3.60 lets
// a list be cut to volumes that are younger than the stack.
var understood = map[Service]struct {
	word   string
	newest microversion
}{
	Nova:   {"compute", microversion{2, 79}},
	Cinder: {"volume", microversion{3, 60}},
}

// microversions keeps what a session has agreed on with its services. It is safe for concurrent use.
type microversions struct {
	mu     sync.Mutex
	agreed map[Service]*agreement
}

// agreement is the outcome of asking one service; its lock is held while the service is asked.
type agreement struct {
	lock    chan struct{} // capacity 1
	known   bool
	version microversion // zero: none is asked for
}

func (m *microversions) of(svc Service) *agreement {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.agreed == nil {
		m.agreed = map[Service]*agreement{}
	}
	a, ok := m.agreed[svc]
	if !ok {
		a = &agreement{lock: make(chan struct{}, 1)}
		m.agreed[svc] = a
	}
	return a
}

// microversion returns the version that calls to a service ask for: the newest that both sides know; zero when they
// have none in common. The service is asked once per session. One that does not tell now is used as it has always been,
// and asked again the next time.
func (c *session) microversion(ctx context.Context, svc Service) microversion {
	want, ok := understood[svc]
	if !ok {
		return microversion{}
	}
	a := c.versions.of(svc)
	select {
	case a.lock <- struct{}{}:
		defer func() { <-a.lock }()
	case <-ctx.Done():
		return microversion{}
	}
	if a.known {
		return a.version
	}
	lowest, newest, err := c.readVersions(ctx, svc)
	if err != nil && lcm.AsError(err).Class != lcm.Permanent {
		return microversion{}
	}
	a.known = true
	if v := older(newest, want.newest); err == nil && v.major == want.newest.major && !less(v, lowest) {
		a.version = v
	}
	return a.version
}

func less(a, b microversion) bool {
	return a.major < b.major || a.major == b.major && a.minor < b.minor
}

func older(a, b microversion) microversion {
	if less(a, b) {
		return a
	}
	return b
}

// versionDocument is what a service says about one version of its API.
type versionDocument struct {
	Newest string `json:"version"`
	Lowest string `json:"min_version"`
}

// readVersions reads the document at the root of the version that we use.
func (c *session) readVersions(ctx context.Context, svc Service) (lowest, newest microversion, err error) {
	var out struct {
		Version  versionDocument   `json:"version"`
		Versions []versionDocument `json:"versions"`
	}
	base, err := c.base(svc)
	if err != nil {
		return lowest, newest, err
	}
	err = c.exchange(
		ctx, Call{What: "read the versions of " + string(svc), Service: svc, Method: http.MethodGet, Out: &out},
		versionRoot(base), nil,
	)
	if err != nil {
		return lowest, newest, err
	}
	for _, d := range append(out.Versions, out.Version) {
		low, lowErr := parseMicroversion(d.Lowest)
		high, highErr := parseMicroversion(d.Newest)
		if lowErr == nil && highErr == nil && !less(high, newest) {
			lowest, newest = low, high
		}
	}
	return lowest, newest, nil
}

// versionRoot cuts a service's URL behind the version: the project that some catalogues add is left out.
func versionRoot(base string) string {
	parts := strings.Split(base, "/")
	for i, p := range parts {
		if versioned.MatchString(p) {
			return strings.Join(parts[:i+1], "/") + "/"
		}
	}
	return base + "/"
}

func parseMicroversion(s string) (microversion, error) {
	major, minor, ok := strings.Cut(s, ".")
	x, errX := strconv.Atoi(major)
	y, errY := strconv.Atoi(minor)
	if !ok {
		return microversion{}, fmt.Errorf("%q is not a microversion", s)
	}
	return microversion{x, y}, errors.Join(errX, errY)
}

// header is what a call carries to get the agreed version.
func (c *session) header(ctx context.Context, svc Service) map[string]string {
	v := c.microversion(ctx, svc)
	if v == (microversion{}) {
		return nil
	}
	return map[string]string{"OpenStack-API-Version": understood[svc].word + " " + v.String()}
}
