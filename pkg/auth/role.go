package auth

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// RoleMap gives the role in Gybe for the name of a role of Keystone or of a claim. Names are compared as they are,
// upper and lower case included.
type RoleMap map[string]lcm.Role

// ParseRoles reads a map from its settings, name=role each.
func ParseRoles(settings []string) (RoleMap, error) {
	out := RoleMap{}
	for _, s := range settings {
		i := strings.LastIndex(s, "=")
		if i <= 0 {
			return nil, fmt.Errorf("%q is not name=role", s)
		}
		name, role := s[:i], lcm.Role(s[i+1:])
		if !slices.Contains(lcm.Roles, role) {
			return nil, fmt.Errorf("%q: the role %q is not one of reader, operator, admin", s, string(role))
		}
		out[name] = role
	}
	return out, nil
}

// strongest is the strongest role of the names; empty if none of them is mapped.
func (m RoleMap) strongest(names []string) lcm.Role {
	var best lcm.Role
	for _, n := range names {
		if r := m[n]; r.Includes(lcm.RoleReader) && (best == "" || r.Includes(best)) {
			best = r
		}
	}
	return best
}
