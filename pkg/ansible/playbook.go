package ansible

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
	"github.com/gybe-nfv/gybe/pkg/script"
	"github.com/gybe-nfv/gybe/pkg/script/durable"
	"github.com/gybe-nfv/gybe/pkg/sol/redact"
)

// playbook runs a playbook for a VNFC as a step, and reports its PLAY RECAP as one step for each host.
func (t *task) playbook(ctx context.Context, r *resolver) error {
	name := r.playbook(t.item.path)
	login := r.credentials(t.vdu.login)
	params := r.params(t.item)
	hosts := r.targets(t.item, t.machine, t.all)
	if len(r.bad) > 0 {
		return refused(t.c.file, r.bad)
	}
	if err := t.canPlay(); err != nil {
		return err
	}
	secrets := t.secrets(params, login)
	t.hide = redact.NewHider(func() []string { return secrets })
	if login.user != "" { // without it, the playbook does not log in with data of the file
		for _, m := range t.all {
			if slices.Contains(hosts, m.address) {
				if err := t.answers(ctx, target{m, login}); err != nil {
					return err
				}
			}
		}
	}
	return t.w.Step(ctx, t.title, t.vnfc, func(ctx context.Context, s *lcm.Step) error {
		tries := time.Duration(t.retries + 1)
		raw, failure := t.o.Host.Do(ctx, t.w, s, durable.Run{
			Name: fmt.Sprintf("playbook %s for %s", name, t.machine), Script: name, Key: t.title + "/" + t.vnfc,
			Job: func(ctx context.Context) (script.Job, error) {
				input, err := t.input(ctx, login, params, hosts)
				return script.Job{
					Package: t.w.Package, Script: name, Kind: script.Playbook, Input: input, Secrets: secrets,
					// The playbook's own limit is kept in the sandbox; this one includes the start of all tries.
					Timeout: tries*(t.limit+t.interval) + time.Minute,
				}, err
			},
		})
		if len(raw) == 0 {
			return failure
		}
		return t.report(ctx, s, name, raw, failure)
	})
}

// input is what the playbook is run with (script.Playbook).
func (t *task) input(
	ctx context.Context, login credentials, params map[string]any, hosts []string,
) (script.PlaybookInput, error) {
	in := script.PlaybookInput{
		Hosts: map[string]map[string]any{}, Vars: map[string]any{}, Key: string(login.key),
		Timeout: int(t.limit / time.Second), Retries: t.retries, Interval: int(t.interval / time.Second),
		PackageVariable: prefix + packagePath,
	}
	for _, h := range hosts {
		vars := map[string]any{}
		if t.o.SSHPort != 22 {
			vars["ansible_port"] = t.o.SSHPort
		}
		for _, m := range t.all {
			if m.address != h {
				continue
			}
			k, err := t.o.HostKeys.Lookup(ctx, remote.Machine{Instance: t.w.Instance.ID, VNFC: m.vnfc})
			if err != nil {
				return in, fmt.Errorf("look up the host key of %s: %w", m.vnfc, err)
			}
			if k != nil {
				in.KnownHosts = append(in.KnownHosts, script.KnownHost{
					Host: h, Port: t.o.SSHPort, Key: k.Type + " " + base64.StdEncoding.EncodeToString(k.Key),
				})
			}
		}
		in.Hosts[h] = vars
	}
	// The order is that of Tacker, in which later ones win.
	in.Vars["host"], in.Vars["node_pair_ip"] = t.address, "None"
	addresses := byVDU(t.all)
	if t.vdu.nodePair != "" {
		if pair, ok := addresses[t.vdu.nodePair]; ok {
			in.Vars["node_pair_ip"] = pair
		}
	}
	maps.Copy(in.Vars, params)
	if login.user != "" {
		in.Vars["ansible_ssh_user"] = login.user
	}
	if login.password != "" {
		in.Vars["ansible_ssh_pass"] = login.password
	}
	maps.Copy(in.Vars, addresses)
	return in, nil
}

// maxReported limits the failures of hosts in an error, and maxHosts the hosts that get a step.
const (
	maxReported = 5
	maxHosts    = 200
)

// report records the PLAY RECAP, one step for each host, and explains a failure with the hosts and their tasks.
func (t *task) report(ctx context.Context, s *lcm.Step, name string, raw json.RawMessage, failure error) error {
	var result script.PlaybookResult
	if err := json.Unmarshal(raw, &result); err != nil {
		return lcm.Errorf(lcm.CodeUpstream, "the report of the playbook %s: %w", name, err)
	}
	of := "PLAY RECAP of " + t.title
	if s.Attempt() > 1 {
		of += fmt.Sprintf(", attempt %d", s.Attempt())
	}
	hosts := slices.Sorted(maps.Keys(result.Recap))
	for _, host := range hosts[:min(len(hosts), maxHosts)] {
		recap := result.Recap[host]
		title, at := of, host
		if m, ok := t.known(host); ok {
			at = m.vnfc
		}
		if at != t.vnfc {
			title += " for " + t.vnfc
		}
		// The error of a host is that of its step; the playbook's names all of them.
		if err := t.w.Step(ctx, title, at, func(ctx context.Context, s *lcm.Step) error {
			s.Logf(ctx, host+" : "+recap.String())
			s.Detail(recap.String())
			if recap.Failures+recap.Unreachable == 0 {
				return nil
			}
			return t.failed(name, recap.String(), result.Of(host))
		}); err != nil && lcm.AsError(err).Title != failedTitle {
			return err
		}
	}
	if failure == nil {
		if len(hosts) == 0 {
			s.Logf(ctx, "the playbook has reported no host: no host of the inventory matches it")
		}
		return nil
	}
	if len(result.Failures) == 0 {
		e := *lcm.AsError(failure)
		e.Title, e.Detail = failedTitle, t.hide.Hide(e.Detail)
		return &e
	}
	return t.failed(name, "", result.Failures)
}

// failedTitle is that of the failure of a playbook.
const failedTitle = "Playbook failed"

// failed is the failure of a playbook on some hosts.
func (t *task) failed(name, recap string, failures []script.PlaybookFailure) error {
	var details []string
	for n, f := range failures {
		if n == maxReported {
			details = append(details, fmt.Sprintf("and %d more", len(failures)-n))
			break
		}
		host := f.Host
		if m, ok := t.known(f.Host); ok {
			host = m.String()
		}
		what := "failed"
		if f.Unreachable {
			what = "host unreachable"
		}
		message := t.hide.Hide(f.Message)
		if len(message) > maxReason {
			message = strings.ToValidUTF8(message[:maxReason], "") + "…"
		}
		details = append(details, fmt.Sprintf("%s on %s at task %q: %s", what, host, f.Task, message))
	}
	if len(details) == 0 {
		details = []string{recap}
	}
	return &lcm.Error{
		Code: lcm.CodeUpstream, Title: failedTitle,
		Detail: fmt.Sprintf("the playbook %s %s", name, strings.Join(details, "; ")),
		Hint: "the log of the step has its output; remove the cause and retry the operation, which runs the playbook " +
			"again",
	}
}

// known finds the VNFC with an address.
func (t *task) known(address string) (machine, bool) {
	for _, m := range t.all {
		if m.address == address {
			return m, true
		}
	}
	return machine{}, false
}
