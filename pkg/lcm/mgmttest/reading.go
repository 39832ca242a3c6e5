package mgmttest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Operation returns the operation as it is stored.
func (l *Ledger) Operation() lcm.Operation {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.op
}

// Instance returns the instance as it is stored.
func (l *Ledger) Instance(t *testing.T) *lcm.Instance {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	i := &lcm.Instance{}
	require.NoError(t, json.Unmarshal(l.instance, i))
	return i
}

// Vims are the VIMs that the operation has registered, by id.
func (l *Ledger) Vims() map[string]lcm.Vim {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.vims)
}

// Removed are the ids of the VIMs that the operation has removed, in this order.
func (l *Ledger) Removed() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.removed)
}

// Writes is how often something was to be stored, lost writes included.
func (l *Ledger) Writes() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writes
}

// Deaths is how many nodes have died.
func (l *Ledger) Deaths() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deaths
}

// Steps are the steps of all runs in the order in which they began.
func (l *Ledger) Steps() []lcm.StepRecord {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.steps)
}

// Step returns the last step with a name and a target; nil if there is none.
func (l *Ledger) Step(name, target string) *lcm.StepRecord {
	for _, s := range slices.Backward(l.Steps()) {
		if s.Name == name && s.Target == target {
			return &s
		}
	}
	return nil
}

// Log returns the lines of all steps with a name and a target.
func (l *Ledger) Log(name, target string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, s := range l.steps {
		if s.Name == name && s.Target == target {
			out = append(out, l.logs[s.ID]...)
		}
	}
	return out
}

// Logs has the lines of all steps, each with the name and the target of its step.
func (l *Ledger) Logs() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	for _, s := range l.steps {
		for _, line := range l.logs[s.ID] {
			fmt.Fprintf(&b, "%s %s: %s\n", s.Name, s.Target, line)
		}
	}
	return b.String()
}

// Details has a line for each step with the text that it shows.
func (l *Ledger) Details() string {
	var b strings.Builder
	for _, s := range l.Steps() {
		fmt.Fprintf(&b, "%s %s: %s\n", s.Name, s.Target, s.Detail)
	}
	return b.String()
}

// Told has the texts of steps while they were open, one in a line.
func (l *Ledger) Told() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.told, "\n")
}

// Stored is everything that the database would have of the progress: phases, steps, logs and the error of the
// operation, as JSON. A test searches it for secrets.
func (l *Ledger) Stored(t *testing.T) string {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	raw, err := json.MarshalIndent([]any{l.phases, l.steps, l.logs, l.told, l.op.Waiting, l.op.Error}, "", " ")
	require.NoError(t, err)
	return string(raw)
}
