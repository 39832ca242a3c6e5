package ubuntu

import "strings"

// shadow holds the passwords as they are: nothing in here is a secret.
const shadow = "/etc/shadow"

func (o *OS) appendTo(name, text string) {
	b, _ := o.root().ReadFile(name)
	_ = o.root().WriteFile(name, append(b, text...), 0o644)
}

// SetPassword changes a user's password.
func (o *OS) SetPassword(user, password string) {
	b, _ := o.root().ReadFile(shadow)
	var out strings.Builder
	for l := range strings.Lines(string(b)) {
		if !strings.HasPrefix(l, user+":") {
			out.WriteString(l)
		}
	}
	out.WriteString(user + ":" + password + "\n")
	_ = o.root().WriteFile(shadow, []byte(out.String()), 0o640)
}

// Password is a user's password; ok is false for a user without one.
func (o *OS) Password(user string) (string, bool) {
	b, _ := o.root().ReadFile(shadow)
	for l := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(strings.TrimSuffix(l, "\n"), user+":"); ok {
			return rest, true
		}
	}
	return "", false
}
