package vnfpkgtest

import (
	"archive/zip"
	"bytes"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/csar"
)

// Files are the files of a small valid package, by path: a VNFD of one file with the given id and the flavour
// "simple", a script that TOSCA.meta lists, and an image that it does not. Tests change them.
func Files(vnfdID string) map[string]string {
	return map[string]string{
		csar.MetaPath: "TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-By: test\n" +
			"Entry-Definitions: Definitions/vnfd.yaml\n\n" +
			"Name: Scripts/run.sh\nContent-Type: application/sh\nAlgorithm: SHA-256\nHash: " + scriptHash + "\n",
		"Definitions/vnfd.yaml":   strings.ReplaceAll(vnfd, "VNFD-ID", vnfdID),
		"Scripts/run.sh":          "#!/bin/sh\n",
		"Files/images/node.img":   "an image",
		"BaseHOT/simple/top.yaml": "heat_template_version: 2013-05-23\n",
	}
}

const scriptHash = "a8076d3d28d21e02012b20eaf7dbf75409a6277134439025f282e368e3305abf"

const vnfd = `tosca_definitions_version: tosca_simple_yaml_1_2
imports:
  - https://forge.etsi.org/rep/nfv/SOL001/raw/v2.6.1/etsi_nfv_sol001_vnfd_types.yaml
topology_template:
  substitution_mappings:
    node_type: tosca.nodes.nfv.VNF
    properties: {flavour_id: simple}
  node_templates:
    VNF:
      type: tosca.nodes.nfv.VNF
      properties:
        descriptor_id: VNFD-ID
        provider: Example
        product_name: Small
        software_version: 1.10
        descriptor_version: '1.0'
        vnfm_info: [Gybe]
      interfaces:
        Vnflcm:
          instantiate_end: {implementation: script}
      artifacts:
        script: {type: tosca.artifacts.Implementation.Bash, file: ../Scripts/run.sh}
    node:
      type: tosca.nodes.nfv.Vdu.Compute
      properties:
        name: node
        vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 1}
        sw_image_data: {name: node-image, version: '1', container_format: bare, disk_format: qcow2, min_disk: 0 GB, size: 1 GB}
      artifacts:
        sw_image: {type: tosca.artifacts.nfv.SwImage, file: ../Files/images/node.img}
    port:
      type: tosca.nodes.nfv.VduCp
      properties: {layer_protocols: [ipv4]}
      requirements:
        - virtual_binding: node
`

// Zip packs files as they are.
func Zip(files map[string]string) []byte {
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Unix(0, 0)})
		if err == nil {
			_, err = w.Write([]byte(files[name]))
		}
		if err != nil {
			panic(err) // memory does not fail
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return buf.Bytes()
}
