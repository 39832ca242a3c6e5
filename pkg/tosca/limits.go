package tosca

// Limits limit the work for a descriptor.
type Limits struct {
	// FileBytes is the size of one file, Files their number, TotalBytes the size of all.
	FileBytes  int64
	Files      int
	TotalBytes int64
	// Values is the number of YAML values in all files together, as written and as aliases expand.
	Values int
	// Depth is how deeply values may be nested.
	Depth int
}

// DefaultLimits are far above any descriptor in use and keep the memory for one below about 150 MB.
func DefaultLimits() Limits {
	return Limits{FileBytes: 4 << 20, Files: 100, TotalBytes: 16 << 20, Values: 250_000, Depth: 64}
}

// Limits of the model, which a few lines of YAML could otherwise make very large.
const (
	maxFlavours   = 64
	maxNodes      = 1000 // nodes of one kind in a flavour
	maxVDUs       = 200
	maxLevels     = 200
	maxPolicies   = 1000
	maxAspects    = 100
	maxScaleLevel = 1000
	maxInstances  = 100_000 // VNFCs of one VDU
	maxSteps      = 200_000 // VDU counts in the steps of all aspects of a flavour
)
