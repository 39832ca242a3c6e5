package nodeport_test

import (
	"errors"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/nodeport"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/redact"
)

// The errors of parameters point at the members.
func TestParametersAreChecked(t *testing.T) {
	t.Parallel()
	const at = "/additionalParams/lcm-kubernetes-external-lb"
	const ip, user = at + "/external_lb_param/ssh_ip", at + "/external_lb_param/ssh_username"
	login := func(change map[string]any) map[string]any {
		m := map[string]any{"ssh_ip": "192.168.10.182", "ssh_username": "ubuntu", "ssh_password": "ubuntu"}
		maps.Copy(m, change)
		return map[string]any{"script_path": "Scripts/configure_lb.sh", "external_lb_param": m}
	}
	for name, x := range map[string]struct {
		value any
		want  []string // pointers
	}{
		"good":         {login(nil), nil},
		"one address":  {login(map[string]any{"ssh_ip": "192.168.10.182/32"}), nil},
		"IPv6":         {login(map[string]any{"ssh_ip": "2001:db8::5"}), nil},
		"no script":    {map[string]any{"external_lb_param": login(nil)["external_lb_param"]}, nil},
		"absent":       {nil, []string{at}},
		"a text":       {"x", []string{at}},
		"no login":     {map[string]any{}, []string{at + "/external_lb_param"}},
		"login a list": {map[string]any{"external_lb_param": []any{}}, []string{at + "/external_lb_param"}},
		"empty login": {map[string]any{"external_lb_param": map[string]any{}}, []string{
			at + "/external_lb_param/ssh_ip", at + "/external_lb_param/ssh_password",
			at + "/external_lb_param/ssh_username",
		}},
		"wrong types": {login(map[string]any{"ssh_ip": 5, "ssh_username": true, "ssh_password": []any{}}), []string{
			at + "/external_lb_param/ssh_ip", at + "/external_lb_param/ssh_password",
			at + "/external_lb_param/ssh_username",
		}},
		"script a number": {map[string]any{
			"script_path": 1, "external_lb_param": login(nil)["external_lb_param"],
		}, []string{at + "/script_path"}},
		"a network":     {login(map[string]any{"ssh_ip": "192.168.10.0/24"}), []string{ip}},
		"a name":        {login(map[string]any{"ssh_ip": "lb.example"}), []string{ip}},
		"any address":   {login(map[string]any{"ssh_ip": "0.0.0.0"}), []string{ip}},
		"hostile user":  {login(map[string]any{"ssh_username": "a b;c"}), []string{user}},
		"no key":        {login(map[string]any{"private_key": "x"}), []string{at + "/external_lb_param/private_key"}},
		"null password": {login(map[string]any{"ssh_password": nil}), []string{at + "/external_lb_param/ssh_password"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := lcm.Request{
				Type: sol.LcmOperationInstantiate, Instance: &lcm.Instance{}, AdditionalParams: sol.KeyValuePairs{},
			}
			if x.value != nil {
				r.AdditionalParams[nodeport.ParamKey] = x.value
			}
			require.Equal(t, x.want, pointers(t, nodeport.New(nodeport.Options{}).Validate(t.Context(), r)))
		})
	}
}

func pointers(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*lcm.Error](err)
	require.True(t, ok)
	require.Equal(t, lcm.CodeUnprocessable, e.Code)
	require.NotContains(t, e.Detail, "ssh_password\":\"")
	var out []string
	for _, p := range e.Params {
		out = append(out, p.Pointer)
	}
	return out
}

// An operation that the instance does not remember cannot move the CNF to another load balancer, and a CNF is in one
// cluster of Kubernetes.
func TestTheLoadBalancerFitsTheInstance(t *testing.T) {
	t.Parallel()
	const own = `{"lcm-kubernetes-external-lb": {"external_lb_param": {"ssh_ip": "192.168.10.182",
		"ssh_username": "ubuntu", "ssh_password": "ubuntu"}}}`
	params := func(ip string) sol.KeyValuePairs {
		return sol.KeyValuePairs{nodeport.ParamKey: map[string]any{"external_lb_param": map[string]any{
			"ssh_ip": ip, "ssh_username": "ubuntu", "ssh_password": "ubuntu",
		}}}
	}
	vims := func(types ...string) map[string]sol.VimConnectionInfo {
		out := map[string]sol.VimConnectionInfo{}
		for n, vimType := range types {
			c := sol.VimConnectionInfo{VimType: vimType}
			if n > 0 {
				c.Extra = sol.KeyValuePairs{lcm.ExtraVDUs: []any{"VDU2"}}
			}
			out[[]string{"vim1", "vim2"}[n]] = c
		}
		return out
	}
	const ip = "/additionalParams/lcm-kubernetes-external-lb/external_lb_param/ssh_ip"
	for name, x := range map[string]struct {
		typ    sol.LcmOperationType
		has    sol.RawPairs
		params sol.KeyValuePairs
		vims   map[string]sol.VimConnectionInfo
		want   []string
	}{
		"heal":           {sol.LcmOperationHeal, own, params("192.168.10.182"), nil, nil},
		"heal moves":     {sol.LcmOperationHeal, own, params("192.168.10.183"), nil, []string{ip}},
		"heal gives one": {sol.LcmOperationHeal, "", params("192.168.10.183"), nil, []string{ip}},
		"heal without":   {sol.LcmOperationHeal, own, nil, nil, nil},
		"package moves":  {sol.LcmOperationChangeVnfpkg, own, params("192.168.10.183"), nil, nil},
		"terminate":      {sol.LcmOperationTerminate, own, params("192.168.10.183"), nil, nil},
		"Kubernetes": {
			sol.LcmOperationInstantiate, "", params("192.168.10.182"), vims("ETSINFV.KUBERNETES.V_1"), nil,
		},
		"Helm": {sol.LcmOperationInstantiate, "", params("192.168.10.182"), vims("ETSINFV.HELM.V_3"), nil},
		"OpenStack": {
			sol.LcmOperationInstantiate, "", params("192.168.10.182"), vims("ETSINFV.OPENSTACK_KEYSTONE.V_3"),
			[]string{"/vimConnectionInfo/vim1/vimType"},
		},
		"two clusters": {
			sol.LcmOperationInstantiate, "", params("192.168.10.182"),
			vims("ETSINFV.KUBERNETES.V_1", "ETSINFV.KUBERNETES.V_1"),
			[]string{"/vimConnectionInfo/vim2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := lcm.Request{
				Type: x.typ, Instance: &lcm.Instance{Params: x.has, VimConnections: x.vims}, AdditionalParams: x.params,
			}
			require.Equal(t, x.want, pointers(t, nodeport.New(nodeport.Options{}).Validate(t.Context(), r)))
		})
	}
}

// The password is a secret by its name, in both spellings.
func TestThePasswordIsASecret(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ssh_password", "sshPassword", "private_key", "privateKey"} {
		require.True(t, redact.IsSecretName(name), name)
	}
	for _, name := range []string{"ssh_ip", "sshIp", "ssh_username", "scriptPath", "lcm-kubernetes-external-lb"} {
		require.False(t, redact.IsSecretName(name), name)
	}
}

// The preview says where the ports go, and that the package's script is not run.
func TestPreview(t *testing.T) {
	t.Parallel()
	r := lcm.Request{Type: sol.LcmOperationInstantiate, AdditionalParams: sol.KeyValuePairs{
		nodeport.ParamKey: map[string]any{"script_path": "Scripts/configure_lb.sh", "external_lb_param": map[string]any{
			"ssh_ip": "192.168.10.182", "ssh_username": "ubuntu", "ssh_password": "secret",
		}},
	}}
	lines := map[lcm.Hook][]string{}
	for _, h := range nodeport.New(nodeport.Options{}).Hooks() {
		if h.Preview != nil {
			lines[h.Hook] = h.Preview(r)
		}
	}
	require.Len(t, lines[lcm.HookInstantiateEnd], 2)
	require.Contains(t, lines[lcm.HookInstantiateEnd][0], "192.168.10.182")
	require.Contains(t, lines[lcm.HookInstantiateEnd][1], "Scripts/configure_lb.sh of the package is not run")
	require.Len(t, lines[lcm.HookTerminateEnd], 1)
	require.NotContains(t, lines[lcm.HookInstantiateEnd][0]+lines[lcm.HookTerminateEnd][0], "secret")
}
