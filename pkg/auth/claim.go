package auth

import (
	"strings"
	"unicode"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// ClaimOptions say which claims of a token are read. A name is the path of a claim with dots, such as
// realm_access.roles; a claim whose own name has dots is found as well.
type ClaimOptions struct {
	// Subject names the user; the claim sub is used if it is absent.
	Subject string
	// Project is the claim with the project; DefaultProject is used if it is absent or empty.
	Project, DefaultProject string
	// Role is the claim with names of roles: a list, or a text with blanks between them.
	Role string
	// Roles maps these names.
	Roles RoleMap
}

type claimReader struct{ ClaimOptions }

// maxSubject bounds the name of a user in bytes.
const maxSubject = 200

func (r claimReader) principal(claims map[string]any) (lcm.Principal, error) {
	p := lcm.Principal{Project: r.DefaultProject, Role: r.Roles.strongest(textsOf(lookUp(claims, r.Role)))}
	for _, name := range []string{r.Subject, "sub"} {
		if s, ok := lookUp(claims, name).(string); ok && isName(s) {
			p.Subject = s
			break
		}
	}
	if p.Subject == "" {
		return lcm.Principal{}, reject(reasonInvalid, lcm.CodeUnauthorized, "the token does not name its subject")
	}
	projects := textsOf(lookUp(claims, r.Project))
	switch {
	case len(projects) > 1:
		return lcm.Principal{}, reject(reasonNoProject, lcm.CodeForbidden,
			"the claim %s has %d projects; a token must be for one", r.Project, len(projects))
	case len(projects) == 1:
		p.Project = projects[0]
	case p.Project == "":
		return lcm.Principal{}, reject(reasonNoProject, lcm.CodeForbidden,
			"the token is not for a project: the claim %s is absent", r.Project)
	}
	if err := CheckProject(p.Project); err != nil {
		return lcm.Principal{}, reject(reasonNoProject, lcm.CodeForbidden, "%s", err)
	}
	return p, nil
}

// lookUp finds a claim by its path. The longest name that matches counts, so that the claim "a.b" is found before the
// member b of the claim "a".
func lookUp(claims map[string]any, path string) any {
	if path == "" {
		return nil
	}
	if v, ok := claims[path]; ok {
		return v
	}
	for i := strings.LastIndexByte(path, '.'); i > 0; i = strings.LastIndexByte(path[:i], '.') {
		if inner, ok := claims[path[:i]].(map[string]any); ok {
			return lookUp(inner, path[i+1:])
		}
	}
	return nil
}

// textsOf reads a claim that is a list of texts, or one text with blanks between words.
func textsOf(v any) []string {
	switch v := v.(type) {
	case string:
		return strings.Fields(v)
	case []any:
		var out []string
		for _, one := range v {
			if s, ok := one.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// isName accepts texts that a log and the audit trail can show.
func isName(s string) bool {
	return s != "" && len(s) <= maxSubject && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
