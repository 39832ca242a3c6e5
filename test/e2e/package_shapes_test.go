package e2e_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/stack"
)

// source is the files of a package by their paths.
type source stack.Source

// sourceOf reads a package source.
func sourceOf(t *testing.T, dir string) source {
	t.Helper()
	s, err := stack.ReadSource(dir)
	require.NoError(t, err)
	return source(s)
}

// edit replaces a text, which is in the file, in the flavour files if name has a *.
func (s source) edit(t *testing.T, name, old, replacement string) {
	t.Helper()
	require.NoError(t, stack.Source(s).Edit(name, old, replacement))
}

// archive builds the package.
func (s source) archive(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "package.zip")
	require.NoError(t, stack.Source(s).Build(t.Context(), file))
	return file
}

const (
	metaFile    = "TOSCA-Metadata/TOSCA.meta"
	topFile     = "Definitions/plain_top.vnfd.yaml"
	flavourFile = "Definitions/plain_df_*.yaml"
	plainID     = "7f9d0a2e-3c51-4b0e-9c6f-1f2b8d1f0a11"
)

// onboardShape uploads a package whose VNFD has this id, and returns it.
func (w *world) onboardShape(s source, id string, data sol.KeyValuePairs) *sol.VnfPkgInfo {
	w.t.Helper()
	s = maps.Clone(s)
	for name, text := range s {
		s[name] = strings.ReplaceAll(text, plainID, `"`+id+`"`)
	}
	p, err := w.api.CreatePackage(w.t.Context(), sol.CreateVnfPkgInfoRequest{UserDefinedData: data})
	require.NoError(w.t, err)
	f, err := os.Open(s.archive(w.t))
	require.NoError(w.t, err)
	defer f.Close()
	require.NoError(w.t, w.api.UploadPackage(w.t.Context(), p.ID, f))
	require.Eventually(w.t, func() bool {
		p, err = w.api.Package(w.t.Context(), p.ID)
		return err != nil || p.OnboardingState == sol.PackageOnboardingStateOnboarded ||
			p.OnboardingFailureDetails != nil
	}, patience, interval)
	require.NoError(w.t, err)
	require.Nil(w.t, p.OnboardingFailureDetails, "%+v", p.OnboardingFailureDetails)
	require.Equal(w.t, id, p.VnfdID)
	return p
}

// A package of every shape that users have works in all operations, in both forms of templates.
func TestPackagesOfEveryShapeWork(t *testing.T) {
	t.Parallel()
	w := start(t, simcloud.StartTest(t, simcloud.Options{}), nil)
	all := shapes()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			w := *w
			w.t = t
			s := sourceOf(t, plainSource)
			all[name](t, s)
			data := sol.KeyValuePairs{"gybe.ignoreMgmtDrivers": []any{"vendor-driver"}}
			vnfd, next := name+" / 1 (50%)", name+" / 2 (50%)"
			w.onboardShape(s, vnfd, data)
			s.edit(t, "Definitions/plain_types.yaml", `default: "1.0"`, `default: "2.0"`)
			s.edit(t, flavourFile, "m1.tiny", "m1.small")
			w.onboardShape(s, next, data)
			for _, flavour := range []string{"default", "groups"} {
				w.liveThrough(vnfd, next, flavour)
			}
		})
	}
}

// liveThrough instantiates, scales, changes the package, heals and terminates.
func (w *world) liveThrough(vnfd, next, flavour string) {
	w.t.Helper()
	ctx := w.t.Context()
	id := w.create(vnfd)
	params := w.plain(flavour)
	params["instantiationLevelId"] = "instantiation_level_1"
	w.completed(w.instantiate(id, params))
	do := func(kind sol.LcmOperationType, body any, vnfcs int) {
		w.t.Helper()
		op, err := w.api.Start(ctx, id, kind, body)
		require.NoError(w.t, err, "%s %s", flavour, kind)
		w.completed(op)
		i, err := w.api.Instance(ctx, id)
		require.NoError(w.t, err)
		require.Len(w.t, i.InstantiatedVnfInfo.VnfcInfo, vnfcs, "%s %s", flavour, kind)
	}
	do(sol.LcmOperationScale, stack.Scale(sol.ScaleTypeOut, 2), 3)
	do(sol.LcmOperationScale, stack.Scale(sol.ScaleTypeIn, 1), 2)
	change := sol.ChangeCurrentVnfPkgRequest{VnfdID: next, AdditionalParams: sol.KeyValuePairs{
		"upgrade_type": "RollingUpdate", "vdu_params": []any{map[string]any{"vdu_id": "VDU1"}},
	}}
	if flavour == "default" {
		change.AdditionalParams["lcm-operation-user-data"] = "./UserData/userdata_standard.py"
		change.AdditionalParams["lcm-operation-user-data-class"] = "StandardUserData"
	}
	do(sol.LcmOperationChangeVnfpkg, change, 2)
	i, err := w.api.Instance(ctx, id)
	require.NoError(w.t, err)
	require.Equal(w.t, next, i.VnfdID)
	for _, r := range i.InstantiatedVnfInfo.VnfcResourceInfo {
		require.Equal(w.t, "m1.small", r.Metadata["flavor"])
	}
	do(sol.LcmOperationHeal, sol.HealVnfRequest{VnfcInstanceID: []string{i.InstantiatedVnfInfo.VnfcInfo[0].ID}}, 2)
	w.completed(w.terminate(id))
	w.gone()
	require.NoError(w.t, w.api.DeleteInstance(ctx, id))
}

// Defects of some operations are warnings of the package, and the errors of the requests that meet them.
func TestDefectsOfAPackageAreErrorsOfTheOperationsThatMeetThem(t *testing.T) {
	t.Parallel()
	w := start(t, simcloud.StartTest(t, simcloud.Options{}), nil)
	s := sourceOf(t, plainSource)
	addDefects(t, s)
	p := w.onboardShape(s, "Sample VNF", nil)
	text := map[string]string{}
	for _, o := range p.Warnings {
		text[o.Code+" "+o.FlavourID+" "+o.Subject] = o.Text
	}
	require.Equal(t, []string{
		"missing_artifact default VDU1", "missing_artifact default vendor-driver", "missing_artifact groups VDU1",
		"missing_artifact groups vendor-driver", "no_default_level default default", "no_default_level groups groups",
		"unknown_delta default other_scale", "unknown_delta groups other_scale",
		"unknown_mgmt_driver default vendor-driver", "unknown_mgmt_driver groups vendor-driver",
		"unknown_node default removed_CP", "unknown_node groups removed_CP", "unusable_flavour  ",
	}, slices.Sorted(maps.Keys(text)))

	refused := func(err error, pointer, want string) {
		t.Helper()
		e := status(t, err, 422)
		require.NotEmpty(t, want)
		require.Contains(t, e.Error(), want)
		if pointer != "" {
			require.Equal(t, pointer, e.Problem.InvalidParams[0].Pointer)
		}
	}
	id := w.create("Sample VNF")
	params := w.plain("default")
	_, err := w.api.Instantiate(t.Context(), id, encode(t, params))
	refused(err, "", text["unknown_mgmt_driver default vendor-driver"])
	require.ErrorContains(t, err, "--ignore-mgmt-driver")
	require.NoError(t, w.api.DeleteInstance(t.Context(), id))

	// The same package, with the setting.
	disabled := sol.VnfPkgInfoModifications{OperationalState: sol.PackageOperationalStateDisabled}
	require.NoError(t, w.api.UpdatePackage(t.Context(), p.ID, disabled))
	require.NoError(t, w.api.DeletePackage(t.Context(), p.ID))
	p = w.onboardShape(s, "Sample VNF", sol.KeyValuePairs{"gybe.ignoreMgmtDrivers": "vendor-driver"})
	require.True(t, slices.ContainsFunc(
		p.Warnings, func(o sol.VnfPkgWarning) bool { return o.Code == "ignored_mgmt_driver" },
	))
	id = w.create("Sample VNF")
	_, err = w.api.Instantiate(t.Context(), id, encode(t, params))
	refused(err, "/instantiationLevelId", text["no_default_level default default"])
	params["instantiationLevelId"] = "instantiation_level_1"
	w.completed(w.instantiate(id, params))
	_, err = w.api.Start(t.Context(), id, sol.LcmOperationScale, sol.ScaleVnfRequest{
		Type: sol.ScaleTypeOut, AspectID: "other_scale",
	})
	refused(err, "/aspectId", text["unknown_delta default other_scale"])
	op, err := w.api.Start(t.Context(), id, sol.LcmOperationScale, stack.Scale(sol.ScaleTypeOut, 1))
	require.NoError(t, err)
	w.completed(op)
	w.completed(w.terminate(id))
	w.gone()
}
