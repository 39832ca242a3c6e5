package store

import (
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
)

// packages describes vnf_package, with the usage state that comes from the instances and operations. job_id is not part
// of it: only the engine reads it.
var packages = table[vnfpkg.Package]{
	name: "vnf_package", alias: "p", id: func(p *vnfpkg.Package) string { return p.ID },
	columns: []column[vnfpkg.Package]{
		text("id", func(p *vnfpkg.Package) *string { return &p.ID }, fixed),
		text("project", func(p *vnfpkg.Package) *string { return &p.Project }, fixed),
		scalar("version", func(p *vnfpkg.Package) *int64 { return &p.Version }, derived),
		instant("created", func(p *vnfpkg.Package) *time.Time { return &p.Created }, derived),
		instant("updated", func(p *vnfpkg.Package) *time.Time { return &p.Updated }, derived),
		text("onboarding_state", func(p *vnfpkg.Package) *sol.PackageOnboardingState { return &p.OnboardingState }),
		text("operational_state", func(p *vnfpkg.Package) *sol.PackageOperationalState { return &p.OperationalState }),
		document("user_defined_data", func(p *vnfpkg.Package) *sol.KeyValuePairs { return &p.UserDefinedData }, large),
		within("upload_token", upload, func(u *vnfpkg.Upload) *string { return &u.Token }),
		within("upload_lease", upload, func(u *vnfpkg.Upload) *time.Time { return &u.LeaseUntil }),
		sealedDocument("source", func(p *vnfpkg.Package) **sol.UploadVnfPackageFromUriRequest { return &p.Source }),
		document("download", func(p *vnfpkg.Package) **vnfpkg.Download { return &p.Download }),
		within("digest", content, func(c *vnfpkg.Content) *string { return &c.Digest }),
		within("size", content, func(c *vnfpkg.Content) *int64 { return &c.Size }),
		maybeText("vnfd_id", func(p *vnfpkg.Package) *string { return &p.VnfdID }),
		document("onboarded", func(p *vnfpkg.Package) **vnfpkg.Onboarded { return &p.Onboarded }),
		document("failure", func(p *vnfpkg.Package) **sol.ProblemDetails { return &p.Failure }),
		scalar("shared", func(p *vnfpkg.Package) *bool { return &p.Shared }),
		usageState,
	},
}

func upload(p *vnfpkg.Package) **vnfpkg.Upload { return &p.Upload }

func content(p *vnfpkg.Package) **vnfpkg.Content { return &p.Content }

// usageState says whether an instance, or an operation that changes the package of its instance, refers to the package.
var usageState = column[vnfpkg.Package]{
	name: "in_use", traits: derived,
	expr: `EXISTS (SELECT FROM vnf_instance i WHERE i.vnf_pkg_id = p.id)
		OR EXISTS (SELECT FROM vnf_lcm_op_occ o WHERE o.new_pkg_id = p.id)
		OR EXISTS (SELECT FROM vnf_lcm_op_occ o WHERE o.old_pkg_id = p.id)`,
	encode: func(*vnfpkg.Package) (any, error) { return nil, nil },
	target: func(p *vnfpkg.Package) (any, func() error) {
		var used bool
		return &used, func() error {
			p.UsageState = sol.PackageUsageStateNotInUse
			if used {
				p.UsageState = sol.PackageUsageStateInUse
			}
			return nil
		}
	},
}

var (
	packageColumns     = packages.selected()
	packageBrief       = withoutArtifacts(packages.selected(large))
	packageNoArtifacts = withoutArtifacts(packages.selected())
	insertPackage      = packages.insert() + " RETURNING version, created, updated"
	// updatePackage names the job $2 if it is not NULL. A package that is neither processed nor downloaded ($3 is
	// false) names no job, so that one that is left over does nothing.
	updatePackage = "UPDATE vnf_package p SET version = version + 1, updated = now(), " +
		"job_id = CASE WHEN $3 THEN coalesce($2, job_id) END, " + packages.set(4) +
		" WHERE id = $1 RETURNING version, updated"
)

// withoutArtifacts leaves the artifacts in the database.
func withoutArtifacts(s selection[vnfpkg.Package]) selection[vnfpkg.Package] {
	s.list = strings.Replace(s.list, "p.onboarded,", "p.onboarded - 'artifacts',", 1)
	return s
}
