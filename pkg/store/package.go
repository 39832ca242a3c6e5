package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

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

// packageRow is a row of vnf_package, with the usage state that comes from the instances.
type packageRow struct {
	ID               string     `db:"id"`
	Project          string     `db:"project"`
	Version          int64      `db:"version"`
	Created          time.Time  `db:"created"`
	Updated          time.Time  `db:"updated"`
	OnboardingState  string     `db:"onboarding_state"`
	OperationalState string     `db:"operational_state"`
	UserDefinedData  []byte     `db:"user_defined_data"`
	UploadToken      *string    `db:"upload_token"`
	UploadLease      *time.Time `db:"upload_lease"`
	Digest           *string    `db:"digest"`
	Size             *int64     `db:"size"`
	VnfdID           *string    `db:"vnfd_id"`
	Onboarded        []byte     `db:"onboarded"`
	Failure          []byte     `db:"failure"`
	InUse            bool       `db:"in_use"`
}

const packageColumns = `p.id, p.project, p.version, p.created, p.updated, p.onboarding_state, p.operational_state, p.user_defined_data,
	p.upload_token, p.upload_lease, p.digest, p.size, p.vnfd_id, p.onboarded, p.failure,
	EXISTS (SELECT FROM vnf_instance i WHERE i.vnf_pkg_id = p.id)
		OR EXISTS (SELECT FROM vnf_lcm_op_occ o WHERE o.new_pkg_id = p.id) OR EXISTS (SELECT FROM vnf_lcm_op_occ o WHERE o.old_pkg_id = p.id) AS in_use`

func encodePackage(p *vnfpkg.Package) (*packageRow, error) {
	r := &packageRow{
		ID: p.ID, Version: p.Version, Created: p.Created, Updated: p.Updated,
		OnboardingState: string(p.OnboardingState), OperationalState: string(p.OperationalState),
		VnfdID: maybe(clean(p.VnfdID)),
	}
	if p.Upload != nil {
		r.UploadToken, r.UploadLease = &p.Upload.Token, &p.Upload.LeaseUntil
	}
	if p.Content != nil {
		r.Digest, r.Size = &p.Content.Digest, &p.Content.Size
	}
	var errs [3]error
	r.UserDefinedData, errs[0] = jsonb(p.UserDefinedData)
	r.Onboarded, errs[1] = jsonb(p.Onboarded)
	r.Failure, errs[2] = jsonb(p.Failure)
	return r, errors.Join(errs[:]...)
}

func (r *packageRow) decode() (*vnfpkg.Package, error) {
	p := &vnfpkg.Package{
		ID: r.ID, Project: r.Project, Version: r.Version, Created: r.Created.UTC(), Updated: r.Updated.UTC(),
		OnboardingState:  sol.PackageOnboardingState(r.OnboardingState),
		OperationalState: sol.PackageOperationalState(r.OperationalState), UsageState: sol.PackageUsageStateNotInUse,
		VnfdID: textOf(r.VnfdID),
	}
	if r.InUse {
		p.UsageState = sol.PackageUsageStateInUse
	}
	if r.UploadToken != nil {
		p.Upload = &vnfpkg.Upload{Token: *r.UploadToken, LeaseUntil: timeOf(r.UploadLease)}
	}
	if r.Digest != nil && r.Size != nil {
		p.Content = &vnfpkg.Content{Digest: *r.Digest, Size: *r.Size}
	}
	return p, errors.Join(
		decode(r.UserDefinedData, &p.UserDefinedData),
		decode(r.Onboarded, &p.Onboarded),
		decode(r.Failure, &p.Failure),
	)
}

// InsertPackage implements vnfpkg.Store.
func (s *Packages) InsertPackage(ctx context.Context, p *vnfpkg.Package) error {
	r, err := encodePackage(p)
	if err != nil {
		return err
	}
	var version int64
	var created, updated time.Time
	project := cmp.Or(s.project, lcm.DefaultProject)
	err = s.pipeline(ctx, "insert package", func(b *pgx.Batch) {
		b.Queue(`INSERT INTO vnf_package (id, onboarding_state, operational_state, user_defined_data, upload_token, upload_lease, digest, size,
				vnfd_id, onboarded, failure, project)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) RETURNING version, created, updated`,
			r.ID, r.OnboardingState, r.OperationalState, r.UserDefinedData, r.UploadToken, r.UploadLease, r.Digest,
			r.Size, r.VnfdID, r.Onboarded, r.Failure, project).QueryRow(
			func(row pgx.Row) error { return row.Scan(&version, &created, &updated) },
		)
		queuePackageEvent(b, p)
	})
	if err != nil {
		return err
	}
	p.Project, p.Version, p.Created, p.Updated = project, version, created.UTC(), updated.UTC()
	return nil
}

// Package implements vnfpkg.Store.
func (s *Packages) Package(ctx context.Context, id string) (*vnfpkg.Package, error) {
	if !known(id) {
		return nil, notFound("VNF package", id)
	}
	p, err := s.one(ctx, s.pool, "p.id = $1", id, "")
	return p, fault("read package", orNotFound(err, "VNF package", id))
}

// OnboardedPackage implements vnfpkg.Store.
func (s *Packages) OnboardedPackage(ctx context.Context, vnfdID string) (*vnfpkg.Package, error) {
	p, err := s.one(ctx, s.pool, "p.vnfd_id = $1 AND p.onboarding_state = 'ONBOARDED'", clean(vnfdID), "")
	return p, fault("read package", orNotFound(err, "onboarded VNF package with the vnfdId", vnfdID))
}

// one reads one, with a lock clause; pgx.ErrNoRows when there is none.
func (s *Packages) one(ctx context.Context, q querier, where, arg, lock string) (*vnfpkg.Package, error) {
	c := s.list()
	c.from = strings.Replace(where, "$1", c.place(arg), 1) + c.from
	r, err := one[packageRow](
		q.Query(ctx, "SELECT "+packageColumns+" FROM vnf_package p WHERE "+c.from+" "+lock, c.args...),
	)
	if err != nil {
		return nil, err
	}
	return r.decode()
}

// list is the condition of the project, after another condition.
func (s *Packages) list() (c listClause) {
	if s.project != "" {
		c.from = " AND p.project = " + c.place(s.project)
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
	c.from += " ORDER BY p.id" + limit(q.Limit)
	rows, err := all[packageRow](
		s.pool.Query(ctx, "SELECT "+packageColumns+" FROM vnf_package p WHERE true"+c.from, c.args...),
	)
	if err != nil {
		return nil, fault("list packages", err)
	}
	out := make([]*vnfpkg.Package, len(rows))
	for n := range rows {
		if out[n], err = rows[n].decode(); err != nil {
			return nil, err
		}
	}
	return out, nil
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
	if err != nil {
		return nil, err
	}
	if p.OnboardingState == sol.PackageOnboardingStateProcessing {
		s.jobs.Added(PackageJobs)
	}
	return p, nil
}

func (s *Packages) updatePackage(
	ctx context.Context, tx pgx.Tx, id string, change func(p *vnfpkg.Package, now time.Time) error,
) (*vnfpkg.Package, error) {
	p, err := s.one(ctx, tx, "p.id = $1", id, "FOR NO KEY UPDATE OF p")
	if err != nil {
		return nil, orNotFound(err, "VNF package", id)
	}
	var now time.Time
	if err := tx.QueryRow(ctx, "SELECT now()").Scan(&now); err != nil {
		return nil, err
	}
	old := *p
	if err := change(p, now.UTC()); err != nil {
		return nil, err
	}
	if p.Content != nil && (old.Content == nil || old.Content.Digest != p.Content.Digest) {
		if err := lockContent(ctx, tx, p.Content.Digest); err != nil {
			return nil, err
		}
	}
	r, err := encodePackage(p)
	if err != nil {
		return nil, err
	}
	// While nothing is processed no job is named, so that one that is left over does nothing.
	begins := p.OnboardingState == sol.PackageOnboardingStateProcessing && old.OnboardingState != p.OnboardingState
	var job *int64
	if begins {
		n, err := s.addJob(ctx, tx, PackageJobs, id)
		if err != nil {
			return nil, err
		}
		job = &n
	}
	b := &pgx.Batch{}
	b.Queue(`UPDATE vnf_package SET version = version + 1, updated = now(), onboarding_state = $2, operational_state = $3, user_defined_data = $4,
			upload_token = $5, upload_lease = $6, digest = $7, size = $8, vnfd_id = $9, onboarded = $10, failure = $11,
			job_id = CASE WHEN $13 THEN $12 WHEN $2 = 'PROCESSING' THEN job_id END
		WHERE id = $1 RETURNING version, updated`,
		r.ID, r.OnboardingState, r.OperationalState, r.UserDefinedData, r.UploadToken, r.UploadLease, r.Digest, r.Size,
		r.VnfdID, r.Onboarded, r.Failure, job, begins).QueryRow(
		func(row pgx.Row) error { return row.Scan(&p.Version, &p.Updated) },
	)
	p.UsageState = old.UsageState
	if old.OnboardingState != p.OnboardingState || old.OperationalState != p.OperationalState {
		queuePackageEvent(b, p)
	}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return nil, err
	}
	p.Updated = p.Updated.UTC()
	return p, nil
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
		if _, err := tx.Exec(ctx, "SELECT FROM vnf_package WHERE id = $1 FOR UPDATE", id); err != nil {
			return err
		}
		if p, err = s.one(ctx, tx, "p.id = $1", id, ""); err != nil {
			return orNotFound(err, "VNF package", id)
		}
		if err := check(p); err != nil {
			return err
		}
		if p.UsageState == sol.PackageUsageStateInUse {
			return lcm.Errorf(lcm.CodeConflict, "VNF instances, or operations on them, refer to VNF package %s",
				id).WithHint("delete the instances first, and wait for operations that change to or from the package")
		}
		b := &pgx.Batch{}
		b.Queue("DELETE FROM vnf_package WHERE id = $1", id)
		b.Queue("INSERT INTO event (kind, package_id, body, project) VALUES ($1, $2, '{}', $3)", KindPackageDeleted, id,
			p.Project)
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
	_, err := s.pool.Exec(ctx, `INSERT INTO vnf_package_model (digest, format, model) VALUES ($1, $2, $3)
		ON CONFLICT (digest, format) DO UPDATE SET model = $3`, key.Digest, key.Format, noNUL(model))
	return fault("save package model", err)
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

// queuePackageEvent tells the states of a package.
func queuePackageEvent(b *pgx.Batch, p *vnfpkg.Package) {
	b.Queue(`INSERT INTO event (kind, package_id, project, body) SELECT $1, p.id, p.project,
		jsonb_build_object('onboardingState', $3::text, 'operationalState', $4::text, 'usageState', $5::text) FROM vnf_package p WHERE p.id = $2`,
		KindPackage, p.ID, string(p.OnboardingState), string(p.OperationalState), string(p.UsageState))
}
