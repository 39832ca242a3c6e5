package openstack_test

import (
	"log/slog"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack"
	"github.com/gybe-nfv/gybe/pkg/outbound"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/stubcloud"
)

// TestCheckOfAConnection: credentials and addresses are the user's mistakes, a VIM that fails is not.
func TestCheckOfAConnection(t *testing.T) {
	t.Parallel()
	answer := func(status int) func(*stubcloud.Cloud) {
		return func(s *stubcloud.Cloud) {
			s.Login = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
		}
	}
	for name, tt := range map[string]struct {
		prepare func(*stubcloud.Cloud)
		policy  *outbound.Policy
		code    lcm.Code
		pointer string
	}{
		"wrong password": {answer(401), nil, lcm.CodeUnprocessable, "/vimConnectionInfo/a~1b/accessInfo"},
		"address not allowed": {
			nil, &outbound.Policy{}, lcm.CodeUnprocessable, "/vimConnectionInfo/a~1b/interfaceInfo/endpoint",
		},
		"no Keystone": {
			answer(404), nil, lcm.CodeUnprocessable, "/vimConnectionInfo/a~1b/interfaceInfo/endpoint",
		},
		"forbidden": {answer(403), nil, lcm.CodeUpstream, ""},
		"failing":   {answer(500), nil, lcm.CodeUnavailable, ""},
		"busy":      {answer(503), nil, lcm.CodeUnavailable, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stubcloud.New(t)
			if tt.prepare != nil {
				tt.prepare(s)
			}
			d := openstack.New(openstack.Config{Outbound: tt.policy}, slog.New(slog.DiscardHandler))
			t.Cleanup(d.Close)
			_, err := d.Check(t.Context(), "a/b", s.Vim())
			e := lcm.AsError(err)
			require.NotNil(t, e)
			require.Equal(t, tt.code, e.Code, e)
			stubcloud.SecretFree(t, e.Error())
			if tt.pointer == "" {
				require.Empty(t, e.Params)
				return
			}
			require.Equal(t, []lcm.InvalidParam{{Pointer: tt.pointer, Detail: e.Detail}}, e.Params)
		})
	}
}

// TestPlanWithWrongPassword: the user of the plan can correct the credentials, whether Keystone refuses the login or
// the renewal of a token.
func TestPlanWithWrongPassword(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}))
	w.instantiate("simple")
	w.store.instance.VimConnections["vim1"].AccessInfo["password"] = "wrong"
	op, i := w.store.op, copied(w.store.instance)
	d, _ := w.node()
	t.Cleanup(d.Close)
	_, err := d.Preview(t.Context(), lcm.Request{
		Type: op.Type, Instance: &i, VNFD: w.pkg.model, Flavour: &w.pkg.model.Flavours[0], Package: w.pkg.files,
		Params: op.Params, Scope: op.Scope,
	})
	e := lcm.AsError(err)
	require.Equal(t, lcm.CodeUnprocessable, e.Code, e)
	require.Equal(t, "VIM authentication failed", e.Title)
	require.Equal(t, []lcm.InvalidParam{{Pointer: "/vimConnectionInfo/vim1/accessInfo", Detail: e.Detail}}, e.Params)
}
