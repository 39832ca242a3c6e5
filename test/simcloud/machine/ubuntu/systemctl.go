package ubuntu

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

const installable = "\n[Install]\nWantedBy=multi-user.target\n"

// baseUnits are the services of the cloud image.
var baseUnits = map[string]string{
	"ssh": "[Unit]\nDescription=OpenBSD Secure Shell server\n[Service]\nExecStart=/usr/sbin/sshd -D\n" +
		"ExecReload=/bin/kill -HUP $MAINPID\nRestart=on-failure\nType=notify\n" +
		"KillMode=process" + installable,
	"systemd-resolved": "[Unit]\nDescription=Network Name Resolution\n[Service]\nExecStart=/usr/bin/sleep infinity\n" +
		"Restart=always" + installable,
	"cron": "[Unit]\nDescription=Regular background program processing daemon\n[Service]\n" +
		"ExecStart=/usr/bin/sleep infinity" + installable,
	"rsyslog": "[Unit]\nDescription=System Logging Service\n[Service]\nExecStart=/usr/bin/sleep infinity" + installable,
}

// systemctl is systemctl VERB [UNIT].
func (o *OS) systemctl(ctx context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "q", "quiet=q", "no-pager=np")
	if !ok || len(f.Args) == 0 || len(f.Args) > 2 {
		return p.Errorf("systemctl: a verb and a unit are simulated\n")
	}
	verb := f.Args[0]
	if verb == "daemon-reload" {
		return o.daemonReload(p)
	}
	if len(f.Args) == 1 {
		return p.Errorf("Too few arguments.\n")
	}
	name := unitName(f.Args[1])
	u := o.unit(name)
	say := func(text string, status int) int {
		if !f.Has("q") {
			p.Printf("%s\n", text)
		}
		return status
	}
	switch verb {
	case "is-active":
		state := o.state(u)
		return say(state, 3*b2i(state != active))
	case "is-enabled":
		switch {
		case u == nil:
			return p.Errorf("Failed to get unit file state for %s.service: No such file or directory\n", name)
		case o.enabled(name):
			return say("enabled", 0)
		}
		return say("disabled", 1)
	case "status":
		return o.unitStatus(p, name, u)
	}
	if needRoot(p) {
		return p.Errorf("Failed to %s %s.service: Interactive authentication required.\n", verb, name)
	}
	if u == nil {
		p.Errorf("Failed to %s %s.service: Unit %s.service not found.\n", verb, name, name)
		return 5
	}
	return o.change(ctx, p, verb, name)
}

func (o *OS) daemonReload(p *process.Proc) int {
	if needRoot(p) {
		return p.Errorf("Failed to reload daemon: Interactive authentication required.\n")
	}
	o.mu.Lock()
	known := slices.Collect(maps.Keys(o.units))
	o.mu.Unlock()
	for _, n := range known {
		o.loadUnit(n)
	}
	return 0
}

func (o *OS) state(u *unit) string {
	if u == nil {
		return inactive
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return u.state
}

// change carries out the verbs that root may use.
func (o *OS) change(ctx context.Context, p *process.Proc, verb, name string) int {
	switch verb {
	case "enable":
		o.loadUnit(name)
		o.enable(name)
	case "disable":
		_ = o.root().Remove(wants(name))
	case "start":
		return o.started(p, name, verb, o.StartUnit(ctx, name))
	case "stop":
		_ = o.StopUnit(ctx, name)
	case "restart", "reload-or-restart":
		if verb != "restart" && o.Active(name) && o.ReloadUnit(ctx, name) == nil {
			return 0
		}
		_ = o.StopUnit(ctx, name)
		return o.started(p, name, "restart", o.StartUnit(ctx, name))
	default:
		return p.Errorf("Unknown operation %s.\n", verb)
	}
	return 0
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// started turns the result of starting a unit into systemctl's words.
func (o *OS) started(p *process.Proc, name, verb string, err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errNoUnit):
		p.Errorf("Failed to %s %s.service: Unit %s.service not found.\n", verb, name, name)
		return 5
	case errors.Is(err, errFailed):
		return p.Errorf("Job for %s.service failed because the control process exited with error code.\n"+
			"See \"systemctl status %s.service\" and "+
			"\"journalctl -xeu %s.service\" for details.\n", name, name, name)
	}
	return 1
}

func (o *OS) unitStatus(p *process.Proc, name string, u *unit) int {
	if u == nil {
		p.Errorf("Unit %s.service could not be found.\n", name)
		return 4
	}
	state := o.state(u)
	p.Printf("%s.service - %s\n", name, u.get("Unit.Description"))
	p.Printf("     Loaded: loaded (%s)\n     Active: %s\n", u.file(), state)
	for _, l := range lastLines(o.Journal(name), 10) {
		p.Printf("%s\n", l)
	}
	return 3 * b2i(state != active)
}

func lastLines(l []string, n int) []string { return l[max(0, len(l)-n):] }

// power hands reboot and poweroff to the machine, which ends this process with all others.
func (o *OS) power(p *process.Proc, what string) int {
	if needRoot(p) {
		return p.Errorf("Failed to set wall message, ignoring: Interactive authentication required.\n")
	}
	if o.Power != nil {
		o.Power(what)
	}
	return 0
}

// journalctl is journalctl -u UNIT.
func (o *OS) journalctl(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "u:n:o:", "no-pager=np")
	if !ok || !f.Has("u") {
		return p.Errorf("journalctl: -u UNIT is simulated\n")
	}
	for _, l := range lastLines(o.Journal(unitName(f.Val("u"))), f.Num("n", maxJournal)) {
		if _, rest, ok := strings.Cut(l, ": "); ok && f.Val("o") == "cat" {
			l = rest
		}
		p.Printf("%s\n", l)
	}
	return 0
}

func (o *OS) hostnamectl(_ context.Context, p *process.Proc) int {
	if len(p.Args) != 3 || p.Args[1] != "set-hostname" {
		return p.Errorf("hostnamectl: set-hostname NAME is simulated\n")
	}
	if needRoot(p) {
		return p.Errorf("Could not set static hostname: Interactive authentication required.\n")
	}
	o.Sys.SetHostname(p.Args[2])
	if err := o.root().WriteFile("/etc/hostname", []byte(p.Args[2]+"\n"), 0o644); err != nil {
		return p.Errorf("Could not set static hostname: %s\n", process.Reason(err))
	}
	return 0
}
