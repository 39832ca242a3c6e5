package script

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Playbook runs a playbook of the package with the node's ansible-playbook, in the sandbox. The input is a
// PlaybookInput, the value that it returns is a PlaybookResult, also if it fails. Data for logins is in files of the
// sandbox that only its user can read, never in arguments or the environment.
const Playbook Kind = "playbook"

// PlaybookInput is the input of a Playbook.
type PlaybookInput struct {
	// Hosts is the inventory: hosts with their variables.
	Hosts map[string]map[string]any `json:"hosts"`
	// KnownHosts are the hosts whose keys are known; another key is refused. Of the other hosts, any key is accepted.
	KnownHosts []KnownHost `json:"knownHosts,omitempty"`
	// Vars are the extra variables.
	Vars map[string]any `json:"vars"`
	// Key is a private key for SSH; "" = none.
	Key string `json:"privateKey,omitempty"`
	// Timeout limits one run, in seconds. A run that fails is repeated up to Retries times, after Interval seconds.
	Timeout  int `json:"timeout"`
	Retries  int `json:"retries"`
	Interval int `json:"interval"`
	// PackageVariable is replaced in the texts of Vars by the folder of the package, with a slash at its end.
	PackageVariable string `json:"packageVariable,omitempty"`
}

// KnownHost is a host with its key in the form of a file authorized_keys: type and base64.
type KnownHost struct {
	Host string `json:"host"`
	Port int    `json:"port"`
	Key  string `json:"key"`
}

// PlaybookResult is how a Playbook ended: in its last run.
type PlaybookResult struct {
	Recap    map[string]PlaybookRecap `json:"recap"`
	Failures []PlaybookFailure        `json:"failures"`
}

// PlaybookRecap are the numbers of PLAY RECAP for a host.
type PlaybookRecap struct {
	OK          int `json:"ok"`
	Changed     int `json:"changed"`
	Unreachable int `json:"unreachable"`
	Failures    int `json:"failures"`
	Skipped     int `json:"skipped"`
	Rescued     int `json:"rescued"`
	Ignored     int `json:"ignored"`
}

// String writes them as ansible-playbook does.
func (r PlaybookRecap) String() string {
	return fmt.Sprintf("ok=%d changed=%d unreachable=%d failed=%d skipped=%d rescued=%d ignored=%d",
		r.OK, r.Changed, r.Unreachable, r.Failures, r.Skipped, r.Rescued, r.Ignored)
}

// PlaybookFailure is a task that failed on a host.
type PlaybookFailure struct {
	Host        string `json:"host"`
	Task        string `json:"task"`
	Message     string `json:"message"`
	Unreachable bool   `json:"unreachable"`
}

// Of lists the failures of a host.
func (r PlaybookResult) Of(host string) []PlaybookFailure {
	var out []PlaybookFailure
	for _, f := range r.Failures {
		if f.Host == host {
			out = append(out, f)
		}
	}
	return out
}

// findPlaybook finds the program of Options.Playbook as scripts would.
func (r *Runner) findPlaybook() error {
	if r.opts.Playbook == "" {
		return nil
	}
	for dir := range strings.SplitSeq(r.python.searchPath(), ":") {
		at := r.opts.Playbook
		if !strings.Contains(at, "/") {
			at = filepath.Join(dir, at)
		}
		if filepath.IsAbs(at) && r.sees(at) {
			r.playbook = at
			return nil
		}
	}
	return fmt.Errorf(
		"ansible.playbook: scripts do not find %s on this node; install ansible-core below /usr or in the environment "+
			"of scripts.python, or name the path of ansible-playbook", r.opts.Playbook,
	)
}

// CanPlay says with a CodeUnprocessable error why a Playbook cannot be run on this node now.
func (r *Runner) CanPlay() error {
	if r.playbook == "" {
		return lcm.Errorf(lcm.CodeUnprocessable, "this node runs no Ansible playbooks").
			WithHint("have the operator switch playbooks on, on every node: ansible.playbook")
	}
	if info, err := os.Stat(r.playbook); err != nil || !info.Mode().IsRegular() || !r.sees(r.playbook) {
		return lcm.Errorf(
			lcm.CodeUnprocessable, "Ansible playbooks cannot be run: this node has no program %s any more", r.playbook,
		).WithHint("have the operator install ansible-core on this node again")
	}
	return nil
}
