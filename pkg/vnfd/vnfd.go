// Package vnfd is the model of a VNF descriptor as the VNFM uses it (ETSI NFV-SOL 001).
//
// It is plain data: package tosca builds it once from YAML when a VNF package is onboarded, it is
// stored as JSON beside the package and cached by content hash, so that no request ever parses YAML.
// Node names keep the order in which the descriptor declares them, because indexes of VNFCs and the
// order of generated resources follow it.
package vnfd

// VNFD is one descriptor with all its deployment flavours (SOL001 tosca.nodes.nfv.VNF).
type VNFD struct {
	// ID is descriptor_id, the vnfdId of SOL003.
	ID                 string   `json:"id"`
	Version            string   `json:"version"`         // descriptor_version
	Provider           string   `json:"provider"`        // provider
	ProductName        string   `json:"productName"`     // product_name
	SoftwareVersion    string   `json:"softwareVersion"` // software_version
	ProductInfoName    string   `json:"productInfoName,omitempty"`
	ProductDescription string   `json:"productDescription,omitempty"`
	VnfmInfo           []string `json:"vnfmInfo,omitempty"`
	// DefaultLocalizationLanguage is default_localization_language when the descriptor names one.
	DefaultLocalizationLanguage string `json:"defaultLocalizationLanguage,omitempty"`
	// Secrets are the names of properties that hold secrets: their definitions have the metadata gybe.secret.
	Secrets []string `json:"secrets,omitempty"`
	// Warnings are defects of the VNFD as a whole for which requests are refused.
	Warnings []Warning `json:"warnings,omitempty"`
	// Flavours in the order of the files that declare them; never empty.
	Flavours []Flavour `json:"flavours"`
}

// Flavour returns the deployment flavour with this flavour_id, or nil.
func (v *VNFD) Flavour(id string) *Flavour {
	for i := range v.Flavours {
		if v.Flavours[i].ID == id {
			return &v.Flavours[i]
		}
	}
	return nil
}

// Flavour is one deployment flavour: a service template whose substitution_mappings carry flavour_id.
type Flavour struct {
	ID          string    `json:"id"`
	Description string    `json:"description,omitempty"`
	VDUs        []VDU     `json:"vdus,omitempty"`
	Storages    []Storage `json:"storages,omitempty"`
	CPs         []CP      `json:"cps,omitempty"`
	VLs         []VL      `json:"vls,omitempty"`
	// VirtualCPs give access to all VNFCs of VDUs.
	VirtualCPs []VirtualCP `json:"virtualCps,omitempty"`
	// Mciops are the object packages of VDUs of containers, each one behind those that it depends on.
	Mciops []Mciop `json:"mciops,omitempty"`
	// Aspects are the entries of policy ScalingAspects.
	Aspects []ScalingAspect `json:"aspects,omitempty"`
	// Levels are the entries of policy InstantiationLevels joined with Vdu- and VirtualLinkInstantiationLevels.
	Levels       []InstantiationLevel `json:"levels,omitempty"`
	DefaultLevel string               `json:"defaultLevel,omitempty"`
	// Placement holds AffinityRule and AntiAffinityRule policies, their groups resolved to VDU and VL names.
	Placement []PlacementRule `json:"placement,omitempty"`
	// LCM maps an interface operation of tosca.interfaces.nfv.Vnflcm (such as "instantiate_end") to what it runs.
	// Operations that are absent or empty in the descriptor are not listed.
	LCM map[string]Implementation `json:"lcm,omitempty"`
	// Warnings are defects of the flavour for which requests are refused.
	Warnings []Warning `json:"warnings,omitempty"`
}

// VDU is a node of the type tosca.nodes.nfv.Vdu.Compute or tosca.nodes.nfv.Vdu.OsContainerDeployableUnit, or of one
// that is derived from them.
type VDU struct {
	Name         string `json:"name"`                  // node template name
	DisplayName  string `json:"displayName,omitempty"` // properties.name
	Description  string `json:"description,omitempty"`
	MinInstances int    `json:"minInstances"`
	MaxInstances int    `json:"maxInstances"`
	// InitialInstances is the count of VduInitialDelta, or 0 where the policy is absent.
	InitialInstances int `json:"initialInstances,omitempty"`
	// ComputeFlavour is requested_additional_capability_name: the flavour's name in the VIM.
	ComputeFlavour string `json:"computeFlavour,omitempty"`
	// VirtualCPUs is num_virtual_cpu, VirtualMemoryBytes is virtual_mem_size in bytes; 0 when not given.
	VirtualCPUs        int      `json:"virtualCpus,omitempty"`
	VirtualMemoryBytes int64    `json:"virtualMemoryBytes,omitempty"`
	Image              *SwImage `json:"image,omitempty"`
	Storages           []string `json:"storages,omitempty"` // names of Storage nodes, in requirement order
	// Containers are those of a VDU that is realised by OS containers, in the order of its requirements.
	Containers []Container `json:"containers,omitempty"`
	// Workload is mcio_identification_data: the object of a cluster that realises the VDU; nil when not given.
	Workload *Workload `json:"workload,omitempty"`
}

// Container is a tosca.nodes.nfv.Vdu.OsContainer (or derived) node. Numbers are 0 when not given.
type Container struct {
	Name        string `json:"name"`                  // node template name
	DisplayName string `json:"displayName,omitempty"` // properties.name
	Description string `json:"description,omitempty"`
	// RequestedMilliCPU and MilliCPULimit are thousandths of a CPU.
	RequestedMilliCPU    int   `json:"requestedMilliCpu,omitempty"`
	MilliCPULimit        int   `json:"milliCpuLimit,omitempty"`
	RequestedMemoryBytes int64 `json:"requestedMemoryBytes,omitempty"`
	MemoryLimitBytes     int64 `json:"memoryLimitBytes,omitempty"`
	// Image is the container's image. The cluster pulls it from a registry, also when the package has a copy.
	Image *SwImage `json:"image,omitempty"`
}

// Workload is a tosca.datatypes.nfv.McioIdentificationData.
type Workload struct {
	Kind string `json:"kind"` // such as Deployment
	Name string `json:"name"` // metadata.name
}

// Mciop is a tosca.nodes.nfv.Mciop (or derived) node: the package of objects from which a cluster makes the VNFCs of
// VDUs. It has a chart, or manifests, or neither when they are not in the package.
type Mciop struct {
	Name string `json:"name"`
	// VDUs are the names of the VDUs that it is associated with.
	VDUs []string `json:"vdus,omitempty"`
	// Chart is the Helm chart, a folder or an archive, from the package root.
	Chart string `json:"chart,omitempty"`
	// Manifests are files with Kubernetes objects, from the package root.
	Manifests []string `json:"manifests,omitempty"`
}

// Storage is a tosca.nodes.nfv.Vdu.VirtualBlockStorage (or object/file storage) node.
type Storage struct {
	Name      string   `json:"name"`
	Type      string   `json:"type"` // BLOCK, OBJECT or FILE
	SizeBytes int64    `json:"sizeBytes,omitempty"`
	Image     *SwImage `json:"image,omitempty"`
}

// SwImage is sw_image_data of a VDU or storage with its artifact (SOL001 tosca.datatypes.nfv.SwImageData).
type SwImage struct {
	Name              string `json:"name"`
	Version           string `json:"version,omitempty"`
	Provider          string `json:"provider,omitempty"`
	ContainerFormat   string `json:"containerFormat,omitempty"`
	DiskFormat        string `json:"diskFormat,omitempty"`
	MinDiskBytes      int64  `json:"minDiskBytes,omitempty"`
	MinRAMBytes       int64  `json:"minRamBytes,omitempty"`
	SizeBytes         int64  `json:"sizeBytes,omitempty"`
	ChecksumAlgorithm string `json:"checksumAlgorithm,omitempty"` // normalised, e.g. "sha-512"
	ChecksumHash      string `json:"checksumHash,omitempty"`
	// File is the image's path from the package root, or "" when the image is expected in the VIM under Name.
	File string `json:"file,omitempty"`
	// URI is where the VNFD says that the image is, on another server, without user and password. It is never opened.
	URI string `json:"uri,omitempty"`
}

// CP is a tosca.nodes.nfv.VduCp or tosca.nodes.nfv.VnfExtCp (or derived) node.
type CP struct {
	Name string `json:"name"`
	// VDU is the target of virtual_binding; empty for a VnfExtCp.
	VDU string `json:"vdu,omitempty"`
	// VL is the internal virtual link it attaches to, or "" when the link is external.
	VL string `json:"vl,omitempty"`
	// External says that the CP is exposed: mapped by substitution_mappings, a VnfExtCp, or without an internal link.
	External       bool     `json:"external,omitempty"`
	Order          int      `json:"order,omitempty"`
	LayerProtocols []string `json:"layerProtocols,omitempty"`
	VnicType       string   `json:"vnicType,omitempty"`
}

// VirtualCP is a tosca.nodes.nfv.VirtualCp (or derived) node, such as a Service of a cluster.
type VirtualCP struct {
	Name string `json:"name"`
	// VDUs are those whose VNFCs it gives access to.
	VDUs []string `json:"vdus,omitempty"`
	// VL is the virtual link that it is connected to, "" for none.
	VL             string   `json:"vl,omitempty"`
	LayerProtocols []string `json:"layerProtocols,omitempty"`
}

// VL is a tosca.nodes.nfv.VnfVirtualLink (or derived) node.
type VL struct {
	Name           string   `json:"name"`
	LayerProtocols []string `json:"layerProtocols,omitempty"`
	// CIDRs are those of vl_profile.virtual_link_protocol_data, in order.
	CIDRs []string `json:"cidrs,omitempty"`
}

// ScalingAspect is one aspect with the VDUs that one step of it adds.
type ScalingAspect struct {
	ID            string `json:"id"`
	Name          string `json:"name,omitempty"`
	Description   string `json:"description,omitempty"`
	MaxScaleLevel int    `json:"maxScaleLevel"`
	// Steps[i] holds the VNFCs that going from level i to i+1 adds, by VDU; its length is MaxScaleLevel.
	Steps []map[string]int `json:"steps,omitempty"`
}

// InstantiationLevel is one size of a flavour.
type InstantiationLevel struct {
	ID          string `json:"id"`
	Description string `json:"description,omitempty"`
	// ScaleLevels is scale_info: aspect id to level.
	ScaleLevels map[string]int `json:"scaleLevels,omitempty"`
	// VDUs is the number of VNFCs by VDU (VduInstantiationLevels).
	VDUs map[string]int `json:"vdus,omitempty"`
}

// PlacementRule is an AffinityRule or AntiAffinityRule policy.
type PlacementRule struct {
	Name  string `json:"name"`
	Anti  bool   `json:"anti"`
	Scope string `json:"scope"` // nfvi_node, zone, zone_group, nfvi_pop, network_link_and_node
	// Targets are names of VDUs and VLs; placement groups are resolved to their members.
	Targets []string `json:"targets,omitempty"`
	// Groups are the placement groups the policy named.
	Groups []string `json:"groups,omitempty"`
}

// Implementation is what an LCM interface operation runs.
type Implementation struct {
	// Name is the value of `implementation`: an artifact name, or the name of a built-in mgmt driver.
	Name string `json:"name"`
	// ArtifactType and File describe the artifact of that name when there is one; File is from the package root.
	ArtifactType string `json:"artifactType,omitempty"`
	File         string `json:"file,omitempty"`
	// Defect says why the artifact is not a file of the package; "" if it is, or if there is no artifact.
	Defect string `json:"defect,omitempty"`
	// Inputs are the operation's inputs as JSON values.
	Inputs map[string]any `json:"inputs,omitempty"`
}
