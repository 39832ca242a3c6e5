package ansible

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// The limits and defaults of the numbers of vm_app_config. Without retry_count, nothing is tried again: playbooks and
// commands of packages need not be repeatable.
const (
	maxRetries      = 100
	maxInterval     = time.Hour
	maxTime         = 24 * time.Hour
	defaultInterval = 30 * time.Second
	defaultConnect  = 10 * time.Minute
	defaultRun      = time.Hour
)

// maxKey limits a private key in bytes.
const maxKey = 64 << 10

// hostName matches an address or a name of a machine.
var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.:_%-]{0,252}[A-Za-z0-9])?$`)

// credentials are a login with its values.
type credentials struct {
	user, password string
	key            []byte
}

// settings are the numbers of vm_app_config.
type settings struct {
	retries                  int
	interval, connect, limit time.Duration
}

// resolver gives a configuration its values, and gathers what is wrong.
type resolver struct {
	c     *config
	files fs.FS
	scope scope
	bad   []finding
}

func (r *resolver) fail(line int, err error) {
	var list interface{ Unwrap() []error }
	if errors.As(err, &list) {
		for _, e := range list.Unwrap() {
			r.fail(line, e)
		}
		return
	}
	f := finding{line: line, text: err.Error()}
	if e, ok := errors.AsType[unknownVariable](err); ok {
		f.variable = e.name
	}
	r.bad = append(r.bad, f)
}

// text expands a text.
func (r *resolver) text(t text) string {
	out, err := r.scope.expand(t.value)
	if err != nil {
		r.fail(t.line, err)
	}
	return out
}

// number reads a text that is a number.
func (r *resolver) number(t text, what string, def, limit int) int {
	if t.value == "" {
		return def
	}
	before := len(r.bad)
	value := strings.TrimSpace(r.text(t))
	if len(r.bad) > before {
		return def
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > limit {
		r.fail(t.line, fmt.Errorf("%s is %q; it is a number from 0 to %d", what, value, limit))
		return def
	}
	return n
}

// settings reads the numbers of a VDU.
func (r *resolver) settings(v vdu) settings {
	seconds := func(t text, what string, def, limit time.Duration) time.Duration {
		return time.Duration(r.number(t, what, int(def/time.Second), int(limit/time.Second))) * time.Second
	}
	return settings{
		retries:  r.number(v.retryCount, "retry_count", 0, maxRetries),
		interval: seconds(v.retryInterval, "retry_interval", defaultInterval, maxInterval),
		connect:  seconds(v.connectionWait, "connection_wait_timeout", defaultConnect, maxTime),
		limit: max(time.Second,
			seconds(v.commandWait, "command_execution_wait_timeout", defaultRun, maxTime)),
	}
}

// credentials reads a login.
func (r *resolver) credentials(l login) credentials {
	out := credentials{user: r.text(l.username), password: r.text(l.password)}
	if l.keyFile.value == "" {
		return out
	}
	name, err := r.scope.file(l.keyFile.value)
	if err != nil {
		r.fail(l.keyFile.line, fmt.Errorf("priv_key_file: %w", err))
		return out
	}
	info, err := fs.Stat(r.files, name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxKey {
		r.fail(l.keyFile.line, fmt.Errorf("priv_key_file: the package has no file %s that is a private key", name))
		return out
	}
	if out.key, err = fs.ReadFile(r.files, name); err == nil {
		_, err = ssh.ParsePrivateKey(out.key)
	}
	if err != nil { // the parser's text could quote the key
		r.fail(l.keyFile.line,
			fmt.Errorf("priv_key_file: %s cannot be read as a private key without a passphrase", name))
	}
	return out
}

// playbook returns the path of a playbook in the package.
func (r *resolver) playbook(t text) string {
	name, err := r.scope.file(t.value)
	if err != nil {
		r.fail(t.line, err)
		return ""
	}
	if info, err := fs.Stat(r.files, name); err != nil || !info.Mode().IsRegular() {
		r.fail(t.line, fmt.Errorf("the package has no playbook %s", name))
	}
	return name
}

// params are the params of a playbook: texts as in Tacker, which passes them on a command line; objects and lists as
// they are.
func (r *resolver) params(i item) map[string]any {
	out := make(map[string]any, len(i.params))
	for name, v := range i.params {
		expanded, err := r.scope.expandAll(v)
		if err != nil {
			r.fail(i.line, err)
		}
		switch v := expanded.(type) {
		case map[string]any, []any, string:
		case nil:
			expanded = "None"
		case bool:
			expanded = map[bool]string{true: "True", false: "False"}[v]
		default:
			expanded = written(v)
		}
		out[name] = expanded
	}
	return out
}

// host finds the machine on which a command runs: that of the VNFC, of another VDU, or an address.
func (r *resolver) host(i item, v vdu, own machine, all []machine) (target, bool) {
	h := i.host
	if h == nil {
		h = v.host
	}
	if h == nil {
		return r.reachable(target{machine: own, credentials: r.credentials(v.login)}, v.line, v.name)
	}
	name := r.text(h.name)
	for _, other := range r.c.vdus {
		if other.name != name {
			continue
		}
		for _, m := range all {
			if m.vdu == name {
				return r.reachable(target{machine: m, credentials: r.credentials(other.login)}, other.line, name)
			}
		}
		r.fail(h.name.line, fmt.Errorf("execute-host is the VDU %s, which has no VNFC", name))
		return target{}, false
	}
	if !hostName.MatchString(name) {
		r.fail(h.name.line, fmt.Errorf("execute-host %q is neither an address nor a VDU of the file", name))
		return target{}, false
	}
	t := target{machine: machine{vnfc: "execute-host " + name, address: name}, credentials: r.credentials(h.login)}
	return r.reachable(t, h.name.line, name)
}

// reachable says whether a target has what a login needs.
func (r *resolver) reachable(t target, line int, name string) (target, bool) {
	switch {
	case t.credentials.user == "":
		r.fail(line, fmt.Errorf("%s has no username, which commands need", name))
	case t.credentials.password == "" && t.credentials.key == nil:
		r.fail(line, fmt.Errorf("%s has neither password nor priv_key_file, of which commands need one", name))
	case t.machine.address == "":
		r.fail(line, fmt.Errorf("VNFC %s has no IP address", t.machine.vnfc))
	default:
		return t, true
	}
	return t, false
}

// targets are the addresses that a playbook is run for.
func (r *resolver) targets(i item, own machine, all []machine) []string {
	if len(i.targetHosts) == 0 {
		return []string{own.address}
	}
	var out []string
	for _, t := range i.targetHosts {
		name := r.text(t)
		if found := addresses(all, name); len(found) > 0 {
			out = append(out, found...)
			continue
		}
		if !hostName.MatchString(name) {
			r.fail(t.line, fmt.Errorf("target_hosts has %q, which is neither an address nor a VDU with VNFCs", name))
			continue
		}
		out = append(out, name)
	}
	return out
}
