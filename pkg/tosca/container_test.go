package tosca_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/tosca"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// containers is a VNFD whose VDUs are realised by OS containers.
const containers = `tosca_definitions_version: tosca_simple_yaml_1_3
imports:
  - https://forge.etsi.org/rep/nfv/SOL001/raw/v4.4.1/etsi_nfv_sol001_vnfd_types.yaml
node_types:
  my.VNF: {derived_from: tosca.nodes.nfv.VNF}
topology_template:
  substitution_mappings:
    node_type: my.VNF
    properties: {flavour_id: f}
    requirements: {ext: [service, virtual_link]}
  node_templates:
    VNF:
      type: my.VNF
      properties:
        {descriptor_id: d, provider: p, product_name: n, software_version: s, descriptor_version: v}
    web:
      type: tosca.nodes.nfv.Vdu.OsContainerDeployableUnit
      properties:
        name: web servers
        description: serves pages
        vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 3}
        mcio_identification_data: {name: web, type: Deployment}
      requirements:
        - container: nginx
        - container: exporter
    database:
      type: tosca.nodes.nfv.Vdu.OsContainerDeployableUnit
      properties: {name: database}
    nginx:
      type: tosca.nodes.nfv.Vdu.OsContainer
      properties:
        name: nginx
        requested_cpu_resources: 250
        cpu_resource_limit: 500
        requested_memory_resources: 128 MiB
        memory_resource_limit: 256 MiB
      artifacts:
        sw_image:
          type: tosca.artifacts.nfv.SwImage
          file: registry.test/nginx:1.27
          properties: {name: nginx, version: "1.27", container_format: docker}
    exporter:
      type: tosca.nodes.nfv.Vdu.OsContainer
      artifacts:
        sw_image:
          type: tosca.artifacts.nfv.SwImage
          file: image.img
          properties: {name: exporter, version: "2"}
    front:
      type: tosca.nodes.nfv.Mciop
      requirements:
        - associatedVdu: web
        - dependency: back
      artifacts:
        workload: {type: tosca.artifacts.File, file: Files/web.yaml}
        service: Files/service.yml
        notes: Files/notes.txt
    back:
      type: tosca.nodes.nfv.Mciop
      requirements: [associatedVdu: database]
      artifacts:
        chart: {type: tosca.artifacts.nfv.HelmChart, file: Files/charts/database}
    service:
      type: tosca.nodes.nfv.VirtualCp
      properties: {layer_protocols: [ipv4]}
      requirements: [target: web]
`

// containerFiles are the files of the package of these tests.
func containerFiles(text string) fstest.MapFS {
	fsys := files(text)
	for _, name := range []string{
		"Files/web.yaml", "Files/service.yml", "Files/notes.txt", "Files/charts/database/Chart.yaml",
		"Files/charts/web.tgz",
	} {
		fsys[name] = &fstest.MapFile{Data: []byte("a: b\n")}
	}
	return fsys
}

func TestVDUsOfContainers(t *testing.T) {
	t.Parallel()
	result, err := parse(containerFiles(containers))
	require.NoError(t, err)
	require.Empty(t, result.Warnings)
	f := result.VNFD.Flavour("f")
	require.Equal(t, vnfd.VDU{
		Name: "web", DisplayName: "web servers", Description: "serves pages", MinInstances: 1, MaxInstances: 3,
		Workload: &vnfd.Workload{Kind: "Deployment", Name: "web"},
		Containers: []vnfd.Container{
			{
				Name: "nginx", DisplayName: "nginx", RequestedMilliCPU: 250, MilliCPULimit: 500,
				RequestedMemoryBytes: 128 << 20, MemoryLimitBytes: 256 << 20,
				Image: &vnfd.SwImage{Name: "nginx", Version: "1.27", ContainerFormat: "docker"},
			},
			{Name: "exporter", Image: &vnfd.SwImage{Name: "exporter", Version: "2", File: "image.img"}},
		},
	}, *f.VDU("web"))
	require.Equal(t, []vnfd.Mciop{ // in the order of their deployment
		{Name: "back", VDUs: []string{"database"}, Chart: "Files/charts/database"},
		{Name: "front", VDUs: []string{"web"}, Manifests: []string{"Files/web.yaml", "Files/service.yml"}},
	}, f.Mciops)
	require.Equal(t, []vnfd.VirtualCP{
		{Name: "service", VDUs: []string{"web"}, LayerProtocols: []string{"ipv4"}},
	}, f.VirtualCPs)
}

// TestDefectsOfContainers: each mistake is reported at its place.
func TestDefectsOfContainers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, new, want string }{
		"no container":       {"container: nginx", "container: absent", `names "absent", which is not declared`},
		"not a container":    {"container: nginx", "container: front", "names front, which is a tosca.nodes.nfv.Mciop"},
		"container twice":    {"container: exporter", "container: nginx", "names its container nginx twice"},
		"limit below":        {"cpu_resource_limit: 500", "cpu_resource_limit: 100", "less than it requests"},
		"half a workload":    {"{name: web, type: Deployment}", "{name: web}", "not a name and a type"},
		"no VDU":             {"[associatedVdu: database]", "[]", "back is associated with no VDU"},
		"not a VDU":          {"associatedVdu: database", "associatedVdu: nginx", "tosca.nodes.nfv.Vdu.OsContainer"},
		"unknown dependency": {"dependency: back", "dependency: x", `names "x", which is not declared`},
		"cycle": {
			"[associatedVdu: database]", "[associatedVdu: database, dependency: front]", "depends on itself",
		},
		"two charts": {
			"        chart: {", "        more: {type: tosca.artifacts.nfv.HelmChart, file: Files/charts/web.tgz}\n" +
				"        chart: {", "more than one Helm chart",
		},
		"chart and manifests": {
			"        chart: {", "        more: Files/web.yaml\n        chart: {", "has a Helm chart and manifests",
		},
		"absent manifest": {"file: Files/web.yaml", "file: Files/no.yaml", "is not in the package"},
		"absent chart":    {"file: Files/charts/database", "file: Files/charts/no", "is not in the package"},
		"rule alone": {
			"        chart: {",
			"        rule: {type: tosca.artifacts.nfv.HelmParamMappingRule, file: run.py}\n        chart: {",
			"mapping rule and no mapping script",
		},
		"no target":      {"[target: web]", "[]", "gives access to no VDU"},
		"unknown target": {"[target: web]", "[target: x]", `names "x", which is not declared`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, containers, c.old)
			_, err := parse(containerFiles(strings.Replace(containers, c.old, c.new, 1)))
			var all tosca.Errors
			require.ErrorAs(t, err, &all)
			require.ErrorContains(t, err, c.want)
			require.NotZero(t, all[0].Line)
		})
	}
}

// TestHarmlessDefectsOfContainers: the package can be used, and the warning says what does not happen.
func TestHarmlessDefectsOfContainers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, new, want string }{
		"chart on a server": {
			"file: Files/charts/database}", "file: 'https://charts.test/database.tgz'}", "outside of the package",
		},
		"nothing to deploy": {
			"        chart: {type: tosca.artifacts.nfv.HelmChart, file: Files/charts/database}",
			"        notes: Files/notes.txt", "neither a Helm chart nor manifests",
		},
		"script": {
			"        chart: {",
			"        script: {type: tosca.artifacts.nfv.HelmParamMappingScript, file: run.py}\n        chart: {",
			"is not run",
		},
		"VDU without containers": {
			"associatedVdu: database", "associatedVdu: web", "database has neither containers nor an object package",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, containers, c.old)
			result, err := parse(containerFiles(strings.Replace(containers, c.old, c.new, 1)))
			require.NoError(t, err)
			require.Len(t, result.Warnings, 1, "%v", result.Warnings)
			require.Contains(t, result.Warnings[0].Text, c.want)
		})
	}
}
