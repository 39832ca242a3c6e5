package ubuntu

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// unit is one systemd service.
type unit struct {
	name string

	fileMu sync.Mutex
	path   string
	conf   map[string][]string // "Service.ExecStart": values, drop-ins applied

	state    string // active, inactive, failed, activating
	proc     *process.Proc
	stopping bool
	again    bool // the process has ended and is about to be started again
	starts   []time.Time
	ready    chan struct{}

	// job has a place for one start, stop or restart. As in systemd, a unit has one at a time; otherwise two of them
	// could each start a main process, and the one that is not recorded keeps the unit's ports.
	job chan struct{}
}

// acquire waits until the unit has no other job.
func (u *unit) acquire(ctx context.Context) (release func(), err error) {
	select {
	case u.job <- struct{}{}:
		return func() { <-u.job }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Unit states as systemctl shows them.
const (
	active     = "active"
	inactive   = "inactive"
	failed     = "failed"
	activating = "activating"
)

var (
	errNoUnit = errors.New("not found")
	errFailed = errors.New("failed")
)

func (u *unit) reset() {
	u.state, u.proc, u.stopping, u.again, u.starts = inactive, nil, false, false, nil
}

// vals are the values of a setting.
func (u *unit) vals(key string) []string {
	u.fileMu.Lock()
	defer u.fileMu.Unlock()
	return u.conf[key]
}

// get is the last value of a setting.
func (u *unit) get(key string) string {
	if v := u.vals(key); len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

func (u *unit) setFile(path string, conf map[string][]string) {
	u.fileMu.Lock()
	defer u.fileMu.Unlock()
	u.path, u.conf = path, conf
}

// file is where the unit was read from.
func (u *unit) file() string {
	u.fileMu.Lock()
	defer u.fileMu.Unlock()
	return u.path
}

// unitName strips .service.
func unitName(n string) string { return strings.TrimSuffix(n, ".service") }

// loadUnit reads a unit file with its drop-ins; false if there is none.
func (o *OS) loadUnit(name string) bool {
	v := o.root()
	for _, dir := range []string{"/etc/systemd/system/", "/run/systemd/system/", "/usr/lib/systemd/system/"} {
		file := dir + name + ".service"
		b, err := v.ReadFile(file)
		if err != nil {
			continue
		}
		conf := map[string][]string{}
		parseUnit(string(b), conf)
		for _, d := range []string{"/usr/lib/systemd/system/", "/etc/systemd/system/"} {
			l, _ := v.ReadDir(d + name + ".service.d")
			for _, e := range l {
				if drop, err := v.ReadFile(d + name + ".service.d/" + e.Name()); err == nil {
					parseUnit(string(drop), conf)
				}
			}
		}
		o.obtain(name).setFile(file, conf)
		return true
	}
	return false
}

// obtain returns the unit of that name, new if need be.
func (o *OS) obtain(name string) *unit {
	o.mu.Lock()
	defer o.mu.Unlock()
	u := o.units[name]
	if u == nil {
		u = &unit{name: name, job: make(chan struct{}, 1)}
		u.reset()
		o.units[name] = u
	}
	return u
}

// parseUnit adds the settings of a unit file; an empty assignment clears what was there.
func parseUnit(text string, conf map[string][]string) {
	section := ""
	sc := bufio.NewScanner(strings.NewReader(strings.ReplaceAll(text, "\\\n", " ")))
	for sc.Scan() {
		l := strings.TrimSpace(sc.Text())
		switch {
		case l == "" || l[0] == '#' || l[0] == ';':
		case l[0] == '[':
			section = strings.Trim(l, "[]")
		default:
			k, v, ok := strings.Cut(l, "=")
			if !ok {
				continue
			}
			key := section + "." + strings.TrimSpace(k)
			if v = strings.TrimSpace(v); v == "" {
				delete(conf, key)
			} else {
				conf[key] = append(conf[key], v)
			}
		}
	}
}

// unit finds a service by name; nil if there is no unit file.
func (o *OS) unit(name string) *unit {
	o.mu.Lock()
	u := o.units[name]
	o.mu.Unlock()
	if u != nil && u.file() != "" {
		return u
	}
	if !o.loadUnit(name) {
		return nil
	}
	return o.obtain(name)
}

// Active reports whether a service runs.
func (o *OS) Active(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	u := o.units[name]
	return u != nil && u.state == active
}

func wants(name string) string {
	return "/etc/systemd/system/multi-user.target.wants/" + name + ".service"
}

func (o *OS) enabled(name string) bool {
	_, err := o.root().Lstat(wants(name))
	return err == nil
}

func (o *OS) enable(name string) {
	if o.enabled(name) {
		return
	}
	_ = o.root().MkdirAll(path.Dir(wants(name)), 0o755)
	_ = o.root().Symlink("/usr/lib/systemd/system/"+name+".service", wants(name))
}

// StartUnit starts a service and waits until it is up. It is not an error if a condition of the unit is not met, or if
// it runs already.
func (o *OS) StartUnit(ctx context.Context, name string) error {
	u := o.unit(name)
	if u == nil {
		return errNoUnit
	}
	if o.state(u) == active {
		return nil
	}
	release, err := u.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	return o.activate(ctx, u)
}

// activate starts a unit that is not active yet. The caller holds the unit's job.
func (o *OS) activate(ctx context.Context, u *unit) error {
	o.mu.Lock()
	if u.state == active {
		o.mu.Unlock()
		return nil
	}
	if file := u.get("Unit.ConditionFileNotEmpty"); file != "" && o.isEmpty(file) {
		o.mu.Unlock()
		o.note(u.name, "systemd[1]: Condition check resulted in "+u.get("Unit.Description")+" being skipped.")
		return nil
	}
	if u.get("Unit.StartLimitIntervalSec") != "0" {
		now := o.Sys.Clock.Now()
		u.starts = slices.DeleteFunc(
			append(u.starts, now), func(t time.Time) bool { return now.Sub(t) > 10*time.Second },
		)
		if len(u.starts) > 20 {
			u.state, u.again = failed, false
			o.mu.Unlock()
			return errFailed
		}
	}
	u.state, u.stopping, u.again = activating, false, false
	o.mu.Unlock()
	for _, pre := range u.vals("Service.ExecStartPre") {
		optional := strings.HasPrefix(pre, "-")
		if st := o.runUnit(ctx, u, pre); st != 0 && !optional {
			o.unitFailed(u, st)
			return errFailed
		}
	}
	if u.get("Service.Type") == "oneshot" {
		for _, line := range u.vals("Service.ExecStart") {
			if st := o.runUnit(ctx, u, line); st != 0 && !strings.HasPrefix(line, "-") {
				o.unitFailed(u, st)
				return errFailed
			}
		}
		if u.get("Service.RemainAfterExit") == "yes" {
			o.setState(u, active)
		} else {
			o.setState(u, inactive)
		}
		return nil
	}
	return o.spawnUnit(ctx, u)
}

// isEmpty reports whether a file is empty or does not exist.
func (o *OS) isEmpty(file string) bool {
	i, err := o.root().Stat(file)
	return err != nil || i.Size() == 0
}

func (o *OS) setState(u *unit, state string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	u.state = state
}

func (o *OS) unitFailed(u *unit, status int) {
	o.setState(u, failed)
	o.noteFailure(u, status)
}

// noteFailure writes to the journal that the unit's main process has failed.
func (o *OS) noteFailure(u *unit, status int) {
	o.note(u.name, fmt.Sprintf(
		"systemd[1]: %s.service: Main process exited, code=exited, status=%d/FAILURE", u.name, status,
	))
	o.note(u.name, fmt.Sprintf("systemd[1]: %s.service: Failed with result 'exit-code'.", u.name))
}

// unitProc makes the process of a command line of a unit.
func (o *OS) unitProc(u *unit, line string) (*process.Proc, process.Program, error) {
	root, _ := o.Sys.Account("root")
	env := map[string]string{}
	for _, e := range u.vals("Service.Environment") {
		for _, kv := range process.Words(e, "\"'", "") {
			k, v, _ := strings.Cut(kv, "=")
			env[k] = v
		}
	}
	for _, f := range u.vals("Service.EnvironmentFile") {
		if b, err := o.root().ReadFile(strings.TrimPrefix(f, "-")); err == nil {
			for l := range strings.Lines(string(b)) {
				if k, v, ok := strings.Cut(strings.TrimSpace(l), "="); ok && !strings.HasPrefix(k, "#") {
					env[k] = strings.Trim(v, `"'`)
				}
			}
		}
	}
	var args []string
	for _, w := range process.Words(strings.TrimLeft(line, "-@+!:"), "\"'", "") {
		if name, ok := strings.CutPrefix(w, "$"); ok && !strings.HasPrefix(name, "{") {
			args = append(args, strings.Fields(env[name])...)
			continue
		}
		for k, v := range env {
			w = strings.ReplaceAll(w, "${"+k+"}", v)
		}
		args = append(args, w)
	}
	if len(args) == 0 {
		return nil, nil, errFailed
	}
	p, err := o.Sys.NewProc(root, args...)
	if err != nil {
		return nil, nil, err
	}
	maps.Copy(p.Env, env)
	p.Dir = "/"
	p.SetFD(0, process.NewFD(process.FromIO(strings.NewReader(""), nil, nil)))
	tag := fmt.Sprintf("%s[%d]: ", path.Base(args[0]), p.PID)
	out := process.NewFD(process.FromIO(nil, &lineLog{put: func(l string) { o.note(u.name, tag+l) }}, nil))
	p.SetFD(1, out)
	p.SetFD(2, out.Dup())
	file, err := p.LookPath(args[0])
	if err == nil {
		var prog process.Program
		if prog, err = p.Load(file); err == nil {
			return p, prog, nil
		}
	}
	o.note(u.name, fmt.Sprintf(
		"systemd[1]: %s.service: Failed to locate executable %s: %s", u.name, args[0], process.Reason(err),
	))
	p.Start(func(context.Context, *process.Proc) int { return 203 })
	return nil, nil, err
}

func (o *OS) runUnit(ctx context.Context, u *unit, line string) int {
	p, prog, err := o.unitProc(u, line)
	if err != nil {
		return 203
	}
	p.Launch(prog)
	st, err := p.Wait(ctx)
	if err != nil {
		return 1
	}
	return st
}

// spawnUnit starts the main process and waits until it is ready.
func (o *OS) spawnUnit(ctx context.Context, u *unit) error {
	p, prog, err := o.unitProc(u, u.get("Service.ExecStart"))
	if err != nil {
		o.unitFailed(u, 203)
		return errFailed
	}
	ready := make(chan struct{})
	o.mu.Lock()
	u.proc, u.ready = p, ready
	o.mu.Unlock()
	p.Launch(prog)
	o.Sys.Go(func(ctx context.Context) { o.watch(ctx, u, p) })
	if u.get("Service.Type") == "notify" {
		select {
		case <-ready:
		case <-p.Done():
			return errFailed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	o.mu.Lock()
	if u.proc == p {
		u.state = active
	}
	o.mu.Unlock()
	o.note(u.name, "systemd[1]: Started "+u.get("Unit.Description")+".")
	return nil
}

// Ready is what a daemon of Type=notify calls once it serves.
func (o *OS) Ready(p *process.Proc) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, u := range o.units {
		if u.proc == p && u.ready != nil {
			close(u.ready)
			u.ready = nil
		}
	}
}

// watch waits for the end of a main process and restarts it if the unit says so.
func (o *OS) watch(ctx context.Context, u *unit, p *process.Proc) {
	st, err := p.Wait(ctx)
	if err != nil {
		return
	}
	o.mu.Lock()
	if u.proc != p {
		o.mu.Unlock()
		return
	}
	// The new state is set together with the end of the process, so that it cannot replace the state of a later start.
	failure := !u.stopping && st != 0
	restart := u.get("Service.Restart")
	again := !u.stopping && restart != "" && restart != "no" && (restart != "on-failure" || st != 0)
	u.proc, u.again = nil, again
	switch {
	case again:
		u.state = activating
	case failure:
		u.state = failed
	default:
		u.state = inactive
	}
	o.mu.Unlock()
	if failure {
		o.noteFailure(u, st)
	}
	if !again {
		return
	}
	wait := 100 * time.Millisecond
	if s, err := strconv.ParseFloat(strings.TrimSuffix(u.get("Service.RestartSec"), "s"), 64); err == nil {
		wait = time.Duration(s * float64(time.Second))
	}
	// A very fast clock must not turn a failing daemon into a busy loop.
	t := time.NewTimer(max(o.Sys.Clock.Real(wait), 20*time.Millisecond))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return
	}
	release, err := u.acquire(ctx)
	if err != nil {
		return
	}
	defer release()
	o.mu.Lock()
	again = u.again // no command has stopped or started the unit since
	o.mu.Unlock()
	if again {
		_ = o.activate(ctx, u)
	}
}

// StopUnit stops a service and waits until its process is gone.
func (o *OS) StopUnit(ctx context.Context, name string) error {
	u := o.unit(name)
	if u == nil {
		return errNoUnit
	}
	// A start that waits for its process to become ready ends with the process.
	o.mu.Lock()
	signalled := u.proc
	u.stopping = true
	o.mu.Unlock()
	if signalled != nil {
		signalled.Signal(process.SIGTERM)
	}

	release, err := u.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	o.mu.Lock()
	p := u.proc
	u.stopping = true
	if p == nil {
		u.state, u.again = inactive, false
		o.mu.Unlock()
		return nil
	}
	o.mu.Unlock()
	if p != signalled {
		p.Signal(process.SIGTERM)
	}
	limit := time.NewTimer(max(o.Sys.Clock.Real(90*time.Second), time.Second))
	defer limit.Stop()
	select {
	case <-p.Done():
	case <-limit.C:
		p.Signal(process.SIGKILL)
		// Its ports are free only when it has ended.
		select {
		case <-p.Done():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	o.mu.Lock()
	u.proc, u.state, u.again = nil, inactive, false
	o.mu.Unlock()
	o.note(name, "systemd[1]: Stopped "+u.get("Unit.Description")+".")
	return nil
}

// ReloadUnit sends a running service its reload command; without one it is an error.
func (o *OS) ReloadUnit(ctx context.Context, name string) error {
	u := o.unit(name)
	if u == nil {
		return errNoUnit
	}
	o.mu.Lock()
	p := u.proc
	o.mu.Unlock()
	lines := u.vals("Service.ExecReload")
	if p == nil || len(lines) == 0 {
		return errFailed
	}
	for _, l := range lines {
		if st := o.runUnit(ctx, u, strings.ReplaceAll(l, "$MAINPID", strconv.Itoa(p.PID))); st != 0 {
			return errFailed
		}
	}
	return nil
}
