package web_test

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/web"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// pages are all kinds of pages.
var pages = map[string]string{
	"instances": "/ui/", "instance": "/ui/instances/" + cluster, "instance-idle": "/ui/instances/" + idle,
	"instance-snapshots": "/ui/instances/" + site,
	"operation":          "/ui/operations/" + running, "operation-failed": "/ui/operations/" + failed,
	"operation-ended": "/ui/operations/" + finished, "operation-scaling": "/ui/operations/" + scaling,
	"operation-healed": "/ui/operations/" + healed, "operation-modified": "/ui/operations/" + modified,
	"packages": "/ui/packages", "package": "/ui/packages/" + good, "package-refused": "/ui/packages/" + refused,
	"package-foreign": "/ui/packages/" + foreign,
	"nodes":           "/ui/nodes", "subscriptions": "/ui/subscriptions",
}

// handler serves the console at a public URL; "" is the root of a host.
func handler(d web.Deps, publicURL ...string) http.Handler {
	f := frame.New(frame.Options{Log: slog.New(slog.DiscardHandler), PublicURL: strings.Join(publicURL, "")})
	web.Mount(f, d)
	return f
}

func get(t *testing.T, h http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return rec
}

// content is what a page shows, without what changes with every build of the assets.
func content(t *testing.T, rec *httptest.ResponseRecorder) string {
	t.Helper()
	_, main, ok := strings.Cut(rec.Body.String(), "<main ")
	require.True(t, ok, rec.Body.String())
	main, _, _ = strings.Cut(main, "</main>")
	_, main, _ = strings.Cut(main, ">")
	return main
}

func TestEveryPageShowsWhatItDid(t *testing.T) {
	t.Parallel()
	h := handler(sample().deps())
	for name, path := range pages {
		rec := get(t, h, path)
		require.Equal(t, http.StatusOK, rec.Code, name)
		golden := filepath.Join("testdata", name+".html")
		if *update {
			require.NoError(t, os.WriteFile(golden, []byte(content(t, rec)), 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Equal(t, string(want), content(t, rec), "%s: go test ./web -update, then look at the difference", name)
	}
}

// That an instantiated VNF "may" hold something in the VIM would only make its user wonder.
func TestOnlyWhatIsNotInstantiatedSaysWhatItMayHold(t *testing.T) {
	t.Parallel()
	w := sample()
	require.Contains(t, content(t, get(t, handler(w.deps()), "/ui/instances/"+cluster)), "the VIM may hold some")
	w.instances[0].State = sol.InstantiationStateInstantiated
	require.NotContains(t, content(t, get(t, handler(w.deps()), "/ui/instances/"+cluster)), "VIM resources")
}

func TestNoPageRunsOrLoadsWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	h := handler(sample().deps())
	foreign := regexp.MustCompile(
		`(?i)(?:src|href)="(?:[a-z]+:)?//|<script[^>]*>[^<]|\sstyle=|\son[a-z]+=|<style|javascript:`,
	)
	asset := regexp.MustCompile(`(?:src|href)="(/ui/assets/[^"]+)"`)
	for name, path := range pages {
		rec := get(t, h, path)
		require.Equal(
			t, "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
			rec.Header().Get("Content-Security-Policy"), name,
		)
		require.Equal(t, "nosniff", rec.Header().Get("X-Content-Type-Options"))
		require.Equal(t, "no-store", rec.Header().Get("Cache-Control"))
		require.Empty(t, foreign.FindString(rec.Body.String()), name)
		for _, m := range asset.FindAllStringSubmatch(rec.Body.String(), -1) {
			a := get(t, h, m[1])
			require.Equal(t, http.StatusOK, a.Code, m[1])
			require.Contains(t, a.Header().Get("Cache-Control"), "immutable")
			require.NotContains(t, a.Body.String(), "sourceMappingURL")
		}
	}
}

func TestNoPageShowsASecret(t *testing.T) {
	t.Parallel()
	h := handler(sample().deps())
	for name, path := range pages {
		require.NotContains(t, get(t, h, path).Body.String(), secret, name)
	}
	require.Contains(t, get(t, h, pages["instance"]).Body.String(), "nfv_user", "what is no secret shows")
	require.Contains(t, get(t, h, pages["operation"]).Body.String(), "k8s_cluster_installation_param")
}

func TestTextOfOthersIsEscaped(t *testing.T) {
	t.Parallel()
	w := sample()
	const evil = `"><script>alert(1)</script>`
	w.instances[0].Name, w.instances[0].ProductName = evil, evil
	w.instances[0].Inventory[0].Host = evil
	w.steps[running][0].Name, w.steps[running][0].Detail = evil, evil
	w.ops[1].Error.Detail = evil
	w.packages[1].Failure.Detail = evil
	w.nodes[0].Address = evil
	w.subs[1].Error, w.subs[1].Subscription.Callback = evil, "http://"+evil
	h := handler(w.deps())
	for name, path := range pages {
		require.NotContains(t, get(t, h, path).Body.String(), "<script>alert", name)
	}
	body := get(t, h, pages["operation"]).Body.String()
	require.Contains(t, body, "&lt;b&gt;kubeadm&lt;/b&gt;", "output of machines")
	require.NotContains(t, body, "\x1b", "control sequences of terminals are taken out")
}

func TestEveryStateHasAWordAndAShape(t *testing.T) {
	t.Parallel()
	h := handler(sample().deps())
	badge := regexp.MustCompile(`<span class="badge [a-z]+" title="[A-Z_]+"><svg class="shape"[^>]*aria-hidden="true">\s*<[^/].*?</svg>[A-Z][A-Za-z ,]+</span>`)
	for name, path := range pages {
		body := strings.ReplaceAll(get(t, h, path).Body.String(), "\n", "")
		require.Len(t, badge.FindAllString(body, -1), strings.Count(body, `<span class="badge `), name)
	}
}

func TestPagesThatAreNotThere(t *testing.T) {
	t.Parallel()
	h := handler(sample().deps())
	for _, path := range []string{
		"/ui/instances/nope", "/ui/operations/nope", "/ui/packages/nope", "/ui/nothing",
		"/ui/assets/x/nothing.js", "/ui/assets/x/%ff", "/ui/assets/x/%c0%ae%c0%ae",
		"/ui/assets/x/%2e%2e%2ftemplates%2flayout.html",
	} {
		rec := get(t, h, path)
		require.Equal(t, http.StatusNotFound, rec.Code, path)
		require.Contains(t, rec.Body.String(), "<h1>Not Found</h1>", path)
		require.Contains(t, rec.Header().Get("Content-Security-Policy"), "default-src 'self'", path)
	}
	require.Contains(t, get(t, h, "/ui/instances/nope").Body.String(), "there is no VNF instance nope")
}

func TestADatabaseThatIsAwayIsSaidWithoutItsWords(t *testing.T) {
	t.Parallel()
	w := sample()
	w.down = lcm.Errorf(lcm.CodeUnavailable, "the database does not answer").WithHint("try again soon")
	rec := get(t, handler(w.deps()), "/ui/")
	require.Equal(t, http.StatusServiceUnavailable, rec.Code)
	require.Contains(t, rec.Body.String(), "try again soon")
	w.down = errors.New("dial tcp 10.0.0.9: password=" + secret)
	rec = get(t, handler(w.deps()), "/ui/")
	require.Equal(t, http.StatusInternalServerError, rec.Code)
	require.NotContains(t, rec.Body.String(), secret)
}

func TestLinksHaveThePrefixOfThePublicURL(t *testing.T) {
	t.Parallel()
	body := get(t, handler(sample().deps(), "https://nfv.example/nfv"), pages["instance"]).Body.String()
	require.NotRegexp(t, `(?:href|src|connect)="/(?:ui|gybe)`, body)
	require.Contains(t, body, `hx-sse:connect="/nfv/ui/events/instances/`+cluster+`"`)
	require.Contains(t, body, `href="/nfv/ui/instances/`+cluster+`/kubeconfig"`)
}

func TestListsHavePages(t *testing.T) {
	t.Parallel()
	w := sample()
	w.instances = nil
	for n := range 205 {
		w.instances = append(
			w.instances, &lcm.Instance{ID: fmt.Sprintf("i-%03d", n), Name: fmt.Sprintf("name-%03d", n)},
		)
	}
	h := handler(w.deps())
	next := regexp.MustCompile(`href="(\?after=[^"]+)" rel="next"`)
	seen, path := 0, "/ui/"
	for range 3 {
		body := get(t, h, path).Body.String()
		seen += strings.Count(body, `<tr id="i-`)
		if m := next.FindStringSubmatch(body); m != nil {
			path = "/ui/" + m[1]
		} else {
			path = ""
		}
	}
	require.Equal(t, 205, seen)
	require.Empty(t, path)
	require.Contains(t, get(t, h, "/ui/?after=i-099").Body.String(), `hx-sse:connect="/ui/events/?after=i-099"`)
}

func TestOnlyTheEndOfLongOutputIsShown(t *testing.T) {
	t.Parallel()
	w := sample()
	w.lines[running] = nil
	for n := range 5000 {
		l := gybeapi.Line{}
		l.StepID, l.Text = 5, fmt.Sprintf("line-%04d.", n)
		w.lines[running] = append(w.lines[running], l)
	}
	body := get(t, handler(w.deps()), pages["operation"]).Body.String()
	require.Contains(t, body, "4800 older lines are not shown")
	require.Contains(t, body, "line-4800.")
	require.NotContains(t, body, "line-4799.")
	require.Contains(t, body, `log=5000"`)
}

func TestAnEndedOperationIsNotFollowed(t *testing.T) {
	t.Parallel()
	h := handler(sample().deps())
	require.NotContains(t, get(t, h, pages["operation-ended"]).Body.String(), "hx-sse:connect")
	require.Contains(t, get(t, h, pages["operation-failed"]).Body.String(), "hx-sse:connect", "a user may retry it")
}

// TestTheConsoleIsServedByTheFrame: authentication, the log line and the metrics are those of the API.
func TestTheConsoleIsServedByTheFrame(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	var observed []string
	f := frame.New(frame.Options{
		Log: slog.New(slog.NewTextHandler(&log, nil)), Auth: refusing{},
		Observe: func(_, route string, status int, _ time.Duration) {
			observed = append(observed, fmt.Sprint(route, " ", status))
		},
	})
	web.Mount(f, sample().deps())

	for _, path := range []string{"/ui/", "/ui/instances/" + cluster, "/ui/events/nodes"} {
		rec := get(t, f, path)
		require.Equal(t, http.StatusUnauthorized, rec.Code, path)
		require.Contains(t, rec.Body.String(), "who are you", path)
		require.NotContains(t, rec.Body.String(), "core-cluster", path)
		require.NotEmpty(t, rec.Header().Get("X-Request-Id"))
		require.NotEmpty(t, rec.Header().Get("WWW-Authenticate"))
	}
	require.Equal(t, []string{"/ui/ 401", "/ui/instances/{id} 401", "/ui/events/nodes 401"}, observed)
	require.Equal(t, 3, strings.Count(log.String(), "msg=request"), "one line for each request")

	for path, location := range map[string]string{"/": "/ui/", "/ui": "/ui/"} {
		rec := get(t, f, path)
		require.Equal(t, http.StatusFound, rec.Code)
		require.Equal(t, location, rec.Header().Get("Location"))
	}
}

type refusing struct{}

func (refusing) Challenges() []string { return nil }

func (refusing) Authenticate(*http.Request) (frame.Principal, error) {
	return frame.Principal{}, lcm.Errorf(lcm.CodeUnauthorized, "who are you?")
}
