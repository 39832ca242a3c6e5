package ubuntu

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

func (o *OS) useradd(_ context.Context, p *process.Proc) int {
	if needRoot(p) {
		return p.Errorf("%s: Permission denied.\n", p.Name())
	}
	name, home, sh := p.Args[len(p.Args)-1], "", "/bin/bash"
	if _, ok := o.Sys.Account(name); ok {
		p.Errorf("%s: user '%s' already exists\n", p.Name(), name)
		return 9
	}
	for i, a := range p.Args {
		if (a == "-d" || a == "--home") && i+1 < len(p.Args) {
			home = p.Args[i+1]
		}
		if (a == "-s" || a == "--shell") && i+1 < len(p.Args) {
			sh = p.Args[i+1]
		}
	}
	if home == "" {
		home = "/home/" + name
	}
	id := 1001
	for {
		if _, ok := o.Sys.Account(strconv.Itoa(id)); !ok {
			break
		}
		id++
	}
	o.appendTo("/etc/passwd", fmt.Sprintf("%s:x:%d:%d::%s:%s\n", name, id, id, home, sh))
	o.appendTo("/etc/group", fmt.Sprintf("%s:x:%d:\n", name, id))
	_ = o.root().MkdirAll(home, 0o750)
	_ = o.root().Chown(home, id, id)
	return 0
}

func (o *OS) appendTo(name, text string) {
	old, _ := o.root().ReadFile(name)
	_ = o.root().WriteFile(name, append(old, text...), 0o644)
}

func (o *OS) usermod(_ context.Context, p *process.Proc) int {
	for i, a := range p.Args {
		if (a == "-aG" || a == "-G") && i+2 < len(p.Args) {
			user := p.Args[len(p.Args)-1]
			for g := range strings.SplitSeq(p.Args[i+1], ",") {
				b, _ := o.root().ReadFile("/etc/group")
				var out strings.Builder
				for l := range strings.Lines(string(b)) {
					if f := strings.Split(strings.TrimSpace(l), ":"); len(f) == 4 && f[0] == g {
						l = strings.Join(f[:3], ":") + ":" + strings.Trim(f[3]+","+user, ",") + "\n"
					}
					out.WriteString(l)
				}
				_ = o.root().WriteFile("/etc/group", []byte(out.String()), 0o644)
			}
		}
	}
	return 0
}

func (o *OS) groupadd(_ context.Context, p *process.Proc) int {
	name := p.Args[len(p.Args)-1]
	if _, ok := o.Sys.Group(name); !ok {
		o.appendTo("/etc/group", name+":x:1500:\n")
	}
	return 0
}

// chpasswd takes "user:password" lines; the SSH server asks Password.
func (o *OS) chpasswd(_ context.Context, p *process.Proc) int {
	if needRoot(p) {
		return p.Errorf("chpasswd: Permission denied.\n")
	}
	b, err := p.ReadFile("-")
	if err != nil {
		return 1
	}
	for l := range strings.Lines(string(b)) {
		if user, pw, ok := strings.Cut(strings.TrimSuffix(l, "\n"), ":"); ok {
			o.SetPassword(user, pw)
		}
	}
	return 0
}

// shadow holds the passwords as they are: nothing in here is a secret.
const shadow = "/etc/shadow"

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
