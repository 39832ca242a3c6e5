package frame_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// TestPublicRoutesNeedNoLogin: probes, for example; all others do.
func TestPublicRoutesNeedNoLogin(t *testing.T) {
	t.Parallel()
	f := frame.New(frame.Options{Log: slog.New(slog.DiscardHandler), Auth: locked{}})
	fine := func(w http.ResponseWriter, _ *frame.Request) error { return frame.NoContent(w) }
	f.Mount(frame.API{Routes: []frame.Route{
		{Method: "GET", Path: "/probe", Handle: fine, Public: true}, {Method: "GET", Path: "/data", Handle: fine},
	}})
	for path, status := range map[string]int{"/probe": 204, "/data": 401} {
		rec := httptest.NewRecorder()
		f.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, path, nil))
		require.Equal(t, status, rec.Code, path)
		if status == http.StatusUnauthorized {
			require.Equal(t, []string{`Bearer realm="gybe"`, "Keystone"}, rec.Header().Values("WWW-Authenticate"))
		}
	}
}

// Without a role of their own, routes that read require a reader, and all others an operator.
func TestRoutesRequireARole(t *testing.T) {
	t.Parallel()
	var p frame.Principal
	f := frame.New(frame.Options{Log: slog.New(slog.DiscardHandler), Auth: open{&p}})
	fine := func(w http.ResponseWriter, _ *frame.Request) error { return frame.NoContent(w) }
	f.Mount(frame.API{Prefix: "/x", Routes: []frame.Route{
		{Method: "GET", Path: "/data", Handle: fine},
		{Method: "POST", Path: "/data", Handle: fine},
		{Method: "GET", Path: "/key", Handle: fine, Role: lcm.RoleOperator, Secret: true},
		{Method: "GET", Path: "/audit", Handle: fine, Role: lcm.RoleAdmin},
	}})
	require.Equal(t, []frame.Access{
		{Method: "GET", Route: "/x/data", Role: lcm.RoleReader},
		{Method: "POST", Route: "/x/data", Role: lcm.RoleOperator},
		{Method: "GET", Route: "/x/key", Role: lcm.RoleOperator, Secret: true},
		{Method: "GET", Route: "/x/audit", Role: lcm.RoleAdmin},
	}, f.Table())
	for _, role := range append([]lcm.Role{""}, lcm.Roles...) {
		p = frame.Principal{Role: role, Project: "blue"}
		for _, a := range f.Table() {
			rec := httptest.NewRecorder()
			f.ServeHTTP(rec, httptest.NewRequest(a.Method, a.Route, nil))
			if role.Includes(a.Role) {
				require.Equal(t, http.StatusNoContent, rec.Code, "%s %s as %q", a.Method, a.Route, role)
				continue
			}
			require.Equal(t, http.StatusForbidden, rec.Code, "%s %s as %q", a.Method, a.Route, role)
			require.Contains(t, rec.Body.String(), "requires the role "+string(a.Role))
			require.Contains(t, rec.Body.String(), "in the project blue")
		}
	}
}

// open accepts every request as the principal that it points to.
type open struct{ principal *frame.Principal }

func (o open) Authenticate(*http.Request) (frame.Principal, error) { return *o.principal, nil }
func (open) Challenges() []string                                  { return nil }

type locked struct{}

func (locked) Authenticate(*http.Request) (frame.Principal, error) {
	return frame.Principal{}, lcm.Errorf(lcm.CodeUnauthorized, "log in first")
}

func (locked) Challenges() []string { return []string{`Bearer realm="gybe"`, "Keystone"} }
