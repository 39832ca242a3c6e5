package stack

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
)

var testNow = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// ago is a time before testNow.
func ago(d time.Duration) time.Time { return testNow.Add(-d) }

// stackIn is the stack s of instance i in a status; tags are added to the instance's.
func stackIn(status string, tags ...string) []cloud.Stack {
	return []cloud.Stack{{ID: "s", Name: "vnf-i", Status: status, Tags: append([]string{"i"}, tags...)}}
}

// TestNext has a case for every row of the table. The operation is "op", in its second try, and Heat has half an hour.
func TestNext(t *testing.T) {
	t.Parallel()
	const long = 36 * time.Minute
	overtaken := stackIn("UPDATE_FAILED", "op", "t")
	overtaken[0].Reason = "resources.VDU1: Stack UPDATE cancelled"
	foreign := []cloud.Stack{{ID: "s", Status: "CREATE_COMPLETE"}}
	two := append(stackIn("DELETE_IN_PROGRESS"), stackIn("DELETE_FAILED")...)

	cases := map[purpose]map[string][]struct {
		stacks  []cloud.Stack
		attempt Attempt
		set     func(*situation)
		want    action
	}{
		create: {
			"not begun":      {{want: start}},
			"not listed yet": {{attempt: Attempt{Try: 2, ID: "s", Since: ago(time.Second)}, want: waitUnlisted}},
			"vanished":       {{attempt: Attempt{Try: 2, ID: "s", Since: ago(4 * time.Second)}, want: failGone}},
			"no stack": {
				{attempt: Attempt{Try: 1, ID: "s", Since: ago(time.Second)}, want: start},
				{attempt: Attempt{Try: 2, Doomed: "s", Since: ago(time.Second)}, want: start},
			},
			"of another owner": {
				{stacks: foreign, attempt: Attempt{Try: 2, Since: ago(1)}, want: failForeign},
			},
			"previous stack is being deleted": {{
				stacks: stackIn("DELETE_IN_PROGRESS", "op"), attempt: Attempt{Try: 2, ID: "s", Since: ago(1)},
				want: waitDeleted,
			}},
			"of an earlier operation": {
				{stacks: stackIn("CREATE_COMPLETE", "op-1"), attempt: Attempt{Try: 2, Since: ago(1)}, want: replace},
				{
					stacks: stackIn("DELETE_FAILED", "op"), attempt: Attempt{Try: 2, Doomed: "s", Since: ago(1)},
					want: replace,
				},
			},
			"id not recorded": {
				{stacks: stackIn("CREATE_IN_PROGRESS", "op"), attempt: Attempt{Try: 2, Since: ago(1)}, want: adopt},
			},
			"stuck in this try": {{
				stacks: stackIn("CREATE_IN_PROGRESS", "op"), attempt: Attempt{Try: 2, ID: "s", Since: ago(long)},
				want: failStuck,
			}},
			"stuck in an earlier try": {{
				stacks: stackIn("CREATE_IN_PROGRESS", "op"), attempt: Attempt{Try: 1, ID: "s", Since: ago(long)},
				want: send,
			}},
			"in progress": {
				{
					stacks:  stackIn("CREATE_IN_PROGRESS", "op"),
					attempt: Attempt{Try: 2, ID: "s", Since: ago(time.Minute)}, want: waitBusy,
				},
				{
					stacks:  stackIn("CREATE_IN_PROGRESS", "op"),
					attempt: Attempt{Try: 1, ID: "s", Since: ago(time.Minute)}, want: waitBusy,
				},
			},
			"complete": {{
				stacks: stackIn("CREATE_COMPLETE", "op"), attempt: Attempt{Try: 1, ID: "s", Since: ago(long)},
				want: finish,
			}},
			"failed in an earlier try": {
				{stacks: stackIn("CREATE_FAILED", "op"), attempt: Attempt{Try: 1, ID: "s", Since: ago(1)}, want: send},
			},
			"repaired without effect in an earlier try": {
				{
					stacks:  stackIn("UPDATE_FAILED", "op", "t"),
					attempt: Attempt{Try: 1, ID: "s", Token: "t", Since: ago(1)}, want: replace,
				},
				{
					stacks: stackIn("DELETE_FAILED", "op"), attempt: Attempt{Try: 1, ID: "s", Since: ago(1)},
					want: replace,
				},
			},
			"repair not sent": {{
				stacks: stackIn("CREATE_FAILED", "op"), attempt: Attempt{Try: 2, ID: "s", Token: "t", Since: ago(1)},
				want: resend,
			}},
			"repair stopped by an earlier try": {
				{stacks: overtaken, attempt: Attempt{Try: 2, ID: "s", Token: "t", Since: ago(1)}, want: sendStopped},
			},
			"failed": {
				{
					stacks:  overtaken,
					attempt: Attempt{Try: 2, ID: "s", Token: "t", Stopped: true, Since: ago(1)}, want: handleFailure,
				},
				{
					stacks: stackIn("CREATE_FAILED", "op"), attempt: Attempt{Try: 2, ID: "s", Since: ago(1)},
					want: handleFailure,
				},
				{
					stacks:  stackIn("UPDATE_FAILED", "op", "t"),
					attempt: Attempt{Try: 2, ID: "s", Token: "t", Since: ago(1)}, want: handleFailure,
				},
			},
		},
		update: {
			"stuck in this try": {{
				stacks: stackIn("UPDATE_IN_PROGRESS", "t"), attempt: Attempt{Try: 2, Token: "t", Since: ago(long)},
				want: failStuck,
			}},
			"in progress": {
				{
					stacks:  stackIn("UPDATE_IN_PROGRESS", "t"),
					attempt: Attempt{Try: 2, Token: "t", Since: ago(time.Minute)}, want: waitBusy,
				},
				{stacks: stackIn("UPDATE_IN_PROGRESS"), want: waitBusy},
				{
					stacks: stackIn("UPDATE_IN_PROGRESS"), attempt: Attempt{Try: 2, Token: "t", Since: ago(long)},
					want: waitBusy,
				},
			},
			"complete": {
				{stacks: stackIn("UPDATE_COMPLETE", "t"), attempt: Attempt{Try: 2, Token: "t"}, want: finish},
				{stacks: stackIn("UPDATE_COMPLETE", "t"), attempt: Attempt{Try: 1, Token: "t"}, want: finish},
			},
			"not begun in this try": {
				{stacks: stackIn("CREATE_COMPLETE"), want: send},
				{stacks: stackIn("UPDATE_FAILED", "t"), attempt: Attempt{Try: 1, Token: "t"}, want: send},
				{
					stacks: stackIn("UPDATE_IN_PROGRESS", "t"), attempt: Attempt{Try: 1, Token: "t", Since: ago(long)},
					want: send,
				},
			},
			"overtaken": {{stacks: overtaken, attempt: Attempt{Try: 2, Token: "t", Resent: true}, want: send}},
			"stopped by an earlier try": {
				{stacks: overtaken, attempt: Attempt{Try: 2, Token: "t"}, want: sendStopped},
			},
			"failed": {
				{
					stacks: stackIn("UPDATE_FAILED", "t"), attempt: Attempt{Try: 2, Token: "t", Resent: true},
					want: handleFailure,
				},
				{stacks: overtaken, attempt: Attempt{Try: 2, Token: "t", Stopped: true}, want: handleFailure},
				{
					stacks: overtaken, attempt: Attempt{Try: 1, Token: "t"}, set: func(s *situation) { s.try = 1 },
					want: handleFailure,
				},
				{stacks: stackIn("ROLLBACK_COMPLETE", "t"), attempt: Attempt{Try: 2, Token: "t"}, want: handleFailure},
			},
			"not sent": {
				{stacks: stackIn("CREATE_COMPLETE"), attempt: Attempt{Try: 2, Token: "t"}, want: resend},
				{stacks: stackIn("UPDATE_FAILED"), attempt: Attempt{Try: 2, Token: "t", Resent: true}, want: resend},
			},
		},
		remove: {
			"no stack": {{want: finish}, {attempt: Attempt{Try: 2, Deletions: 3, Since: ago(long)}, want: finish}},
			"in progress": {
				{stacks: stackIn("DELETE_IN_PROGRESS"), want: waitBusy},
				{
					stacks:  stackIn("DELETE_IN_PROGRESS"),
					attempt: Attempt{Try: 2, Deletions: 1, Since: ago(time.Minute)},
					want:    waitBusy,
				},
			},
			"failed too often": {
				{stacks: two, attempt: Attempt{Try: 2, Deletions: 3, Since: ago(time.Minute)}, want: failDelete},
			},
			"asked for a moment ago": {
				{
					stacks: two, attempt: Attempt{Try: 2, Deletions: 2, Since: ago(900 * time.Millisecond)},
					want: waitPause,
				},
			},
			"to be deleted": {
				{stacks: stackIn("CREATE_COMPLETE"), want: deleteAll},
				{
					stacks: two, attempt: Attempt{Try: 2, Deletions: 2, Since: ago(1100 * time.Millisecond)},
					want: deleteAll,
				},
				{stacks: two, attempt: Attempt{Try: 1, Deletions: 3, Since: ago(1)}, want: deleteAll},
				{
					stacks: stackIn("DELETE_IN_PROGRESS"), attempt: Attempt{Try: 1, Deletions: 1, Since: ago(1)},
					want: deleteAll,
				},
				{
					stacks: stackIn("DELETE_IN_PROGRESS"), attempt: Attempt{Try: 2, Deletions: 1, Since: ago(long)},
					want: deleteAll,
				},
			},
		},
		halt: {
			"no stack": {{want: finish}},
			"signalled a moment ago": {{
				stacks: stackIn("CREATE_COMPLETE"), attempt: Attempt{Since: ago(time.Second)},
				set: func(s *situation) { s.signals = true }, want: waitSignal,
			}},
			"at rest": {
				{stacks: stackIn("UPDATE_FAILED"), attempt: Attempt{Since: ago(1)}, want: finish},
				{
					stacks: stackIn("UPDATE_COMPLETE"), attempt: Attempt{Since: ago(3 * time.Second)},
					set: func(s *situation) {
						s.signals = true
					}, want: finish,
				},
			},
			"stopped": {
				{stacks: stackIn("UPDATE_FAILED"), attempt: Attempt{Since: ago(1), Asked: true}, want: waitNested},
			},
			"being deleted": {
				{stacks: stackIn("DELETE_IN_PROGRESS"), attempt: Attempt{Since: ago(1)}, set: force, want: leave},
			},
			"cannot be stopped": {
				{stacks: stackIn("UPDATE_IN_PROGRESS"), attempt: Attempt{Since: ago(1)}, want: waitBusy},
				{stacks: stackIn("DELETE_IN_PROGRESS"), attempt: Attempt{Since: ago(1)}, want: waitBusy},
				{stacks: stackIn("CHECK_IN_PROGRESS"), attempt: Attempt{Since: ago(1)}, set: force, want: waitBusy},
			},
			"not asked": {
				{stacks: stackIn("UPDATE_IN_PROGRESS"), attempt: Attempt{Since: ago(1)}, set: force, want: stop},
				{stacks: stackIn("CREATE_IN_PROGRESS"), attempt: Attempt{Since: ago(1)}, set: force, want: stop},
			},
			"creation cannot be stopped": {
				{
					stacks: stackIn("CREATE_IN_PROGRESS"), attempt: Attempt{Since: ago(1), Asked: true, Refused: true},
					set: force, want: deleteHalf,
				},
			},
			"stopping": {
				{
					stacks: stackIn("CREATE_IN_PROGRESS"), attempt: Attempt{Since: ago(1), Asked: true}, set: force,
					want: waitBusy,
				},
				{
					stacks: stackIn("UPDATE_IN_PROGRESS"), attempt: Attempt{Since: ago(1), Asked: true, Refused: true},
					set: force, want: waitBusy,
				},
			},
		},
	}
	for _, r := range table {
		require.NotEmpty(t, cases[r.purpose][r.name], "no case for the row %q of purpose %d", r.name, r.purpose)
		for _, c := range cases[r.purpose][r.name] {
			s := situation{purpose: r.purpose, try: 2, instance: "i", operation: "op", timeout: 30 * time.Minute}
			if c.set != nil {
				c.set(&s)
			}
			require.Equal(t, c.want, next(c.stacks, c.attempt, testNow, s), "purpose %d, %s: %+v, %+v", r.purpose,
				r.name, c.stacks, c.attempt)

			v := viewOf(c.stacks, c.attempt, testNow, s)
			for _, o := range table {
				if o.purpose == r.purpose && o.when(v) {
					require.Equal(t, r.name, o.name, "the row that decides about %+v, %+v", c.stacks, c.attempt)
					break
				}
			}
		}
	}
}

func force(s *situation) { s.forced = true }
