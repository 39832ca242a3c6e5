package store

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// stateQuota is raised by gybe_quota.
const stateQuota = "GY002"

// The resources that gybe_quota counts.
const (
	quotaInstances    = "instances"
	quotaOperations   = "operations"
	quotaPackages     = "packages"
	quotaPackageBytes = "package_bytes"
)

// Limit sets the quotas of projects. It MUST be called before the store is used; without it there are none.
func (s *Store) Limit(quotas func(project string) lcm.ProjectQuota) { s.quotas = quotas }

// quotaOf is the quota of a project.
func (s *Store) quotaOf(project string) lcm.ProjectQuota {
	if s.quotas == nil {
		return lcm.ProjectQuota{}
	}
	return s.quotas(project)
}

// queueQuota lets a transaction fail when a project has no room for an addition to a resource. It MUST come before the
// statement that adds.
func queueQuota(b *pgx.Batch, project, resource string, addition, highest int64) {
	if highest > 0 {
		b.Queue("SELECT gybe_quota($1, $2, $3, $4)", project, resource, addition, highest)
	}
}

// overQuota is the answer to a request for which a project has no room. It names no other project.
func overQuota(err *pgconn.PgError) *lcm.Error {
	return &lcm.Error{
		Code: lcm.CodeForbidden, Title: "Quota exceeded", Detail: err.Message,
		Hint: "delete what is not needed any more, or ask the operator of the node to raise limits.quota",
	}
}

// QuotaUse counts what the project uses of its quota.
func (s *Records) QuotaUse(ctx context.Context) (limit, used lcm.ProjectQuota, err error) {
	err = s.pool.QueryRow(ctx, `SELECT (SELECT count(*) FROM vnf_instance WHERE project = $1),
		(SELECT count(*) FROM vnf_lcm_op_occ WHERE project = $1 AND state IN `+active+`),
		(SELECT count(*) FROM vnf_package WHERE project = $1),
		(SELECT coalesce(sum(size), 0)::bigint FROM vnf_package WHERE project = $1)`, s.project).Scan(
		&used.Instances, &used.Operations, &used.Packages, &used.PackageBytes,
	)
	return s.quotaOf(s.project), used, fault("count what the project uses", err)
}
