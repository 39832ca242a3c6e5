package helm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/helm/chart"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/tacker"
)

// unsupported are the operations that charts have nothing for, with the reason.
var unsupported = map[sol.LcmOperationType]string{
	sol.LcmOperationChangeExtConn:    "the pods of a Helm chart have no external connection points",
	sol.LcmOperationCreateSnapshot:   "snapshots of pods do not exist",
	sol.LcmOperationRevertToSnapshot: "snapshots of pods do not exist",
}

// Validate implements lcm.Infra. Charts of the package are read; those on servers are not.
func (*Driver) Validate(_ context.Context, r lcm.Request) error {
	if why, ok := unsupported[r.Type]; ok {
		return lcm.Errorf(lcm.CodeUnprocessable, "%s is not possible: %s", r.Type, why)
	}
	if r.Type == sol.LcmOperationTerminate || r.Flavour == nil {
		return nil
	}
	s, err := parse(r.AdditionalParams, r.Flavour, r.Instance.ID)
	if err != nil {
		return err
	}
	bad := s.otherNames(r)
	bad = append(bad, selections(r.Instance.VimConnections)...)
	bad = append(bad, s.unstoppable(r)...)
	for n := range s.releases {
		bad = append(bad, s.releases[n].check(r)...)
	}
	if r.Scope != nil {
		bad = append(bad, s.uncounted(r.Scope)...)
	}
	return lcm.Unprocessable(bad...)
}

// check reads the chart and the values of a release.
func (s *spec) check(r lcm.Request) []lcm.InvalidParam {
	var bad []lcm.InvalidParam
	if s.path != "" {
		if _, err := chart.FromPackage(r.Package, s.path); err != nil {
			bad = append(bad, lcm.InvalidParam{Pointer: "/additionalParams", Detail: lcm.AsError(err).Detail})
		}
	}
	if _, err := s.values(r.Package, nil); err != nil {
		bad = append(bad, lcm.InvalidParam{Pointer: "/additionalParams", Detail: lcm.AsError(err).Detail})
	}
	return bad
}

// otherNames rejects another namespace or other releases than those that the instance has.
func (s *settings) otherNames(r lcm.Request) []lcm.InvalidParam {
	f := r.Flavour
	if r.Previous != nil && r.Previous.Flavour != nil {
		f = r.Previous.Flavour
	}
	had, err := r.Instance.Params.Decode()
	if err != nil || r.Instance.Instantiated == nil {
		return nil
	}
	was, err := parse(had, f, r.Instance.ID)
	if err != nil {
		return nil
	}
	var bad []lcm.InvalidParam
	if was.namespace != s.namespace {
		bad = append(bad, lcm.InvalidParam{
			Pointer: "/additionalParams/" + paramNamespace,
			Detail:  fmt.Sprintf("the instance is in the namespace %s, which cannot be changed", was.namespace),
		})
	}
	names := func(s settings) (out []string) {
		for n := range s.releases {
			out = append(out, s.releases[n].name)
		}
		return out
	}
	if old := names(was); !slices.Equal(old, names(*s)) {
		bad = append(bad, lcm.InvalidParam{
			Pointer: "/additionalParams/" + paramInstall,
			Detail:  fmt.Sprintf("the instance has the releases %s, which cannot be changed", strings.Join(old, ", ")),
		})
	}
	return bad
}

// uncounted rejects a change of the number of VNFCs of a VDU without a value for it.
func (s *settings) uncounted(scope *lcm.Scope) []lcm.InvalidParam {
	var bad []lcm.InvalidParam
	for _, vdu := range slices.Sorted(maps.Keys(scope.Add)) {
		if !slices.ContainsFunc(s.releases, func(r spec) bool { return r.replicas[vdu] != "" }) {
			bad = append(bad, lcm.InvalidParam{
				Pointer: "/additionalParams/" + paramValueNames,
				Detail:  "does not have the value with the number of VNFCs of the VDU " + vdu,
			})
		}
	}
	return bad
}

// selections rejects connections for single VDUs: a release is in one cluster.
func selections(conns map[string]sol.VimConnectionInfo) []lcm.InvalidParam {
	var bad []lcm.InvalidParam
	for _, key := range slices.Sorted(maps.Keys(conns)) {
		if conns[key].Extra[lcm.ExtraVDUs] != nil {
			bad = append(bad, lcm.InvalidParam{
				Pointer: "/vimConnectionInfo/" + lcm.Escape(key) + "/extra/" + lcm.ExtraVDUs,
				Detail:  "is not possible for Helm charts: all VNFCs of a release are in one cluster",
			})
		}
	}
	return bad
}

// Granted implements lcm.Infra: an NFVO's grant cannot place pods, nor replace their images or sizes.
func (*Driver) Granted(_ context.Context, w *lcm.Execution) error {
	g := w.Op.Grant
	if g == nil || len(g.New) == 0 {
		return nil
	}
	var what string
	switch {
	case len(g.Zones) > 0:
		what = "zones"
	case len(g.Images) > 0:
		what = "software images"
	case len(g.Flavours) > 0:
		what = "flavours"
	default:
		return nil
	}
	return lcm.Errorf(lcm.CodeUnprocessable, "the grant %s decides on %s, which a Helm chart does itself", g.ID, what).
		WithHint("let the NFVO grant VNFCs of Helm charts without them; values of the chart are in helm_parameters")
}

// Options implements lcm.Infra. A HEAL that names no VNFC deletes and recreates the whole CNF, unless it says
// "all": false.
func (*Driver) Options(r lcm.Request) (lcm.Options, error) { return tacker.ContainerOptions(r) }

// Lasting implements lcm.Infra.
func (*Driver) Lasting(params sol.KeyValuePairs) sol.KeyValuePairs { return tacker.Lasting(params) }

// Replaces implements lcm.Infra: which pods an upgrade replaces depends on the templates of the chart, so all are
// listed.
func (*Driver) Replaces(r lcm.Request) ([]string, error) {
	var out []string
	if r.Instance.Instantiated == nil {
		return nil, nil
	}
	for _, c := range r.Instance.Instantiated.VnfcInfo {
		if r.Scope == nil || !slices.Contains(r.Scope.Remove, c.ID) {
			out = append(out, c.ID)
		}
	}
	return out, nil
}
