package store

import (
	"context"
	"sync"
	"time"

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
	quotaSnapshots    = "snapshots"
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

// fastest is more rows than all nodes together can add to a project in a second. A count of many rows costs more than
// the statement that adds one, so it is not repeated while the project cannot have reached its limit.
const fastest = 20_000

// counts are what projects used of their quotas when this node counted last.
type counts struct {
	mu    sync.Mutex
	known map[countKey]counted
}

type countKey struct{ project, resource string }

type counted struct {
	used int64
	at   time.Time
}

// maxCounts bounds the counts in memory.
const maxCounts = 10_000

// farFrom says that the project had so much room for the resource that it cannot be at the limit now.
func (c *counts) farFrom(highest int64, key countKey, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, ok := c.known[key]
	return ok && last.used+int64(now.Sub(last.at).Seconds()*fastest)+nearLimit <= highest
}

// nearLimit is the room of a project in which every addition is counted; gybe_quota has it, too.
const nearLimit = 200

func (c *counts) put(key countKey, used int64, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxCounts {
		c.known = map[countKey]counted{}
	}
	c.known[key] = counted{used, now}
}

// countSQL counts the rows of a project. Bytes are not in it: one package can have any number of them.
var countSQL = map[string]string{
	quotaInstances:  "SELECT count(*) FROM vnf_instance WHERE project = $1",
	quotaOperations: "SELECT count(*) FROM vnf_lcm_op_occ WHERE project = $1 AND state IN " + active,
	quotaPackages:   "SELECT count(*) FROM vnf_package WHERE project = $1",
	quotaSnapshots:  "SELECT count(*) FROM vnf_snapshot WHERE project = $1",
}

// queueQuota lets a transaction fail when a project has no room for an addition to a resource. It MUST come before the
// statement that adds.
func (s *Store) queueQuota(b *pgx.Batch, project, resource string, addition, highest int64) {
	if highest <= 0 {
		return
	}
	key, now := countKey{project, resource}, time.Now()
	if s.counts.farFrom(highest, key, now) {
		return
	}
	b.Queue("SELECT gybe_quota($1, $2, $3, $4)", project, resource, addition, highest)
	if sql := countSQL[resource]; sql != "" && highest > nearLimit {
		b.Queue(sql, project).QueryRow(func(row pgx.Row) error {
			var used int64
			err := row.Scan(&used)
			if err == nil {
				s.counts.put(key, used, now)
			}
			return err
		})
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
		(SELECT coalesce(sum(size), 0)::bigint FROM vnf_package WHERE project = $1),
		(SELECT count(*) FROM vnf_snapshot WHERE project = $1)`, s.project).Scan(
		&used.Instances, &used.Operations, &used.Packages, &used.PackageBytes, &used.Snapshots,
	)
	return s.quotaOf(s.project), used, fault("count what the project uses", err)
}
