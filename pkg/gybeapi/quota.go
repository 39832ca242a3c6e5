package gybeapi

// Quotas says what a project can have, and what it has.
type Quotas struct {
	Project          string   `json:"project"`
	Instances        QuotaUse `json:"instances"`
	ActiveOperations QuotaUse `json:"activeOperations"`
	Packages         QuotaUse `json:"packages"`
	PackageBytes     QuotaUse `json:"packageBytes"`
	Snapshots        QuotaUse `json:"snapshots"`
}

// QuotaUse is the use of one resource.
type QuotaUse struct {
	Limit int64 `json:"limit,omitempty"` // 0 is no limit
	Used  int64 `json:"used"`
}
