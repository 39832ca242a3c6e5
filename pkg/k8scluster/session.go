package k8scluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
)

var errSlow = errors.New("the machine did not answer in time")

// session is one tick of an operation on the machines of a cluster: access to the machines, and scripts that run on
// them as durable steps. It does not know how a machine becomes a node.
type session struct {
	o Options
	w *lcm.Execution
	p params
	t *topology
	// late are the VNFCs whose machines join a cluster that exists already.
	late []string
	// master finds the master through which the cluster is reached, at most once per tick.
	master func() (node, error)
	slots  chan struct{}
}

// newSession makes the session for the instance as it is now. The cluster is never reached through the nodes of the
// VNFCs in avoid.
func newSession(ctx context.Context, o Options, w *lcm.Execution, p params, t *topology, avoid []string) *session {
	s := &session{o: o, w: w, p: p, t: t, slots: make(chan struct{}, o.Parallel)}
	s.master = sync.OnceValues(func() (node, error) { return s.reachableMaster(ctx, avoid) })
	return s
}

// bounded runs fn when a slot is free.
func (s *session) bounded(ctx context.Context, fn func() error) error {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-s.slots }()

	return fn()
}

// output runs a short command on a node and returns its standard output.
func (s *session) output(ctx context.Context, n node, doing, command string, stdin []byte, limit int) ([]byte, error) {
	c, release, err := s.o.Connect(ctx, n.target)
	if err != nil {
		return nil, nodeError(n, doing, err)
	}
	defer release()

	out, err := short(ctx, s.o, func(ctx context.Context) ([]byte, error) {
		return c.Output(ctx, command, bytes.NewReader(stdin), limit)
	})
	if err != nil {
		return nil, nodeError(n, doing, err)
	}
	return out, nil
}

// ask is output for a command that reads nothing and prints little.
func (s *session) ask(ctx context.Context, n node, doing, command string) ([]byte, error) {
	return s.output(ctx, n, doing, command, nil, 256<<10)
}

// prefix begins the ids of all runs of the operation's current pass, on all nodes.
func (s *session) prefix() string { return fmt.Sprintf("%s-%d-", s.w.Op.ID, s.w.Op.Run) }

func (s *session) runID(n node, phase string, attempt int) string {
	return fmt.Sprintf("%s%s-%s-%d", s.prefix(), n.name, phase, attempt)
}

// newRun makes the run of a script on a node within a step. The caller adds the job.
func (s *session) newRun(title, phase string, n node, step *lcm.Step) *scriptRun {
	return &scriptRun{
		o: s.o, s: step, n: n, doing: title, clock: s.w.Clock, round: s.w.Op.StateEntered,
		id:      func(attempt int) string { return s.runID(n, phase, attempt) },
		secrets: s.secretsOf(n),
	}
}

// runScript runs a script on a node as a durable step.
func (s *session) runScript(ctx context.Context, title, phase string, n node, job remote.Job) error {
	return s.w.Step(ctx, title, n.vnfc, func(ctx context.Context, step *lcm.Step) error {
		r := s.newRun(title, phase, n, step)
		r.job = func(_ context.Context, id string) (remote.Job, error) {
			j := job
			j.RunID = id
			return j, nil
		}
		return r.follow(ctx)
	})
}

// secretsOf lists the words that must not appear in the log of a run on a node.
func (s *session) secretsOf(n node) []string {
	secrets := []string{s.p.proxy.http, s.p.proxy.https}
	if n.target.Password != n.target.User { // such a password is known anyway, and hiding it would hide the user's name
		secrets = append(secrets, n.target.Password)
	}
	for _, r := range s.p.registries {
		secrets = append(secrets, r.password)
	}
	return secrets
}

// proxyVars are the variables by which programs on nodes find the proxy.
func (s *session) proxyVars() map[string]string {
	vars := map[string]string{}
	for name, value := range map[string]string{
		"http_proxy": s.p.proxy.http, "https_proxy": s.p.proxy.https, "no_proxy": s.noProxy(),
	} {
		if value != "" {
			vars[name] = value
		}
	}
	return vars
}

// noProxy adds every node to the addresses that are reached directly.
func (s *session) noProxy() string {
	if s.p.proxy.http == "" && s.p.proxy.https == "" {
		return ""
	}
	list, listed := []string{}, map[string]bool{}
	if s.p.proxy.no != "" {
		list = append(list, s.p.proxy.no)
	}
	subnet := s.p.proxy.nodes
	if len(subnet) == 0 { // nodes that come later are most likely in this network, too
		subnet = addresses(s.t.masters[0].ip + "/24")
	}
	for _, a := range subnet {
		listed[a] = true
	}
	list = append(list, subnet...)

	for _, n := range s.t.nodes() {
		if !listed[n.ip] {
			list = append(list, n.ip)
		}
	}
	return strings.Join(list, ",")
}

// tidy removes the runs' files from the nodes. A failure does no harm: the files go with the next reboot.
func (s *session) tidy(ctx context.Context) { s.tidyOn(ctx, s.t.nodes()) }

// tidyOn does so on some machines.
func (s *session) tidyOn(ctx context.Context, machines []node) {
	_ = lcm.Each(ctx, s.o.Parallel, machines, func(ctx context.Context, n node) error {
		c, release, err := s.o.Connect(ctx, n.target)
		if err == nil {
			defer release()
			_, err = short(ctx, s.o, func(ctx context.Context) (struct{}, error) {
				return struct{}{}, c.CleanupAll(ctx, s.prefix())
			})
		}
		if err != nil {
			s.w.Log.WarnContext(ctx, "files of the installation stay on a node", "node", n.name, "error", err)
		}
		return nil
	})
}
