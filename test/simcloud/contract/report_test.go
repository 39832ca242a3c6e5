package contract

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// lines are the facts checked so far.
var lines struct {
	sync.Mutex
	list []string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if path := os.Getenv("CONTRACT_REPORT"); path != "" {
		slices.Sort(lines.list)
		if err := os.WriteFile(path, []byte(strings.Join(lines.list, "\n")+"\n"), 0o600); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, "write the report:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// fact checks one sentence and goes on; got is shown when it does not hold.
func (c *cloud) fact(sentence string, holds bool, got ...any) {
	c.t.Helper()
	result := "pass"
	if !holds {
		result = "FAIL"
		c.t.Errorf("%s: it does not hold that %s; got %v", c.topic, sentence, got)
	}
	line := strings.Join([]string{result, c.kind(), c.topic, sentence}, "\t")
	c.t.Log(line)
	lines.Lock()
	defer lines.Unlock()
	lines.list = append(lines.list, line)
}

// same is a fact about a value.
func (c *cloud) same(sentence string, want, got any) {
	c.t.Helper()
	c.fact(sentence, assert.ObjectsAreEqualValues(want, got), got)
}

// like is a fact about the form of a text.
func (c *cloud) like(sentence, pattern, got string) {
	c.t.Helper()
	c.fact(sentence, regexp.MustCompile(pattern).MatchString(got), got)
}

// answers is a fact about the status of an answer.
func (c *cloud) answers(sentence string, status int, r reply) {
	c.t.Helper()
	c.fact(sentence, r.status == status, r.status, r.text)
}

// refuses is a fact about a refusal of Heat: its status, the kind of the error and the form of its text.
func (c *cloud) refuses(sentence string, status int, kind, pattern string, r reply) {
	c.t.Helper()
	c.fact(sentence, r.status == status && r.str("error", "type") == kind && regexp.MustCompile(pattern).MatchString(r.str("error", "message")),
		r.status, r.text)
}
