// Package facts reports the results of contract suites: one suite of facts about a service runs against its simulation
// and, when the environment names one, against a real one. A fact is a short sentence that holds on both.
package facts

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// lines are the facts that were checked so far.
var lines struct {
	sync.Mutex
	list []string
}

// Check checks one sentence and continues. kind is "simulated" or "real"; got is shown when the fact does not hold.
func Check(tb testing.TB, kind, topic, sentence string, holds bool, got ...any) {
	tb.Helper()
	result := "pass"
	if !holds {
		result = "FAIL"
		tb.Errorf("%s: it does not hold that %s; got %v", topic, sentence, got)
	}
	line := strings.Join([]string{result, kind, topic, sentence}, "\t")
	tb.Log(line)
	lines.Lock()
	defer lines.Unlock()
	lines.list = append(lines.list, line)
}

// Run runs a suite and returns its exit code. With CONTRACT_REPORT=file it writes one line for each fact: pass or FAIL,
// simulated or real, the topic, the fact.
func Run(m *testing.M) int {
	code := m.Run()
	if path := os.Getenv("CONTRACT_REPORT"); path != "" {
		slices.Sort(lines.list)
		if err := os.WriteFile(path, []byte(strings.Join(lines.list, "\n")+"\n"), 0o600); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, "write the report:", err)
			code = 1
		}
	}
	return code
}
