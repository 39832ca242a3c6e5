package e2e_test

import (
	"io/fs"
	"maps"
	"os"
	"path"
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
type source map[string]string

// sourceOf reads a package source.
func sourceOf(t *testing.T, dir string) source {
	t.Helper()
	files := source{}
	require.NoError(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		files[rel] = string(raw)
		return err
	}))
	return files
}

// edit replaces a text, which is in the file, in the flavour files if name has a *.
func (s source) edit(t *testing.T, name, old, replacement string) {
	t.Helper()
	found := 0
	for file, text := range s {
		if ok, err := path.Match(name, file); ok && err == nil && strings.Contains(text, old) {
			s[file] = strings.ReplaceAll(text, old, replacement)
			found++
		}
	}
	require.Positive(t, found, "%s has no %q", name, old)
}

// archive builds the package.
func (s source) archive(t *testing.T) string {
	t.Helper()
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "package.zip")
	for name, text := range s {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, path.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	require.NoError(t, stack.BuildPackage(t.Context(), dir, file))
	return file
}

const (
	metaFile    = "TOSCA-Metadata/TOSCA.meta"
	topFile     = "Definitions/plain_top.vnfd.yaml"
	flavourFile = "Definitions/plain_df_*.yaml"
	plainID     = "7f9d0a2e-3c51-4b0e-9c6f-1f2b8d1f0a11"
)

// shapes are packages as users have them, each a change of the package plain.
func shapes() map[string]func(*testing.T, source) {
	return map[string]func(*testing.T, source){
		"manifest beside the main file": func(t *testing.T, s source) {
			t.Helper()
			delete(s, metaFile)
			s["plain_top.vnfd.yaml"] = strings.NewReplacer(
				"- plain_types", "- Definitions/plain_types", "- plain_df", "- Definitions/plain_df",
			).Replace(s[topFile])
			delete(s, topFile)
			s["plain_top.vnfd.mf"] = "metadata:\n  vnf_product_name: Plain VMs\n  vnf_provider_id: Gybe\n" +
				"  vnf_package_version: 1.0\n  vnf_release_date_time: 2026-01-01T00:00:00Z\n\n" +
				"Source: Scripts/notes.txt\nAlgorithm: SHA-256\nHash: 0\n"
			s["Scripts/notes.txt"] = "nothing runs this"
		},
		"copies of the type files": func(t *testing.T, s source) {
			t.Helper()
			for _, name := range []string{"etsi_nfv_sol001_common_types.yaml", "etsi_nfv_sol001_vnfd_types.yaml"} {
				s.edit(t, "Definitions/plain_*", "https://forge.etsi.org/rep/nfv/SOL001/raw/v2.6.1/"+name, name)
				s["Definitions/"+name] = "tosca_definitions_version: tosca_simple_yaml_1_2\n"
			}
		},
		"image, scripts and hashes": func(t *testing.T, s source) {
			t.Helper()
			s["Files/images/vm.img"] = "an image"
			s["Scripts/run.py"], s["UserData/__init__.py"] = "pass\n", ""
			s[metaFile] += "\nName: Files/images/vm.img\nContent-Type: application/x-iso9066-image\n\n" +
				"Name: Scripts/run.py\nContent-Type: text/x-python\nAlgorithm: SHA-256\nHash: 0\n"
			// One path from the file, the other one from the root of the package.
			s.edit(t, flavourFile, "          checksum:\n            algorithm: sha-256\n            hash: "+
				"932fcae93574e242dc3d772d5235061747dfe537668443a1f0567d893614b464\n", "")
			s.edit(t, flavourFile, "      capabilities:\n", imageAt("../Files/images/vm.img"))
			s.edit(t, flavourFile, "        flavour_description: plain virtual machines\n",
				"        flavour_description: plain virtual machines\n      interfaces:\n        Vnflcm:\n"+
					"          instantiate: []\n          instantiate_start: []\n          terminate: []\n"+
					"      artifacts:\n        run:\n          type: tosca.artifacts.Implementation.Python\n"+
					"          file: Scripts/run.py\n")
		},
		"names of the first version, plain values": func(t *testing.T, s source) {
			t.Helper()
			s.edit(t, "BaseHOT/groups/*", "VDU1, computeFlavourId", "VDU1, flavor")
			s.edit(t, "BaseHOT/groups/*", "VDU1, vcImageId", "VDU1, image")
			s.edit(t, "BaseHOT/default/*", "{ get_param: [ nfv, CP, VDU1_CP1, network ] }", "net0")
			s.edit(t, "BaseHOT/default/nested/*", "    type: OS::Neutron::Port\n    properties:\n",
				"    type: OS::Neutron::Port\n    properties:\n      port_security_enabled: false\n")
		},
		"shared address, floating address, server group": func(t *testing.T, s source) {
			t.Helper()
			for _, flavour := range []string{"default", "groups"} {
				s.edit(t, "BaseHOT/"+flavour+"/plain.yaml", "outputs: {}", `  vip_CP:
    type: OS::Neutron::Port
    properties:
      network: net0
  vip_CP_floating_ip:
    type: OS::Neutron::FloatingIP
    properties:
      floating_network: public
      port_id: { get_resource: vip_CP }
  apart:
    type: OS::Nova::ServerGroup
    properties:
      policies: [ soft-anti-affinity ]
outputs: {}`)
				s.edit(t, "BaseHOT/"+flavour+"/plain.yaml", "VDU1_CP1, network ] }", "VDU1_CP1, network ] }\n"+
					map[string]string{"default": "      ", "groups": "          "}[flavour]+
					"vip: { get_attr: [ vip_CP, fixed_ips, 0, ip_address ] }\n"+
					map[string]string{"default": "      ", "groups": "          "}[flavour]+
					"hints: { group: { get_resource: apart } }")
			}
			s.edit(t, "BaseHOT/*/nested/*", "  net: { type: string }", "  net: { type: string }\n"+
				"  vip: { type: string }\n  hints: { type: json }")
			s.edit(t, "BaseHOT/*/nested/*", "      image: { get_param: image }",
				"      image: { get_param: image }\n      scheduler_hints: { get_param: hints }")
			s.edit(t, "BaseHOT/*/nested/*", "      network: { get_param: net }", "      network: { get_param: net }\n"+
				"      allowed_address_pairs: [ { ip_address: { get_param: vip } } ]")
		},
		"defects of some operations": addDefects,
	}
}

// imageAt is the beginning of a VDU's capabilities, with an image artifact before it.
func imageAt(file string) string {
	return "      artifacts:\n        sw_image:\n          type: tosca.artifacts.nfv.SwImage\n          file: " + file +
		"\n      capabilities:\n"
}

// addDefects adds every defect that concerns only some operations.
func addDefects(t *testing.T, s source) {
	t.Helper()
	s.edit(t, topFile, "  - plain_df_default.yaml\n  - plain_df_groups.yaml\n", "")
	s.edit(t, flavourFile, "[ VDU1_CP1, virtual_link ]", "[ removed_CP, virtual_link ]")
	s.edit(t, flavourFile, "          default_level: instantiation_level_1\n", "")
	s.edit(t, flavourFile, "              step_deltas: [ delta_1 ]\n", "              step_deltas: [ delta_1 ]\n"+
		"            other_scale: { name: other, description: other, max_scale_level: 1, step_deltas: [ lost ] }\n")
	s.edit(t, flavourFile, "        flavour_description: plain virtual machines\n",
		"        flavour_description: plain virtual machines\n      interfaces:\n        Vnflcm:\n"+
			"          instantiate_end: { implementation: vendor-driver }\n"+
			"          scale_end: { implementation: vendor-driver }\n"+
			"      artifacts:\n        vendor-driver: { type: tosca.artifacts.Implementation.Python, "+
			"file: ../../../vendor.py }\n")
	s.edit(t, flavourFile, "      capabilities:\n", imageAt("https://images.invalid/vm.img"))
	s["Definitions/draft_df.yaml"] = "substitution_mappings: [ not yet\n"
}

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
