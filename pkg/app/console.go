package app

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/gybe-nfv/gybe/api/gybe"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/web"
)

// withConsole serves the console at /ui/ and everything else by api. It is no http.ServeMux, because that redirects
// paths which it finds unclean, and a client of the interfaces must get an answer instead.
func (a *App) withConsole(api http.Handler) http.Handler {
	prefix := ""
	if u, err := url.Parse(a.publicURL); err == nil {
		prefix = strings.TrimRight(u.Path, "/")
	}
	console := web.Handler(web.Deps{
		Instances: a.store, Operations: a.store, Packages: a.packages, Feed: consoleFeed{Feed{a.store, a.feed}}, Nodes: nodes(a.store),
		Log: a.log, Prefix: prefix, Streams: a.cfg.Limits.EventStreams, Stopping: a.stopping, Observe: a.metrics.Request,
		Clock: lcm.SystemClock{},
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch p := r.URL.Path; {
		case (p == "/" || p == "/ui") && (r.Method == http.MethodGet || r.Method == http.MethodHead):
			http.Redirect(w, r, prefix+"/ui/", http.StatusFound)
		case strings.HasPrefix(p, "/ui/"):
			console.ServeHTTP(w, r)
		default:
			api.ServeHTTP(w, r)
		}
	})
}

// consoleFeed gives the event feed the shape that the console reads.
type consoleFeed struct{ Feed }

// Follow implements web.Feed.
func (f consoleFeed) Follow(q web.FeedQuery) (web.Follower, error) {
	return f.Feed.Follow(gybe.FeedQuery(q))
}
