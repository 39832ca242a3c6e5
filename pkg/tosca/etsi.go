package tosca

import (
	"net/url"
	"path"
	"regexp"
	"strings"
)

// etsiFile matches the names under which ETSI has published SOL001's type definitions, and those that packages in use
// gave to their copies: etsi_nfv_sol001_vnfd_types.yaml, etsi_nfv_sol001_vnfd_2_5_1_types.yaml and similar names.
var etsiFile = regexp.MustCompile(`^etsi_nfv_sol001_(common|vnfd|pnfd|nsd)(_v?[0-9]+([_.][0-9]+)*)?_types?(_v?[0-9]+([_.][0-9]+)*)?\.ya?ml$`)

// isETSIName reports whether a path's last element names one of those files.
func isETSIName(name string) bool { return etsiFile.MatchString(strings.ToLower(path.Base(name))) }

// isETSIURL reports whether ETSI publishes them at a URL, in any version and by either scheme. It is only
// recognised, never opened.
func isETSIURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || !strings.EqualFold(u.Hostname(), "forge.etsi.org") {
		return false
	}
	return strings.Contains(strings.ToLower(u.Path), "sol001") && isETSIName(u.Path)
}

// root is the common root of all types.
const rootType = "tosca.entity.Root"

// Types of SOL001 that the VNFM acts on.
const (
	typeVNF         = "tosca.nodes.nfv.VNF"
	typeVDU         = "tosca.nodes.nfv.Vdu.Compute"
	typeContainer   = "tosca.nodes.nfv.Vdu.OsContainerDeployableUnit"
	typeOsContainer = "tosca.nodes.nfv.Vdu.OsContainer"
	typeMciop       = "tosca.nodes.nfv.Mciop"
	typeVirtualCp   = "tosca.nodes.nfv.VirtualCp"
	typeBlock       = "tosca.nodes.nfv.Vdu.VirtualBlockStorage"
	typeObject      = "tosca.nodes.nfv.Vdu.VirtualObjectStorage"
	typeFile        = "tosca.nodes.nfv.Vdu.VirtualFileStorage"
	typeStorage     = "tosca.nodes.nfv.Vdu.VirtualStorage" // before v2.6.1
	typeVduCp       = "tosca.nodes.nfv.VduCp"
	typeExtCp       = "tosca.nodes.nfv.VnfExtCp"
	typeVL          = "tosca.nodes.nfv.VnfVirtualLink"
	typeGroup       = "tosca.groups.nfv.PlacementGroup"
	typeSwImage     = "tosca.artifacts.nfv.SwImage"
	typeHelmChart   = "tosca.artifacts.nfv.HelmChart"
	typeHelmScript  = "tosca.artifacts.nfv.HelmParamMappingScript"
	typeHelmRule    = "tosca.artifacts.nfv.HelmParamMappingRule"
	typeVnflcm      = "tosca.interfaces.nfv.Vnflcm"
	policyPrefix    = "tosca.policies.nfv."
	policyAspects   = policyPrefix + "ScalingAspects"
	policyInitial   = policyPrefix + "VduInitialDelta"
	policyDeltas    = policyPrefix + "VduScalingAspectDeltas"
	policyLevels    = policyPrefix + "InstantiationLevels"
	policyVduLevels = policyPrefix + "VduInstantiationLevels"
	policyVLLevels  = policyPrefix + "VirtualLinkInstantiationLevels"
	policyVLRate    = policyPrefix + "VirtualLinkBitrateScalingAspectDeltas"
	policyVLData    = policyPrefix + "VirtualLinkProtocolDataScalingAspectDeltas"
	policyAffinity  = policyPrefix + "AffinityRule"
	policyAnti      = policyPrefix + "AntiAffinityRule"
)

// builtin maps the types of SOL001, and those of the TOSCA simple profile that it builds on, to what they are derived
// from. None of their properties that the VNFM reads has a default.
var builtin = map[string]string{
	"tosca.nodes.Root":                   rootType,
	"tosca.nodes.nfv.VNF":                "tosca.nodes.Root",
	"tosca.nodes.nfv.Cp":                 "tosca.nodes.Root",
	"tosca.nodes.nfv.VnfVirtualLink":     "tosca.nodes.Root",
	typeMciop:                            "tosca.nodes.Root",
	typeOsContainer:                      "tosca.nodes.Root",
	typeContainer:                        "tosca.nodes.Root",
	typeVDU:                              "tosca.nodes.Root",
	typeBlock:                            "tosca.nodes.Root",
	typeObject:                           "tosca.nodes.Root",
	typeFile:                             "tosca.nodes.Root",
	typeStorage:                          "tosca.nodes.Root",
	typeVduCp:                            "tosca.nodes.nfv.Cp",
	typeExtCp:                            "tosca.nodes.nfv.Cp",
	"tosca.nodes.nfv.VipCp":              "tosca.nodes.nfv.Cp",
	typeVirtualCp:                        "tosca.nodes.nfv.Cp",
	"tosca.nodes.nfv.VduSubCp":           typeVduCp,
	"tosca.nodes.nfv.NfpPositionElement": "tosca.nodes.Root",

	"tosca.policies.Root":        rootType,
	"tosca.policies.Placement":   "tosca.policies.Root",
	"tosca.policies.Scaling":     "tosca.policies.Root",
	"tosca.policies.Update":      "tosca.policies.Root",
	"tosca.policies.Performance": "tosca.policies.Root",
	policyAspects:                "tosca.policies.Root",
	policyInitial:                "tosca.policies.Root",
	policyDeltas:                 "tosca.policies.Root",
	policyLevels:                 "tosca.policies.Root",
	policyVduLevels:              "tosca.policies.Root",
	policyVLLevels:               "tosca.policies.Root",
	policyVLRate:                 "tosca.policies.Root",
	policyVLData:                 "tosca.policies.Root",
	policyAffinity:               "tosca.policies.Placement",
	policyAnti:                   "tosca.policies.Placement",
	// The VNFM does not use these.
	policyPrefix + "VirtualLinkBitrateInitialDelta":      "tosca.policies.Root",
	policyPrefix + "VirtualLinkProtocolDataInitialDelta": "tosca.policies.Root",
	policyPrefix + "VipCpInitialDelta":                   "tosca.policies.Root",
	policyPrefix + "VipCpScalingAspectDeltas":            "tosca.policies.Root",
	policyPrefix + "VipCpInstantiationLevels":            "tosca.policies.Root",
	policyPrefix + "VirtualCpInitialDelta":               "tosca.policies.Root",
	policyPrefix + "SecurityGroupRule":                   "tosca.policies.Root",
	policyPrefix + "SupportedVnfInterface":               "tosca.policies.Root",
	policyPrefix + "VnfIndicator":                        "tosca.policies.Root",
	policyPrefix + "VnfPackageChange":                    "tosca.policies.Root",
	policyPrefix + "LcmCoordinationAction":               "tosca.policies.Root",
	policyPrefix + "LcmCoordinationsForLcmOperation":     "tosca.policies.Root",

	"tosca.groups.Root": rootType,
	typeGroup:           "tosca.groups.Root",

	"tosca.artifacts.Root":                  rootType,
	"tosca.artifacts.File":                  "tosca.artifacts.Root",
	"tosca.artifacts.Implementation":        "tosca.artifacts.Root",
	"tosca.artifacts.Implementation.Python": "tosca.artifacts.Implementation",
	"tosca.artifacts.Implementation.Bash":   "tosca.artifacts.Implementation",
	"tosca.artifacts.Deployment":            "tosca.artifacts.Root",
	"tosca.artifacts.Deployment.Image":      "tosca.artifacts.Deployment",
	"tosca.artifacts.Deployment.Image.VM":   "tosca.artifacts.Deployment.Image",
	typeHelmChart:                           "tosca.artifacts.File",
	typeHelmScript:                          "tosca.artifacts.Implementation",
	typeHelmRule:                            "tosca.artifacts.Root",
	typeSwImage:                             "tosca.artifacts.Deployment.Image",

	"tosca.interfaces.Root": rootType,
	typeVnflcm:              "tosca.interfaces.Root",
}
