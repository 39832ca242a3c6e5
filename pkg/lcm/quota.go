package lcm

// ProjectQuota bounds what a project can have; 0 is no bound.
type ProjectQuota struct {
	Instances int64
	// Operations are those that hold an instance (Active).
	Operations   int64
	Packages     int64
	PackageBytes int64
	// Snapshots are VNF snapshot resources, also empty ones.
	Snapshots int64
}
