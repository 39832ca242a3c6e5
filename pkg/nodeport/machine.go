package nodeport

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
)

// configFile is HAProxy's configuration.
const configFile = "/etc/haproxy/haproxy.cfg"

// maxConfig bounds the file, in bytes.
const maxConfig = 4 << 20

// lockFile is locked by everyone who replaces the configuration file.
const lockFile = "/run/lock/gybe-haproxy"

// machineName is the name under which the host key of a load balancer is pinned for an instance.
func (b balancer) machineName() string { return lcm.BalancerMachine(b.address) }

// activate is the script that replaces the file.
//
//go:embed activate.sh
var activate string

// The statuses with which activate ends. Those that flock and sudo end with, 1 and 64 to 73, are others.
const (
	statusChanged  = 75 // the file is not the one that the change was made from, or the lock is taken
	statusRejected = 81 // haproxy -c rejects the new file
	statusInactive = 82 // HAProxy does not work with the new file; the old one is in place again
)

// checkpoint is stored before the file is replaced.
type checkpoint struct {
	// Base is the digest of the file that is replaced.
	Base string `json:"base"`
}

// machine is one load balancer within a step.
type machine struct {
	o        Options
	w        *lcm.Execution
	step     *lcm.Step
	balancer balancer
	// services and nodes are what the load balancer is to have for the instance; none removes it.
	services []service
	nodes    []node
	// takenOver are the Services whose frontends of Tacker's configure_lb.sh are replaced.
	takenOver []serviceName
}

func (d *Driver) machineOf(w *lcm.Execution, s *lcm.Step, b balancer) *machine {
	return &machine{o: d.o, w: w, step: s, balancer: b}
}

func (m *machine) target() remote.Target {
	return remote.Target{
		Instance: m.w.Instance.ID, VNFC: m.balancer.machineName(), Host: m.balancer.address.String(), Port: m.o.SSHPort,
		User: m.balancer.username, Password: m.balancer.password, PrivateKey: []byte(m.balancer.privateKey),
	}
}

// maxTries bounds how often a change is made again because another one was faster.
const maxTries = 10

// apply brings the machine to the wanted state, whatever a predecessor has done there.
func (m *machine) apply(ctx context.Context) error {
	c, release, err := m.o.Connect(ctx, m.target())
	if err != nil {
		return m.failure(doingConnect, err)
	}
	defer release()

	for range maxTries {
		err := m.try(ctx, c)
		if !changed(err) {
			return err
		}
	}
	return &lcm.Error{
		Code: lcm.CodeUnavailable, Class: lcm.Transient, Title: "Load balancer busy",
		Detail: fmt.Sprintf("load balancer %s: %s is changed again and again by others, or they hold the lock %s",
			m.balancer.address, configFile, lockFile),
	}
}

// errChanged says that the file is not the one that was read.
var errChanged = errors.New("the file has changed")

func changed(err error) bool { return errors.Is(err, errChanged) }

// try reads the file, makes the new one and replaces it, unless the file has changed since.
func (m *machine) try(ctx context.Context, c Connection) error {
	old, err := m.output(ctx, c, "read the configuration of HAProxy", "sudo -n cat "+configFile)
	if err != nil {
		return err
	}
	sockets, err := m.output(ctx, c, "list open ports", "ss -lnt")
	if err != nil {
		return err
	}
	conf := parseConfig(string(old))
	instance := m.w.Instance.ID
	had, before := conf.owned(instance), *conf
	for _, name := range conf.takeOver(m.takenOver) {
		m.step.Logf(ctx, "the frontend "+name+", written by another VNFM, is replaced")
	}
	wants := m.ports()
	if err := m.free(conf, &before, listening(sockets), wants); err != nil {
		return err
	}
	next := conf.replace(instance, render(instance, m.services, m.nodes, conf.shares(m.nodes)))
	base := digest(old)
	var cp checkpoint
	begun, err := m.step.Load(&cp)
	if err != nil {
		return err
	}
	if next == string(old) && !begun {
		m.step.Logf(ctx, "the configuration of HAProxy is up to date")
		return nil
	}
	if next != string(old) {
		cp.Base = base
		if err := m.step.Save(ctx, cp); err != nil {
			return err
		}
	}
	return m.replaceFile(ctx, c, next, base, cp.Base, wants, without(had, wants))
}

// ports lists the ports of the Services.
func (m *machine) ports() []int {
	var out []int
	for _, s := range m.services {
		out = append(out, s.ports...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func without(list, other []int) []int {
	return slices.DeleteFunc(slices.Clone(list), func(p int) bool { return slices.Contains(other, p) })
}

// free refuses ports that others use. A port of another VNF instance may be about to be given back: Kubernetes gives
// each NodePort to one Service only. before is the file as it is, conf without the sections that are replaced.
func (m *machine) free(conf, before *config, open map[int]bool, ports []int) error {
	if by, ok := conf.taken(m.w.Instance.ID, ports); ok {
		if by.section.owner != "" && m.patient() {
			return lcm.Wait(pause, by.String())
		}
		return m.refused(by.String(), "give the Service another nodePort, or free the port on the load balancer; then "+
			"retry the operation, or roll it back")
	}
	for _, p := range ports {
		if open[p] && !before.bound(p) {
			return m.refused(fmt.Sprintf("the port %d is used by another program on the machine", p),
				"ss -lntp on the load balancer shows the program; free the port, or give the Service another nodePort")
		}
	}
	return nil
}

// pause is the time between two looks at a state that others have to change.
const pause = 2 * time.Second

// patient reports whether the step may still wait for others. A retry waits as long as the first attempt did.
func (m *machine) patient() bool {
	begun := m.step.Started()
	if m.w.Op.StateEntered.After(begun) {
		begun = m.w.Op.StateEntered
	}
	return m.w.Clock.Now().Sub(begun) < m.o.Patience
}

// replaceFile runs the script that replaces the file. It waits until the ports are open, and the others closed.
func (m *machine) replaceFile(
	ctx context.Context, c Connection, text, current, base string, open, closed []int,
) error {
	args := []string{configFile, digest([]byte(text)), current, base}
	for _, p := range open {
		args = append(args, "+"+strconv.Itoa(p))
	}
	for _, p := range closed {
		args = append(args, "-"+strconv.Itoa(p))
	}
	command := fmt.Sprintf("sudo -n flock -w 30 -E %d %s bash -c %s gybe %s", statusChanged, lockFile,
		remote.Quote(activate), strings.Join(args, " "))
	var said []string
	line := func(text string) {
		m.step.Logf(ctx, text)
		if strings.Contains(text, "ALERT") || strings.HasPrefix(text, "gybe: ") ||
			strings.HasPrefix(text, "flock: ") {
			said = append(said, strings.TrimPrefix(text, "gybe: "))
		}
	}
	bounded, cancel := context.WithTimeoutCause(ctx, m.o.CommandTimeout, errSlow)
	defer cancel()
	err := c.Run(bounded, command, remote.RunOptions{Stdin: strings.NewReader(text), Stderr: line})
	exit, ok := errors.AsType[*remote.ExitError](err)
	if !ok {
		return m.failure("replace the configuration of HAProxy", slow(ctx, bounded, err))
	}
	switch exit.Status {
	case statusChanged:
		return errChanged
	case statusRejected:
		return m.refused("haproxy -c rejects the new configuration, and the old one stays: "+strings.Join(said, "; "),
			"haproxy -c -f "+configFile+" on the load balancer tells whether the rest of the file is valid")
	case statusInactive:
		return m.refused("HAProxy did not work with the new configuration, and has the old one again: "+
			strings.Join(said, "; "), "journalctl -u haproxy on the load balancer has the cause")
	}
	doing := "replace the configuration of HAProxy"
	if len(said) > 0 {
		doing += " (" + strings.Join(said, "; ") + ")"
	}
	return m.failure(doing, err)
}

// output runs a short command and returns its standard output.
func (m *machine) output(ctx context.Context, c Connection, doing, command string) ([]byte, error) {
	bounded, cancel := context.WithTimeoutCause(ctx, m.o.CommandTimeout, errSlow)
	defer cancel()
	out, err := c.Output(bounded, command, nil, maxConfig)
	if err != nil {
		return nil, m.failure(doing, slow(ctx, bounded, err))
	}
	return out, nil
}

var errSlow = errors.New("the machine did not answer in time")

// slow makes a timeout of this package an error of the machine.
func slow(ctx, bounded context.Context, err error) error {
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		return &remote.Error{Kind: remote.KindTimeout, Op: "run", Err: errSlow}
	}
	return err
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// socket is the local address in a line of ss.
var socket = regexp.MustCompile(`(?m)^LISTEN\s+\d+\s+\d+\s+\S+:(\d+)\s`)

// listening reads the ports from the output of ss.
func listening(text []byte) map[int]bool {
	out := map[int]bool{}
	for _, match := range socket.FindAllSubmatch(text, -1) {
		if port, err := strconv.Atoi(string(match[1])); err == nil {
			out[port] = true
		}
	}
	return out
}

var _ Connection = (*remote.Client)(nil)
