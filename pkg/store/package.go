package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gybe-nfv/gybe/pkg/job"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
)

// Packages are the packages of a project, or of all.
type Packages struct {
	*Store
	project string // "" is all
}

var (
	_ vnfpkg.Stores = (*Store)(nil)
	_ vnfpkg.Store  = (*Packages)(nil)
)

// PackagesOf implements vnfpkg.Stores.
func (s *Store) PackagesOf(p lcm.Principal) vnfpkg.Store { return &Packages{s, projectOf(p)} }

// AllPackages implements vnfpkg.Stores.
func (s *Store) AllPackages() vnfpkg.Store { return &Packages{Store: s} }

// InsertPackage implements vnfpkg.Store.
func (s *Packages) InsertPackage(ctx context.Context, p *vnfpkg.Package) error {
	stored := *p
	stored.Project = cmp.Or(s.project, lcm.DefaultProject)
	r, err := packages.encode(s.Store, &stored, packages.every)
	if err != nil {
		return err
	}
	err = s.pipeline(ctx, "insert package", func(b *pgx.Batch) {
		s.queueQuota(b, stored.Project, quotaPackages, 1, s.quotaOf(stored.Project).Packages)
		s.queueRequestKey(ctx, b, p.ID)
		b.Queue(insertPackage, packages.inserts(r)...).QueryRow(
			func(row pgx.Row) error { return row.Scan(&stored.Version, &stored.Created, &stored.Updated) },
		)
		queuePackageEvent(b, p)
	})
	if err != nil {
		return err
	}
	p.Project, p.Version = stored.Project, stored.Version
	p.Created, p.Updated = stored.Created.UTC(), stored.Updated.UTC()
	return nil
}

// Package implements vnfpkg.Store.
func (s *Packages) Package(ctx context.Context, id string) (*vnfpkg.Package, error) {
	if !known(id) {
		return nil, notFound("VNF package", id)
	}
	p, err := s.visible(ctx, s.pool, "p.id = $1", id)
	return p, fault("read package", orNotFound(err, "VNF package", id))
}

// OnboardedPackage implements vnfpkg.Store.
func (s *Packages) OnboardedPackage(ctx context.Context, vnfdID string) (*vnfpkg.Package, error) {
	p, err := s.visible(ctx, s.pool, "p.vnfd_id = $1 AND p.onboarding_state = 'ONBOARDED'", clean(vnfdID))
	return p, fault("read package", orNotFound(err, "onboarded VNF package with the vnfdId", vnfdID))
}

// OnboardedContent implements vnfpkg.Store.
func (s *Packages) OnboardedContent(ctx context.Context, digest string) (*vnfpkg.Package, error) {
	rows, err := s.pool.Query(ctx, "SELECT "+packageColumns.list+` FROM vnf_package p WHERE p.digest = $1
		AND p.onboarding_state = 'ONBOARDED' AND ($2 = '' OR p.project = $2) ORDER BY p.id LIMIT 1`, digest, s.project)
	p, err := packageColumns.one(s.Store, rows, err)
	return p, fault("read package", orNotFound(err, "onboarded VNF package with the content", digest))
}

// own reads one of the project, with a lock clause; pgx.ErrNoRows when there is none.
func (s *Packages) own(ctx context.Context, q querier, id, lock string) (*vnfpkg.Package, error) {
	rows, err := q.Query(ctx, "SELECT "+packageColumns.list+
		" FROM vnf_package p WHERE p.id = $1 AND ($2 = '' OR p.project = $2) "+lock, id, s.project)
	return packageColumns.one(s.Store, rows, err)
}

// notOwn is the error for a package that own did not find.
func (s *Packages) notOwn(ctx context.Context, q querier, id string, err error) error {
	if !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	if _, seen := s.visible(ctx, q, "p.id = $1", id); seen != nil {
		return notFound("VNF package", id)
	}
	return lcm.Errorf(lcm.CodeForbidden, "VNF package %s belongs to another project, which shares it", id).WithHint(
		"its project can change it",
	)
}

// visible reads one of the project, or a shared one; pgx.ErrNoRows when there is none.
func (s *Packages) visible(ctx context.Context, q querier, where, arg string) (*vnfpkg.Package, error) {
	c := s.list()
	c.from = strings.Replace(where, "$1", c.place(arg), 1) + c.from
	if s.project != "" {
		c.from += " ORDER BY p.project <> " + c.place(s.project) + ", p.id LIMIT 1"
	}
	rows, err := q.Query(ctx, "SELECT "+packageColumns.list+" FROM vnf_package p WHERE "+c.from, c.args...)
	p, err := packageColumns.one(s.Store, rows, err)
	if err != nil {
		return nil, err
	}
	return p, s.limitUse(ctx, q, p)
}

// limitUse leaves of the usage states of shared packages of other projects the use by this project.
func (s *Packages) limitUse(ctx context.Context, q querier, found ...*vnfpkg.Package) error {
	var ids []string
	for _, p := range found {
		if s.project != "" && p.Project != s.project {
			ids = append(ids, p.ID)
		}
	}
	if ids == nil {
		return nil
	}
	used, err := q.Query(ctx, `SELECT vnf_pkg_id::text FROM vnf_instance WHERE vnf_pkg_id = ANY($1) AND project = $2
		UNION SELECT new_pkg_id::text FROM vnf_lcm_op_occ WHERE new_pkg_id = ANY($1) AND project = $2
		UNION SELECT old_pkg_id::text FROM vnf_lcm_op_occ WHERE old_pkg_id = ANY($1) AND project = $2`, ids, s.project)
	if err != nil {
		return err
	}
	own, err := pgx.CollectRows(used, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, p := range found {
		if slices.Contains(ids, p.ID) && !slices.Contains(own, p.ID) {
			p.UsageState = sol.PackageUsageStateNotInUse
		}
	}
	return nil
}

// list is the condition of the project, after another condition.
func (s *Packages) list() (c listClause) {
	if s.project != "" {
		c.from = " AND (p.project = " + c.place(s.project) + " OR p.shared)"
	}
	return c
}

// Packages implements vnfpkg.Store.
func (s *Packages) Packages(ctx context.Context, q vnfpkg.Query) ([]*vnfpkg.Package, error) {
	if q.After != "" && !known(q.After) {
		return nil, nil
	}
	c := s.list()
	if q.After != "" {
		c.from += " AND p.id > " + c.place(q.After)
	}
	if q.Onboarded {
		c.from += " AND p.onboarding_state = 'ONBOARDED'"
	}
	c.from += " ORDER BY p.id" + limit(q.Limit)
	columns := packageColumns
	switch {
	case q.Brief:
		columns = packageBrief
	case q.NoArtifacts:
		columns = packageNoArtifacts
	}
	rows, err := s.pool.Query(ctx, "SELECT "+columns.list+" FROM vnf_package p WHERE true"+c.from, c.args...)
	out, err := columns.collect(s.Store, rows, err)
	if err == nil {
		err = s.limitUse(ctx, s.pool, out...)
	}
	return out, fault("list packages", err)
}

// UpdatePackage implements vnfpkg.Store.
func (s *Packages) UpdatePackage(
	ctx context.Context, id string, change func(p *vnfpkg.Package, now time.Time) error,
) (*vnfpkg.Package, error) {
	if !known(id) {
		return nil, notFound("VNF package", id)
	}
	var p *vnfpkg.Package
	err := s.inTx(ctx, "update package", func(tx pgx.Tx) (err error) {
		p, err = s.updatePackage(ctx, tx, id, change)
		return err
	})
	if violates(err, "vnf_package_vnfd_id") {
		return nil, vnfpkg.ErrVnfdTaken
	}
	if violates(err, "vnf_package_shared") {
		return nil, vnfpkg.ErrVnfdShared
	}
	if err != nil {
		return nil, err
	}
	if kind, ok := packageJob(p); ok {
		s.jobs.Added(kind)
	}
	return p, nil
}

func (s *Packages) updatePackage(
	ctx context.Context, tx pgx.Tx, id string, change func(p *vnfpkg.Package, now time.Time) error,
) (*vnfpkg.Package, error) {
	p, err := s.own(ctx, tx, id, "FOR NO KEY UPDATE OF p")
	if err != nil {
		return nil, s.notOwn(ctx, tx, id, err)
	}
	var now time.Time
	if err := tx.QueryRow(ctx, "SELECT now()").Scan(&now); err != nil {
		return nil, err
	}
	old := *p
	if err := change(p, now.UTC()); err != nil {
		return nil, err
	}
	if err := s.admitContent(ctx, tx, &old, p); err != nil {
		return nil, err
	}
	r, err := packages.encode(s.Store, p, packages.changing)
	if err != nil {
		return nil, err
	}
	kind, worked := packageJob(p)
	var job *int64
	if worked && old.OnboardingState != p.OnboardingState {
		n, err := s.addJob(ctx, tx, kind, id, false)
		if err != nil {
			return nil, err
		}
		job = &n
	}
	b := &pgx.Batch{}
	b.Queue(updatePackage, append([]any{p.ID, job, worked}, packages.changes(r)...)...).QueryRow(
		func(row pgx.Row) error { return row.Scan(&p.Version, &p.Updated) },
	)
	p.UsageState = old.UsageState
	if err := queuePackageChange(ctx, tx, b, &old, p, now); err != nil {
		return nil, err
	}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return nil, err
	}
	p.Updated = p.Updated.UTC()
	return p, nil
}

// admitContent checks the quota for content that a package gets, and keeps the content from being removed.
func (s *Packages) admitContent(ctx context.Context, tx pgx.Tx, old, p *vnfpkg.Package) error {
	if p.Content == nil || old.Content != nil && old.Content.Digest == p.Content.Digest {
		return nil
	}
	quota := &pgx.Batch{}
	s.queueQuota(quota, p.Project, quotaPackageBytes, p.Content.Size, s.quotaOf(p.Project).PackageBytes)
	if err := tx.SendBatch(ctx, quota).Close(); err != nil {
		return err
	}
	return lockContent(ctx, tx, p.Content.Digest)
}

// packageJob returns the kind of the job that a package has in its state.
func packageJob(p *vnfpkg.Package) (job.Kind, bool) {
	switch {
	case p.OnboardingState == sol.PackageOnboardingStateProcessing:
		return PackageJobs, true
	case p.OnboardingState == sol.PackageOnboardingStateUploading && p.Download != nil:
		return DownloadJobs, true
	}
	return job.Kind{}, false
}

// SaveDownload implements vnfpkg.Store.
func (s *Store) SaveDownload(ctx context.Context, id string, d vnfpkg.Download) error {
	if !known(id) {
		return vnfpkg.ErrUploadLost
	}
	raw, err := jsonb(d)
	if err != nil {
		return err
	}
	// The event is written only if the row is.
	tag, err := s.pool.Exec(ctx, `WITH saved AS (
			UPDATE vnf_package SET download = $3 WHERE id = $1 AND onboarding_state = 'UPLOADING' AND download->>'token' = $2
			RETURNING id, project, onboarding_state, operational_state
		) INSERT INTO event (kind, package_id, project, body) SELECT $4, id, project, jsonb_build_object(
			'onboardingState', onboarding_state, 'operationalState', operational_state, 'usageState', $5::text,
			'received', $6::bigint, 'total', $7::bigint) FROM saved`,
		id, d.Token, raw, KindPackage, string(sol.PackageUsageStateNotInUse), d.Received, d.Total)
	if err == nil && tag.RowsAffected() == 0 {
		return vnfpkg.ErrUploadLost
	}
	if err == nil {
		s.announce()
	}
	return fault("save download", err)
}

// lockContent takes the lock of an archive in the content store until the transaction ends.
func lockContent(ctx context.Context, tx pgx.Tx, digest string) error {
	_, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended('gybe content ' || $1::text, 0))", digest)
	return err
}

// DeletePackage implements vnfpkg.Store.
func (s *Packages) DeletePackage(
	ctx context.Context, id string, check func(p *vnfpkg.Package) error,
) (*vnfpkg.Package, error) {
	if !known(id) {
		return nil, notFound("VNF package", id)
	}
	var p *vnfpkg.Package
	err := s.inTx(ctx, "delete package", func(tx pgx.Tx) (err error) {
		// The lock first, in its own statement: the usage state must be read when no instance can come any more.
		if _, err := tx.Exec(
			ctx, "SELECT FROM vnf_package WHERE id = $1 AND ($2 = '' OR project = $2) FOR UPDATE", id, s.project,
		); err != nil {
			return err
		}
		if p, err = s.own(ctx, tx, id, ""); err != nil {
			return s.notOwn(ctx, tx, id, err)
		}
		if err := check(p); err != nil {
			return err
		}
		if p.UsageState == sol.PackageUsageStateInUse {
			return lcm.Errorf(lcm.CodeConflict, "VNF instances, or operations on them, refer to VNF package %s",
				id).WithHint("delete the instances first, and wait for operations that change to or from the package")
		}
		now, err := value[time.Time](tx.Query(ctx, "SELECT now()"))
		if err != nil {
			return err
		}
		b := &pgx.Batch{}
		if err := queuePackageDeletion(ctx, tx, b, p, now); err != nil {
			return err
		}
		b.Queue("DELETE FROM vnf_package WHERE id = $1", id)
		return tx.SendBatch(ctx, b).Close()
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// RenewUpload implements vnfpkg.Store.
func (s *Store) RenewUpload(ctx context.Context, id, token string, lease time.Duration) error {
	if !known(id) {
		return vnfpkg.ErrUploadLost
	}
	tag, err := s.pool.Exec(ctx, `UPDATE vnf_package SET upload_lease = now() + $3::interval
		WHERE id = $1 AND upload_token = $2 AND onboarding_state = 'UPLOADING'`, id, token, lease)
	if err == nil && tag.RowsAffected() == 0 {
		return vnfpkg.ErrUploadLost
	}
	return fault("renew upload", err)
}

// ExpiredUploads implements vnfpkg.Store.
func (s *Store) ExpiredUploads(ctx context.Context) ([]string, error) {
	rows, err := s.pool.Query(
		ctx, "SELECT id::text FROM vnf_package WHERE onboarding_state = 'UPLOADING' AND upload_lease < now()",
	)
	if err != nil {
		return nil, fault("list expired uploads", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return ids, fault("list expired uploads", err)
}

// SavePackageModel implements vnfpkg.Store.
func (s *Store) SavePackageModel(ctx context.Context, key vnfpkg.ModelKey, model json.RawMessage) error {
	return s.inTx(ctx, "save package model", func(tx pgx.Tx) error {
		if err := lockContent(ctx, tx, key.Digest); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO vnf_package_model (digest, format, model) SELECT $1, $2, $3
			WHERE EXISTS (SELECT FROM vnf_package WHERE digest = $1)
			ON CONFLICT (digest, format) DO UPDATE SET model = $3`, key.Digest, key.Format, noNUL(model))
		return err
	})
}

// PackageModel implements vnfpkg.Store.
func (s *Store) PackageModel(ctx context.Context, key vnfpkg.ModelKey) (json.RawMessage, error) {
	model, err := value[json.RawMessage](s.pool.Query(
		ctx, "SELECT model FROM vnf_package_model WHERE digest = $1 AND format = $2", key.Digest, key.Format,
	))
	return model, fault("read package model", orNotFound(err, "package model of the content", key.Digest))
}

// ReleaseContent implements vnfpkg.Store.
func (s *Store) ReleaseContent(ctx context.Context, digest string, remove func() error) (removed bool, err error) {
	err = s.inTx(ctx, "release content", func(tx pgx.Tx) error {
		removed = false
		if err := lockContent(ctx, tx, digest); err != nil {
			return err
		}
		needed, err := value[bool](tx.Query(ctx, "SELECT EXISTS (SELECT FROM vnf_package WHERE digest = $1)", digest))
		if err != nil || needed {
			return err
		}
		if _, err := tx.Exec(ctx, "DELETE FROM vnf_package_model WHERE digest = $1", digest); err != nil {
			return err
		}
		if err := remove(); err != nil {
			return fmt.Errorf("remove content: %w", err)
		}
		removed = true
		return nil
	})
	return removed && err == nil, err
}
