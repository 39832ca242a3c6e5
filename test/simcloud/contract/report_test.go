package contract

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gybe-nfv/gybe/test/facts"
)

func TestMain(m *testing.M) { os.Exit(facts.Run(m)) }

// fact checks one sentence and goes on; got is shown when it does not hold.
func (c *cloud) fact(sentence string, holds bool, got ...any) {
	c.t.Helper()
	facts.Check(c.t, c.kind(), c.topic, sentence, holds, got...)
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
	c.fact(sentence, r.status == status && r.str("error", "type") == kind && regexp.MustCompile(pattern).MatchString(
		r.str("error", "message"),
	),
		r.status, r.text)
}
