package lcm

import "slices"

// DefaultProject is the project of resources of an installation without projects.
const DefaultProject = "default"

// Principal is who asks, and for which project.
type Principal struct {
	// Subject names the user or client; empty when nothing asked for a name.
	Subject string
	// Project is the project of the resources that the principal sees and creates; empty is DefaultProject.
	Project string
	// Role says what the principal may do in the project; empty is nothing. The API checks it before a request reaches
	// the domain.
	Role Role
	// Mode is how the principal proved who it is, e.g. keystone; empty without authentication.
	Mode string
}

// Role is a set of rights. Each role includes the ones before it.
type Role string

// The roles.
const (
	RoleReader   Role = "reader"   // reads what is not secret
	RoleOperator Role = "operator" // changes resources, starts operations, reads credentials of clusters
	RoleAdmin    Role = "admin"    // shares packages, reads the audit trail
)

// Roles are all roles, the weakest first.
var Roles = []Role{RoleReader, RoleOperator, RoleAdmin}

// Includes says whether a principal with the role r may do what needs the role needed.
func (r Role) Includes(needed Role) bool {
	has, needs := slices.Index(Roles, r), slices.Index(Roles, needed)
	return has >= 0 && needs >= 0 && has >= needs
}
