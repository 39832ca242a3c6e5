package lcm_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/test/apitest"
)

const (
	defectID     = "5f1a9a3e-8d37-4c0b-9c55-2f3d53c0a003"
	defectPkgID  = "0d2b3f7e-7a2f-4a39-8a5e-3a4f4c6a1b14"
	noDefault    = `df.yaml:1: the flavour "simple" has 3 instantiation levels, but no default_level`
	noDelta      = `df.yaml:2: no policy defines the delta "more"`
	noCounts     = `df.yaml:3: the numbers of VNFCs at "big" are not known`
	noNode       = `df.yaml:4: substitution_mappings names "gone", which is not declared`
	noUse        = `other.yaml declares a flavour, and it is ignored`
	otherFlavour = "other"
)

// withDefects is the cluster package with the defects that concern some operations.
func withDefects() *vnfd.VNFD {
	m := apitest.Cluster(defectID, "1.0")
	f := &m.Flavours[0]
	f.DefaultLevel = ""
	f.Warnings = []vnfd.Warning{
		{Code: vnfd.NoDefaultLevel, Subject: f.ID, Text: noDefault},
		{Code: vnfd.UnknownDelta, Subject: "workers", Text: noDelta},
		{Code: vnfd.UnknownCounts, Subject: "big", Text: noCounts},
		{Code: vnfd.UnknownNode, Subject: "gone", Text: noNode},
	}
	f.VirtualCPs = []vnfd.VirtualCP{{Name: "service"}}
	m.Warnings = []vnfd.Warning{{Code: vnfd.UnusableFlavour, Subject: otherFlavour, Text: noUse}}
	return m
}

// request is a request to instantiate the flavour at a level.
func request(flavour, level string) sol.InstantiateVnfRequest {
	params := apitest.Params()
	params.FlavourID, params.InstantiationLevelID = flavour, level
	return params
}

// The operation that meets a defect is refused with the text of the package's warning; the others work.
func TestDefectsAreErrorsOfTheOperationsThatMeetThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Add(t, defectPkgID, withDefects())
	i, err := w.Service.CreateInstance(t.Context(), sol.CreateVnfRequest{VnfdID: defectID})
	require.NoError(t, err)
	w.id = i.ID
	refused := func(op sol.LcmOperationType, body, pointer, text string) {
		t.Helper()
		_, err := w.do(op, body)
		e := lcm.AsError(err)
		require.NotNil(t, e)
		require.Equal(t, lcm.CodeUnprocessable, e.Code, "%+v", e)
		require.Contains(t, e.Params, lcm.InvalidParam{Pointer: pointer, Detail: text})
	}
	instantiate := func(flavour, level string) string { return string(encode(t, request(flavour, level))) }

	const level = "/instantiationLevelId"
	refused(sol.LcmOperationInstantiate, instantiate("simple", ""), level,
		noDefault+"; name one of default, small, big")
	refused(sol.LcmOperationInstantiate, instantiate("simple", "big"), level, noCounts)
	refused(sol.LcmOperationInstantiate, instantiate("simple", "huge"), level,
		`flavour simple has no instantiation level "huge"; it has default, small, big`)
	refused(sol.LcmOperationInstantiate, instantiate(otherFlavour, ""), "/flavourId",
		`the VNFD has no flavour "other"; it has simple, complex; `+noUse)
	connected := request("simple", "small")
	connected.ExtVirtualLinks = []sol.ExtVirtualLinkData{
		{ID: "l", ResourceID: "n", ExtCps: []sol.VnfExtCpData{{CpdID: "gone"}}},
	}
	refused(sol.LcmOperationInstantiate, string(encode(t, connected)), "/extVirtualLinks/0/extCps/0/cpdId",
		`flavour simple has no connection point "gone"; `+noNode)
	connected.ExtVirtualLinks[0].ExtCps[0].CpdID = "service"
	refused(sol.LcmOperationInstantiate, string(encode(t, connected)), "/extVirtualLinks/0/extCps/0/cpdId",
		`"service" is a virtual connection point, which the objects of the VNF make; requests cannot connect it`)

	w.done(sol.LcmOperationInstantiate, instantiate("simple", "default"))
	require.Len(t, w.vnfcs("workerNode"), 2)
	refused(sol.LcmOperationScale, `{"type":"SCALE_OUT","aspectId":"workers"}`, "/aspectId", noDelta)
	refused(sol.LcmOperationScale, `{"type":"SCALE_IN","aspectId":"workers"}`, "/aspectId", noDelta)
	refused(sol.LcmOperationScaleToLevel, `{"scaleInfo":[{"aspectId":"workers","scaleLevel":2}]}`,
		"/scaleInfo/0/aspectId", noDelta)
	refused(sol.LcmOperationScaleToLevel, `{"instantiationLevelId":"big"}`, level, noCounts)
	refused(sol.LcmOperationChangeFlavour, `{"newFlavourId":"other"}`, "/newFlavourId",
		`the VNFD has no flavour "other"; it has simple, complex; `+noUse)

	w.done(sol.LcmOperationScaleToLevel, `{"instantiationLevelId":"small"}`)
	require.Len(t, w.vnfcs("workerNode"), 1)
	w.done(sol.LcmOperationHeal, `{"additionalParams":{"all":true}}`)
	require.Len(t, w.vnfcs(""), 2)
	w.done(sol.LcmOperationTerminate, `{"terminationType":"FORCEFUL"}`)
}

// The VNFCs of an instance stay in a change to a VNFD without default level. For new VDUs it has no number.
func TestChangeToAVNFDWithoutDefaultLevelKeepsTheNumbers(t *testing.T) {
	t.Parallel()
	w := running(t)
	next := withDefects()
	w.Add(t, defectPkgID, next)
	w.done(sol.LcmOperationScale, `{"type":"SCALE_OUT","aspectId":"workers"}`)
	body := `{"vnfdId":"` + defectID + `"}`

	vdus := next.Flavours[0].VDUs
	next.Flavours[0].VDUs = slices.Concat(vdus, []vnfd.VDU{{Name: "proxy", MaxInstances: 1}})
	_, err := w.do(sol.LcmOperationChangeVnfpkg, body)
	require.Equal(t, []string{"/vnfdId"}, pointers(err), "%v", err)
	require.ErrorContains(t, err, "the VDU proxy is new")
	require.ErrorContains(t, err, noDefault)

	next.Flavours[0].VDUs = vdus
	w.done(sol.LcmOperationChangeVnfpkg, body)
	require.Len(t, w.vnfcs("workerNode"), 3)
	require.Len(t, w.vnfcs("masterNode"), 1)
	require.Equal(t, 2, w.level("workers"))
}

// HookOperation knows the hooks of all operations.
func TestEveryHookBelongsToItsOperation(t *testing.T) {
	t.Parallel()
	for _, k := range lcm.OperationKinds() {
		if k.Hook == "" || k.Type == "REBOOT" { // the operation of another test
			continue
		}
		for _, end := range []string{"_start", "_end", "_rollback_start", "_rollback_end"} {
			require.Equal(t, string(k.Type), vnfd.HookOperation(k.Hook+end))
		}
	}
	require.Empty(t, vnfd.HookOperation("dance_end"))
}
