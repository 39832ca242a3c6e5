package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
)

// queuePackageChange adds the events and the notifications of a change. Other projects get those of a package that is
// shared before or after it.
func queuePackageChange(
	ctx context.Context, q querier, b *pgx.Batch, old, p *vnfpkg.Package, now time.Time,
) error {
	if old.OnboardingState != p.OnboardingState || old.OperationalState != p.OperationalState ||
		old.Shared != p.Shared {
		queuePackageEvent(b, p)
		switch {
		case p.Shared:
			queueOthersEvent(b, KindPackage, p)
		case old.Shared:
			queueOthersEvent(b, KindPackageDeleted, p)
		}
	}
	messages, err := vnfpkg.ChangeMessages(old, p, now)
	if err != nil {
		return err
	}
	return queuePackageMessages(ctx, q, b, p, messages)
}

// queuePackageDeletion adds the events and the notification of a deletion.
func queuePackageDeletion(ctx context.Context, q querier, b *pgx.Batch, p *vnfpkg.Package, now time.Time) error {
	b.Queue("INSERT INTO event (kind, package_id, body, project) VALUES ($1, $2, '{}', $3)", KindPackageDeleted, p.ID,
		p.Project)
	if p.Shared {
		queueOthersEvent(b, KindPackageDeleted, p)
	}
	messages, err := vnfpkg.DeletionMessages(p, now)
	if err != nil {
		return err
	}
	return queuePackageMessages(ctx, q, b, p, messages)
}

// queuePackageMessages adds notifications about a package to the outbox.
func queuePackageMessages(
	ctx context.Context, q querier, b *pgx.Batch, p *vnfpkg.Package, messages []*vnfpkg.Message,
) error {
	for _, m := range messages {
		var ofProjects []byte
		if m.Audience != vnfpkg.AudienceProject {
			own, err := usageByProject(ctx, q, p)
			if err != nil {
				return err
			}
			if ofProjects, err = jsonb(own); err != nil {
				return err
			}
			m.Attributes[vnfpkg.AttrUsageState] = []string{string(sol.PackageUsageStateNotInUse)}
		}
		attributes, err := jsonb(m.Attributes)
		if err != nil {
			return err
		}
		o := p.Onboarded
		b.Queue(`INSERT INTO outbox (id, kind, time, body, api, subject, audience, attributes, project_attributes,
				project, vnfd_id, provider, product_name, software_version, vnfd_version)
			VALUES ($1, $2, $3, $4, 'vnfpkgm', $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
			m.ID, string(m.Kind), m.Time, noNUL(m.Body), p.ID, string(m.Audience), attributes, ofProjects, p.Project,
			clean(p.VnfdID), clean(o.Provider), clean(o.ProductName), clean(o.SoftwareVersion), clean(o.VnfdVersion))
	}
	return nil
}

// usageByProject are the usage states that projects see where it is not NOT_IN_USE: the project of the package sees any
// use, and the others see their own.
func usageByProject(ctx context.Context, q querier, p *vnfpkg.Package) (map[string]map[string][]string, error) {
	rows, err := q.Query(ctx, `SELECT project FROM vnf_instance WHERE vnf_pkg_id = $1
		UNION SELECT project FROM vnf_lcm_op_occ WHERE new_pkg_id = $1
		UNION SELECT project FROM vnf_lcm_op_occ WHERE old_pkg_id = $1`, p.ID)
	if err != nil {
		return nil, err
	}
	projects, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	if p.UsageState == sol.PackageUsageStateInUse {
		projects = append(projects, p.Project)
	}
	out := map[string]map[string][]string{}
	for _, project := range projects {
		out[project] = map[string][]string{vnfpkg.AttrUsageState: {string(sol.PackageUsageStateInUse)}}
	}
	return out, nil
}

// queuePackageEvent tells the states of a package, with that of its signature while it is onboarded.
func queuePackageEvent(b *pgx.Batch, p *vnfpkg.Package) {
	b.Queue(`INSERT INTO event (kind, package_id, project, body) SELECT $1, p.id, p.project,
		jsonb_strip_nulls(jsonb_build_object('onboardingState', $3::text, 'operationalState', $4::text,
			'usageState', $5::text, 'signature', nullif($6::text, ''))) FROM vnf_package p WHERE p.id = $2`,
		KindPackage, p.ID, string(p.OnboardingState), string(p.OperationalState), string(p.UsageState), signatureOf(p))
}

// queueOthersEvent tells the other projects of a shared package, or that it is not there any more. It does not tell the
// usage state, which depends on the project.
func queueOthersEvent(b *pgx.Batch, kind string, p *vnfpkg.Package) {
	b.Queue(`INSERT INTO event (kind, package_id, project, others, body) VALUES ($1, $2, $3, true,
		CASE WHEN $1 = $4 THEN '{}' ELSE jsonb_strip_nulls(jsonb_build_object('onboardingState', $5::text,
			'operationalState', $6::text, 'signature', nullif($7::text, ''))) END)`,
		kind, p.ID, p.Project, KindPackageDeleted, string(p.OnboardingState), string(p.OperationalState),
		signatureOf(p))
}

// signatureOf is the state of the signature of an onboarded package, "" if it is not known.
func signatureOf(p *vnfpkg.Package) string {
	if p.Onboarded == nil || p.Onboarded.Signature == nil {
		return ""
	}
	return string(p.Onboarded.Signature.State)
}
