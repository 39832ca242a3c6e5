package contract

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// lasting is a stack whose create and update take some seconds, made of Heat's own test resource.
const lasting = hot + `
parameters: {v: {type: string, default: a}}
resources:
  N: {type: lasting.yaml, properties: {v: {get_param: v}}}
`

const lastingFile = hot + `
parameters: {v: {type: string}}
resources:
  R: {type: OS::Heat::TestResource, properties: {value: {get_param: v}, action_wait_secs: {create: 2, update: 2}}}
  Q: {type: OS::Heat::TestResource, depends_on: R, properties: {value: {get_param: v}}}
`

func TestCancel(t *testing.T) {
	t.Parallel()
	c := connectWith(t, "cancel", quick)
	body := obj{"template": lasting, "files": obj{"lasting.yaml": lastingFile}}
	s := c.begin("cancel", body)
	c.eventually(
		"the nested stack is being made", func() bool { return s.resources()["N/R"].status == "CREATE_IN_PROGRESS" },
	)
	c.refuses("cancel_update does nothing for a create", http.StatusBadRequest, "NotSupported",
		`^Cancelling update when stack is CREATE_IN_PROGRESS is not supported\.$`, s.action("cancel_update"))
	r := s.action("cancel_without_rollback")
	c.fact("cancel_without_rollback of a create is answered 200 with null",
		r.status == http.StatusOK && r.body == nil && r.text != "", r.status, r.text)
	r = s.settle()
	c.same("the stack has failed", []string{"CREATE_FAILED", "Stack CREATE cancelled"},
		[]string{r.str("stack", "stack_status"), r.str("stack", "stack_status_reason")})
	c.eventually("the nested stack is given up", func() bool { return s.resources()["N"].status == "CREATE_FAILED" })
	c.same("the nested stack's resource has failed for that reason", "resources.N: Stack CREATE cancelled",
		s.resources()["N"].reason)
	c.eventually("what was under way ends", func() bool { return s.resources()["N/R"].status == "CREATE_COMPLETE" })
	c.same(
		"what was under way has gone on, and nothing after it has begun", "INIT_COMPLETE", s.resources()["N/Q"].status,
	)
	for _, action := range []string{"cancel_update", "cancel_without_rollback"} {
		c.refuses("nothing in progress can not be cancelled: "+action, http.StatusBadRequest, "NotSupported",
			`^Cancelling update when stack is CREATE_FAILED is not supported\.$`, s.action(action))
	}
	nested := s.resources()["N"].id
	s.update(nil, "UPDATE_COMPLETE")
	c.same("an update repairs what the cancelled create has left", []string{"CREATE_COMPLETE", nested},
		[]string{s.resources()["N/Q"].status, s.resources()["N"].id})

	s.patch(obj{"parameters": obj{"v": "b"}})
	c.eventually("the update has reached the resource", func() bool {
		return s.resources()["N/R"].status == "UPDATE_IN_PROGRESS"
	})
	c.answers(
		"cancel_without_rollback of an update is answered 200", http.StatusOK, s.action("cancel_without_rollback"),
	)
	r = s.settle()
	c.same("the stack has failed", []string{"UPDATE_FAILED", "Stack UPDATE cancelled"},
		[]string{r.str("stack", "stack_status"), r.str("stack", "stack_status_reason")})
	c.eventually("what was under way ends", func() bool { return s.quiet() })
	s.update(obj{"parameters": obj{"v": "c"}}, "UPDATE_COMPLETE")

	s.patch(obj{"parameters": obj{"v": "d"}})
	c.eventually("the update has reached the resource", func() bool {
		return s.resources()["N/R"].status == "UPDATE_IN_PROGRESS"
	})
	c.answers("cancel_update of an update is answered 200", http.StatusOK, s.action("cancel_update"))
	c.eventually("it is being rolled back", func() bool { return strings.HasPrefix(s.status(), "ROLLBACK_") })
	r = s.settle()
	c.fact("the roll-back ends; it may fail on a nested stack that was given up in the middle",
		slices.Contains([]string{"ROLLBACK_COMPLETE", "ROLLBACK_FAILED"}, r.str("stack", "stack_status")), r.text)
	c.eventually("nothing is under way", s.quiet)
	s.update(nil, "UPDATE_COMPLETE")
}

// quiet tells that nothing of the stack is being worked on.
func (s *stack) quiet() bool {
	s.c.t.Helper()
	for _, r := range s.resources() {
		if strings.HasSuffix(r.status, "IN_PROGRESS") {
			return false
		}
	}
	return true
}
