package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Quota bounds what each project can have; 0 is no bound.
type Quota struct {
	Instances        int  `yaml:"instances" env:"INSTANCES"`
	ActiveOperations int  `yaml:"active_operations" env:"ACTIVE_OPERATIONS"` // those that hold an instance
	Packages         int  `yaml:"packages" env:"PACKAGES"`
	PackageBytes     Size `yaml:"package_bytes" env:"PACKAGE_BYTES"`
	Snapshots        int  `yaml:"snapshots" env:"SNAPSHOTS"` // VNF snapshot resources
	// Projects holds other bounds for single projects, each as PROJECT:NAME=VALUE, such as lab:instances=50.
	Projects []string `yaml:"projects" env:"PROJECTS"`
}

// Of returns the quota of a project.
func (q Quota) Of(project string) lcm.ProjectQuota {
	for _, entry := range q.Projects {
		if name, setting := splitProject(entry); name == project {
			_ = q.set(setting) // validated
		}
	}
	return lcm.ProjectQuota{
		Instances: int64(q.Instances), Operations: int64(q.ActiveOperations), Packages: int64(q.Packages),
		PackageBytes: int64(q.PackageBytes), Snapshots: int64(q.Snapshots),
	}
}

// splitProject divides PROJECT:NAME=VALUE. The name of a project may contain colons.
func splitProject(entry string) (project, setting string) {
	at := strings.LastIndexByte(entry, ':')
	return entry[:max(at, 0)], entry[at+1:]
}

// set applies NAME=VALUE.
func (q *Quota) set(setting string) error {
	name, value, _ := strings.Cut(setting, "=")
	if name == "package_bytes" {
		return q.PackageBytes.UnmarshalText([]byte(value))
	}
	to, ok := map[string]*int{
		"instances": &q.Instances, "active_operations": &q.ActiveOperations, "packages": &q.Packages,
		"snapshots": &q.Snapshots,
	}[name]
	if !ok {
		return fmt.Errorf("%q is not one of instances, active_operations, packages, package_bytes, snapshots", name)
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a number", value)
	}
	*to = n
	return nil
}

func (q Quota) validate(report report) {
	for _, n := range []struct {
		name  string
		value int
	}{
		{"instances", q.Instances},
		{"active_operations", q.ActiveOperations},
		{"packages", q.Packages},
		{"snapshots", q.Snapshots},
	} {
		if n.value < 0 {
			report("limits.quota."+n.name, "%d is negative", n.value)
		}
	}
	if q.PackageBytes < 0 {
		report("limits.quota.package_bytes", "%s is negative", q.PackageBytes)
	}
	for _, entry := range q.Projects {
		project, setting := splitProject(entry)
		if project == "" || !strings.Contains(setting, "=") {
			report("limits.quota.projects", "%q is not PROJECT:NAME=VALUE", entry)
			continue
		}
		other := q
		if err := other.set(setting); err != nil {
			report("limits.quota.projects", "%q: %w", entry, err)
		}
	}
}
