package e2e_test

import (
	"strings"
	"testing"
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
			s["Files/kubernetes/volume.yaml"] = "kind: PersistentVolume\n"
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
		"groups with policies":                    addScalingPolicies,
		"a group in a nested template":            nestGroup,
		"volumes, storages, a subnet of the link": addStorages,
		"two server groups, every kind of policy": addPolicies,
		"defects of some operations":              addDefects,
	}
}

// addScalingPolicies gives the group a constant size, and policies that scale it.
func addScalingPolicies(t *testing.T, s source) {
	t.Helper()
	const top = "BaseHOT/groups/plain.yaml"
	s.edit(t, top, "{ get_param: [ nfv, VDU, VDU1, desired_capacity ] }", "1")
	policy := func(name, step string) string {
		return "  VDU1_scale_" + name + ":\n    type: OS::Heat::ScalingPolicy\n    properties:\n" +
			"      auto_scaling_group_id: { get_resource: VDU1_scale }\n" +
			"      adjustment_type: change_in_capacity\n      scaling_adjustment: " + step + "\n      cooldown: 0\n"
	}
	s.edit(t, top, "outputs: {}", policy("out", "1")+policy("in", "-1"))
}

// nestGroup moves the group into a nested template.
func nestGroup(t *testing.T, s source) {
	t.Helper()
	const top = "BaseHOT/groups/plain.yaml"
	head, group, _ := strings.Cut(s[top], "  VDU1_scale:\n")
	group, tail, _ := strings.Cut(group, "\noutputs")
	s[top] = head + "  VDU1_part:\n    type: part.yaml\n    properties:\n" +
		"      size: { get_param: [ nfv, VDU, VDU1, desired_capacity ] }\n" +
		"      flavor: { get_param: [ nfv, VDU, VDU1, computeFlavourId ] }\n" +
		"      image: { get_param: [ nfv, VDU, VDU1, vcImageId ] }\n" +
		"      net: { get_param: [ nfv, CP, VDU1_CP1, network ] }\n\noutputs" + tail
	s["BaseHOT/groups/nested/part.yaml"] = "heat_template_version: 2013-05-23\nparameters:\n" +
		"  size: { type: number }\n" +
		"  flavor: { type: string }\n  image: { type: string }\n  net: { type: string }\nresources:\n  VDU1_scale:\n" +
		strings.NewReplacer("[ nfv, VDU, VDU1, desired_capacity ]", "size",
			"[ nfv, VDU, VDU1, computeFlavourId ]", "flavor", "[ nfv, VDU, VDU1, vcImageId ]", "image",
			"[ nfv, CP, VDU1_CP1, network ]", "net").Replace(group) + "\n"
}

// addStorages makes the machines boot from a volume, and gives them another one, and asks for the subnet of the link.
func addStorages(t *testing.T, s source) {
	t.Helper()
	s.edit(t, flavourFile, "    VDU1_CP1:\n", `    VDU1-Boot:
      type: tosca.nodes.nfv.Vdu.VirtualBlockStorage
      properties:
        virtual_block_storage_data: { size_of_storage: 1 GB, rdma_enabled: false }
        sw_image_data:
          name: cirros-0.5.2-x86_64-disk
          version: "0.5.2"
          checksum: { algorithm: sha-512, hash: 6b }
          container_format: bare
          disk_format: qcow2
          min_disk: 0 GB
          size: 1 GB
    VDU1-Data:
      type: tosca.nodes.nfv.Vdu.VirtualBlockStorage
      properties:
        virtual_block_storage_data: { size_of_storage: 1 GB, rdma_enabled: false }

    VDU1_CP1:
`)
	s.edit(t, flavourFile, "            virtual_cpu:\n              num_virtual_cpu: 1\n", "            virtual_cpu:\n"+
		"              num_virtual_cpu: 1\n      requirements:\n        - virtual_storage: VDU1-Boot\n"+
		"        - virtual_storage: VDU1-Data\n")
	s.edit(t, "BaseHOT/*/plain.yaml", "VDU1, vcImageId", "VDU1-Boot, vcImageId")
	s.edit(t, "BaseHOT/*/plain.yaml", "VDU1_CP1, network ] }", "VDU1_CP1, network ] }\n"+
		"      subnet: { get_param: [ nfv, CP, VDU1_CP1, fixed_ips, 0, subnet ] }")
	s.edit(t, "BaseHOT/groups/plain.yaml", "      subnet:", "          subnet:")
	s.edit(t, "BaseHOT/*/nested/*", "  net: { type: string }", "  net: { type: string }\n"+
		"  subnet: { type: string, default: \"\" }")
	s.edit(t, "BaseHOT/*/nested/*", "      image: { get_param: image }\n", "      block_device_mapping_v2:\n"+
		"        - { volume_id: { get_resource: VDU1-Boot }, boot_index: 0 }\n"+
		"        - { volume_id: { get_resource: VDU1-Data }, boot_index: -1 }\n")
	s.edit(t, "BaseHOT/*/nested/*", "  VDU1_CP1:\n", "  VDU1-Boot:\n    type: OS::Cinder::Volume\n    properties:\n"+
		"      image: { get_param: image }\n      size: 1\n  VDU1-Data:\n    type: OS::Cinder::Volume\n"+
		"    properties:\n      size: 1\n  VDU1_CP1:\n")
	s.edit(t, "BaseHOT/*/nested/*", "      network: { get_param: net }", "      network: { get_param: net }\n"+
		"      fixed_ips: [ { subnet: { get_param: subnet } } ]")
}

// addPolicies adds each kind of policy that packages have, an internal link that they are about, and server groups that
// members take as hints.
func addPolicies(t *testing.T, s source) {
	t.Helper()
	s.edit(t, flavourFile, "  policies:\n", `    internalVL1:
      type: tosca.nodes.nfv.VnfVirtualLink
      properties:
        connectivity_type: { layer_protocols: [ ipv4 ] }
        vl_profile:
          max_bitrate_requirements: { root: 1048576, leaf: 1048576 }
          min_bitrate_requirements: { root: 1048576, leaf: 1048576 }

  groups:
    machines:
      type: tosca.groups.nfv.PlacementGroup
      properties: { description: all machines }
      members: [ VDU1 ]

  policies:
    - link_initial_delta:
        type: tosca.policies.nfv.VirtualLinkBitrateInitialDelta
        properties:
          initial_delta: { bitrate_requirements: { root: 1048576 } }
        targets: [ internalVL1 ]
    - link_deltas:
        type: tosca.policies.nfv.VirtualLinkBitrateScalingAspectDeltas
        properties:
          aspect: VDU1_scale
          deltas:
            delta_1: { bitrate_requirements: { root: 1048576 } }
        targets: [ internalVL1 ]
    - link_levels:
        type: tosca.policies.nfv.VirtualLinkInstantiationLevels
        properties:
          levels:
            instantiation_level_1: { bitrate_requirements: { root: 1048576 } }
            instantiation_level_2: { bitrate_requirements: { root: 2097152 } }
        targets: [ internalVL1 ]
    - one_zone:
        type: tosca.policies.nfv.AffinityRule
        properties: { scope: zone }
        targets: [ VDU1 ]
    - hosts_apart:
        type: tosca.policies.nfv.AntiAffinityRule
        properties: { scope: nfvi_node }
        targets: [ machines ]
`)
	for flavour, indent := range map[string]string{"default": "      ", "groups": "          "} {
		top := "BaseHOT/" + flavour + "/plain.yaml"
		s.edit(t, top, "outputs: {}", "  near:\n    type: OS::Nova::ServerGroup\n    properties:\n"+
			"      policies: [ soft-affinity ]\n  far:\n    type: OS::Nova::ServerGroup\n    properties:\n"+
			"      policies: [ anti-affinity ]\noutputs: {}")
		s.edit(t, top, "VDU1_CP1, network ] }", "VDU1_CP1, network ] }\n"+indent+
			"affinity: { get_resource: far }")
	}
	s.edit(t, "BaseHOT/*/nested/*", "  net: { type: string }", "  net: { type: string }\n  affinity: { type: string }")
	s.edit(t, "BaseHOT/*/nested/*", "      image: { get_param: image }", "      image: { get_param: image }\n"+
		"      scheduler_hints:\n        group: { get_param: affinity }")
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
