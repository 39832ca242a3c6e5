package app

import (
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// local are names that a browser does not look up in the DNS, so that other sites cannot let them point elsewhere. A
// forwarded port (SSH, kubectl) has them, too.
var local = []string{"localhost", "*.localhost"}

// origins returns the names that clients of the API may use, and the web site whose pages may change something.
func (a *App) origins() (*frame.Origins, error) {
	names := slices.Concat(local, a.cfg.Hosts)
	if listen, _, err := net.SplitHostPort(a.cfg.Listen); err == nil && listen != "" {
		names = append(names, listen)
	}
	if name, err := os.Hostname(); err == nil {
		names = append(names, name)
	}
	public, err := url.Parse(a.publicURL)
	if err != nil {
		return nil, err
	}
	origin := public.Scheme + "://" + public.Host
	for scheme, port := range map[string]string{"http": ":80", "https": ":443"} { // browsers leave them out
		if public.Scheme == scheme {
			origin = strings.TrimSuffix(origin, port)
		}
	}
	return frame.NewOrigins(append(names, public.Host), []string{origin})
}

// guardDebug lets only requests to localhost or an IP address reach the debug interface.
func guardDebug(h http.Handler) (http.Handler, error) {
	o, err := frame.NewOrigins(local, nil)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := o.Check(r); err != nil {
			e := lcm.AsError(err)
			http.Error(w, e.Error()+"; use a loopback address", e.Status())
			return
		}
		h.ServeHTTP(w, r)
	}), nil
}
