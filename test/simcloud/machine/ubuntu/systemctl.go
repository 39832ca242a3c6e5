package ubuntu

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

const installable = "\n[Install]\nWantedBy=multi-user.target\n"

// baseUnits are the services of the cloud image.
var baseUnits = map[string]string{
	"ssh": "[Unit]\nDescription=OpenBSD Secure Shell server\n[Service]\nExecStart=/usr/sbin/sshd -D\nExecReload=/bin/kill -HUP $MAINPID\nRestart=on-failure\nType=notify\n" +
		"KillMode=process" + installable,
	"systemd-resolved":  "[Unit]\nDescription=Network Name Resolution\n[Service]\nExecStart=/usr/bin/sleep infinity\nRestart=always" + installable,
	"cron":              "[Unit]\nDescription=Regular background program processing daemon\n[Service]\nExecStart=/usr/bin/sleep infinity" + installable,
	"rsyslog":           "[Unit]\nDescription=System Logging Service\n[Service]\nExecStart=/usr/bin/sleep infinity" + installable,
	"systemd-timesyncd": "[Unit]\nDescription=Network Time Synchronization\n[Service]\nExecStart=/usr/bin/sleep infinity" + installable,
	"systemd-networkd":  "[Unit]\nDescription=Network Configuration\n[Service]\nExecStart=/usr/bin/sleep infinity" + installable,
	"systemd-sysctl":    "[Unit]\nDescription=Apply Kernel Variables\n[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/usr/sbin/sysctl -q --system" + installable,
	"ufw":               "[Unit]\nDescription=Uncomplicated firewall\n[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/usr/bin/true" + installable,
}

func (o *OS) systemctl(ctx context.Context, p *process.Proc) int {
	var args []string
	quiet, now, props, value := false, false, "", false
	for i := 1; i < len(p.Args); i++ {
		switch a := p.Args[i]; {
		case a == "-q" || a == "--quiet":
			quiet = true
		case a == "--now":
			now = true
		case a == "--value":
			value = true
		case a == "-p" || a == "-t" || a == "-n" || a == "--lines" || a == "-o":
			i++
			if a == "-p" && i < len(p.Args) {
				props = p.Args[i]
			}
		case strings.HasPrefix(a, "--property="):
			props = a[len("--property="):]
		case strings.HasPrefix(a, "-"):
		default:
			args = append(args, a)
		}
	}
	if len(args) == 0 {
		args = []string{"list-units"}
	}
	verb, names := args[0], args[1:]
	switch verb {
	case "daemon-reload", "daemon-reexec", "reset-failed":
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
	case "is-system-running":
		p.Printf("running\n")
		return 0
	case "get-default":
		p.Printf("multi-user.target\n")
		return 0
	case "list-units", "list-unit-files":
		return o.listUnits(p)
	case "reboot", "poweroff", "halt":
		return o.power(p, strings.Replace(verb, "halt", "poweroff", 1))
	case "set-default", "isolate", "preset", "import-environment":
		return 0
	}
	if len(names) == 0 {
		return p.Errorf("Too few arguments.\n")
	}
	status := 0
	for _, n := range names {
		if path.Ext(n) != "" && path.Ext(n) != ".service" && !strings.HasSuffix(n, ".d") {
			if o.unit(n) == nil {
				continue // sockets, timers and targets are taken as they are
			}
		}
		st := o.verb(ctx, p, verb, unitName(n), quiet, now, props, value)
		if verb == "is-active" || verb == "is-enabled" {
			if status == 0 || st == 0 {
				status = st
			}
			continue
		}
		status = max(status, st)
	}
	return status
}

func (o *OS) verb(ctx context.Context, p *process.Proc, verb, name string, quiet, now bool, props string, value bool) int {
	say := func(format string, a ...any) {
		if !quiet {
			p.Printf(format, a...)
		}
	}
	u := o.unit(name)
	file, masked := "", false
	if u != nil {
		file, masked = u.file()
	}
	switch verb {
	case "is-active", "is-failed":
		state := inactive
		if u != nil {
			o.mu.Lock()
			state = u.state
			o.mu.Unlock()
		}
		say("%s\n", state)
		if verb == "is-failed" {
			return b2i(state != failed)
		}
		if state == active {
			return 0
		}
		return 3
	case "is-enabled":
		switch {
		case u == nil:
			return p.Errorf("Failed to get unit file state for %s.service: No such file or directory\n", name)
		case masked:
			say("masked\n")
			return 1
		case o.enabled(name):
			say("enabled\n")
			return 0
		case len(u.vals("Install.WantedBy")) == 0:
			say("static\n")
			return 0
		}
		say("disabled\n")
		return 1
	case "status":
		return o.unitStatus(p, name, u)
	case "show":
		return o.showUnit(p, u, props, value)
	case "cat":
		if u == nil {
			return p.Errorf("No files found for %s.service.\n", name)
		}
		b, _ := o.root().ReadFile(file)
		p.Printf("# %s\n%s", file, b)
		return 0
	}
	if needRoot(p) {
		return p.Errorf("Failed to %s %s.service: Interactive authentication required.\n", verb, name)
	}
	if verb == "mask" || verb == "unmask" {
		link := "/etc/systemd/system/" + name + ".service"
		_ = o.root().Remove(link)
		if verb == "mask" {
			_ = o.root().Symlink("/dev/null", link)
		}
		o.loadUnit(name)
		if now && verb == "mask" {
			_ = o.StopUnit(ctx, name)
		}
		return 0
	}
	if u == nil {
		p.Errorf("Failed to %s %s.service: Unit %s.service not found.\n", verb, name, name)
		return 5
	}
	switch verb {
	case "enable":
		o.loadUnit(name)
		if _, masked = u.file(); masked {
			return p.Errorf("Failed to enable unit: Unit file %s is masked.\n", file)
		}
		if o.enable(name) && !quiet {
			p.Errorf("Created symlink %s → %s.\n", wants(name), file)
		}
		if now {
			return o.started(p, name, "start", o.StartUnit(ctx, name))
		}
	case "disable":
		if o.root().Remove(wants(name)) == nil && !quiet {
			p.Errorf("Removed %s.\n", wants(name))
		}
		if now {
			_ = o.StopUnit(ctx, name)
		}
	case "start":
		return o.started(p, name, verb, o.StartUnit(ctx, name))
	case "stop":
		_ = o.StopUnit(ctx, name)
	case "restart", "try-restart", "force-reload", "condrestart":
		if verb != "restart" && !o.Active(name) {
			return 0
		}
		_ = o.StopUnit(ctx, name)
		return o.started(p, name, "restart", o.StartUnit(ctx, name))
	case "reload":
		if !o.Active(name) {
			return p.Errorf("%s.service is not active, cannot reload.\n", name)
		}
		if o.ReloadUnit(ctx, name) != nil {
			return p.Errorf("Failed to reload %s.service: Job type reload is not applicable for unit %s.service.\n", name, name)
		}
	case "reload-or-restart":
		if o.Active(name) && o.ReloadUnit(ctx, name) == nil {
			return 0
		}
		_ = o.StopUnit(ctx, name)
		return o.started(p, name, "restart", o.StartUnit(ctx, name))
	case "kill":
		o.mu.Lock()
		mp := u.proc
		o.mu.Unlock()
		if mp != nil {
			mp.Signal(process.SIGTERM)
		}
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
	case errors.Is(err, errMasked):
		return p.Errorf("Failed to %s %s.service: Unit %s.service is masked.\n", verb, name, name)
	case errors.Is(err, errNoUnit):
		p.Errorf("Failed to %s %s.service: Unit %s.service not found.\n", verb, name, name)
		return 5
	case errors.Is(err, errFailed):
		return p.Errorf("Job for %s.service failed because the control process exited with error code.\nSee \"systemctl status %s.service\" and "+
			"\"journalctl -xeu %s.service\" for details.\n", name, name, name)
	}
	return 1
}

func (o *OS) unitStatus(p *process.Proc, name string, u *unit) int {
	if u == nil {
		p.Errorf("Unit %s.service could not be found.\n", name)
		return 4
	}
	o.mu.Lock()
	state, sub, exit, since, proc := u.state, u.sub, u.exit, u.since, u.proc
	o.mu.Unlock()
	file, _ := u.file()
	dot := map[string]string{active: "●", failed: "×"}[state]
	if dot == "" {
		dot = "○"
	}
	en := "disabled"
	if o.enabled(name) {
		en = "enabled"
	}
	p.Printf("%s %s.service - %s\n     Loaded: loaded (%s; %s; vendor preset: enabled)\n", dot, name, u.get("Unit.Description"), file, en)
	p.Printf("     Active: %s (%s) since %s\n", state, sub, since.UTC().Format("Mon 2006-01-02 15:04:05 MST"))
	if proc != nil {
		p.Printf("   Main PID: %d (%s)\n", proc.PID, path.Base(proc.Cmdline()[0]))
	} else if exit != 0 {
		p.Printf("    Process: ExecStart=%s (code=exited, status=%d/FAILURE)\n", u.get("Service.ExecStart"), exit)
	}
	j := o.Journal(name)
	if len(j) > 0 {
		p.Printf("\n%s\n", strings.Join(j[max(0, len(j)-10):], "\n"))
	}
	if state == active {
		return 0
	}
	return 3
}

func (o *OS) showUnit(p *process.Proc, u *unit, props string, value bool) int {
	o.mu.Lock()
	vals := map[string]string{"LoadState": "not-found", "ActiveState": inactive, "SubState": "dead", "MainPID": "0", "UnitFileState": "", "Result": "success"}
	if u != nil {
		vals["LoadState"], vals["ActiveState"], vals["SubState"] = "loaded", u.state, u.sub
		if u.proc != nil {
			vals["MainPID"] = strconv.Itoa(u.proc.PID)
		}
		vals["ExecMainStatus"] = strconv.Itoa(u.exit)
	}
	o.mu.Unlock()
	keys := slices.Sorted(maps.Keys(vals))
	if props != "" {
		keys = strings.Split(props, ",")
	}
	for _, k := range keys {
		if value {
			p.Printf("%s\n", vals[k])
		} else {
			p.Printf("%s=%s\n", k, vals[k])
		}
	}
	return 0
}

func (o *OS) listUnits(p *process.Proc) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, n := range slices.Sorted(maps.Keys(o.units)) {
		u := o.units[n]
		p.Printf("  %-32s loaded %-8s %-8s %s\n", n+".service", u.state, u.sub, u.get("Unit.Description"))
	}
	return 0
}

func (o *OS) service(ctx context.Context, p *process.Proc) int {
	if len(p.Args) < 3 {
		return p.Errorf("Usage: service < option > | --status-all | [ service_name [ command | --full-restart ] ]\n")
	}
	if o.unit(unitName(p.Args[1])) == nil {
		return p.Errorf("%s: unrecognized service\n", p.Args[1])
	}
	p.Args = []string{"systemctl", p.Args[2], p.Args[1]}
	return o.systemctl(ctx, p)
}

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

func (o *OS) journalctl(_ context.Context, p *process.Proc) int {
	units, n := []string{}, 0
	cat := false
	for i := 1; i < len(p.Args); i++ {
		a := p.Args[i]
		next := func() string {
			if i++; i < len(p.Args) {
				return p.Args[i]
			}
			return ""
		}
		switch {
		case a == "-u" || a == "-xeu" || a == "-eu" || a == "-xu" || a == "--unit":
			units = append(units, unitName(next()))
		case strings.HasPrefix(a, "--unit="):
			units = append(units, unitName(a[7:]))
		case a == "-n" || a == "--lines":
			n, _ = strconv.Atoi(next())
		case strings.HasPrefix(a, "-n"):
			n, _ = strconv.Atoi(a[2:])
		case a == "-o":
			cat = next() == "cat"
		case a == "--since" || a == "--until" || a == "-S" || a == "-p" || a == "-g":
			next()
		}
	}
	if len(units) == 0 {
		o.mu.Lock()
		units = slices.Sorted(maps.Keys(o.journal))
		o.mu.Unlock()
	}
	var lines []string
	for _, u := range units {
		lines = append(lines, o.Journal(u)...)
	}
	if n > 0 {
		lines = lines[max(0, len(lines)-n):]
	}
	if len(lines) == 0 {
		p.Printf("-- No entries --\n")
	}
	for _, l := range lines {
		if cat {
			if _, rest, ok := strings.Cut(l, ": "); ok {
				l = rest
			}
		}
		p.Printf("%s\n", l)
	}
	return 0
}

func (o *OS) hostnamectl(_ context.Context, p *process.Proc) int {
	args := slices.DeleteFunc(slices.Clone(p.Args[1:]), func(a string) bool { return strings.HasPrefix(a, "-") })
	if len(args) == 0 || args[0] == "status" {
		p.Printf(" Static hostname: %s\n       Icon name: computer-vm\n         Chassis: vm\n  Virtualization: kvm\nOperating System: Ubuntu 22.04.4 LTS\n"+
			"          Kernel: Linux 5.15.0-107-generic\n    Architecture: x86-64\n", o.hostname())
		return 0
	}
	if (args[0] == "set-hostname" || args[0] == "hostname") && len(args) == 2 {
		if needRoot(p) {
			return p.Errorf("Could not set static hostname: Interactive authentication required.\n")
		}
		o.Sys.SetHostname(args[1])
		if err := o.root().WriteFile("/etc/hostname", []byte(args[1]+"\n"), 0o644); err != nil {
			return p.Errorf("Could not set static hostname: %s\n", process.Reason(err))
		}
		return 0
	}
	if args[0] == "hostname" {
		p.Printf("%s\n", o.hostname())
		return 0
	}
	return p.Errorf("%s\n", fmt.Sprintf("Unknown command verb %s.", args[0]))
}
