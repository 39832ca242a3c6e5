package contract

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestTagsAndLists(t *testing.T) {
	t.Parallel()
	c := connectWith(t, "tags and lists", quick)
	ours := fresh("tag")
	// A value that takes a moment keeps the stack in progress for a look.
	const small = hot +
		"parameters: {v: {type: string, default: a}}\n" +
		"resources: {R: " +
		"{type: OS::Heat::TestResource, properties: {value: {get_param: v}, action_wait_secs: {create: 0, update: 1}}}}"
	s := c.create("tags", obj{"template": small, "tags": ours + ",gybe.op=1"}, "CREATE_COMPLETE")
	tags := func() any { return s.show().get("stack", "tags") }
	listedTags := func() any {
		return c.call(http.MethodGet, "heat", "/stacks?name="+s.name, nil).get("stacks", 0, "tags")
	}
	c.same("tags are shown as a list", []any{ours, "gybe.op=1"}, tags())
	c.same("also in the list of stacks", []any{ours, "gybe.op=1"}, listedTags())

	r := s.patch(obj{"tags": ours + ",gybe.op=2", "parameters": obj{"v": "b"}})
	c.answers("an update is answered 202", http.StatusAccepted, r)
	c.same("the new tags are there at once, while the update is in progress",
		[]any{"UPDATE_IN_PROGRESS", []any{ours, "gybe.op=2"}}, []any{s.status(), tags()})
	c.same("also in the list", []any{ours, "gybe.op=2"}, listedTags())
	s.await("UPDATE_COMPLETE")
	c.same("they stay when the update is complete", []any{ours, "gybe.op=2"}, tags())
	s.update(nil, "UPDATE_COMPLETE")
	c.same("an update that names no tags leaves them", []any{ours, "gybe.op=2"}, tags())
	s.update(obj{"tags": ours + ",a=b c,d:é/{}"}, "UPDATE_COMPLETE")
	c.same("spaces, punctuation and letters of any kind are accepted", []any{ours, "a=b c", "d:é/{}"}, tags())
	long := strings.Repeat("t", 80)
	s.update(obj{"tags": ours + "," + long}, "UPDATE_COMPLETE")
	c.same("a tag may have 80 characters", []any{ours, long}, tags())
	c.refuses("and no more", http.StatusBadRequest, "HTTPBadRequest",
		`^Invalid tag, "t{81}" is longer than 80 characters$`, s.patch(obj{"tags": long + "t"}))
	c.same("a refused update leaves the tags", []any{ours, long}, tags())
	many := ours
	for i := range 40 {
		many += fmt.Sprintf(",tag-%d", i)
	}
	s.update(obj{"tags": many}, "UPDATE_COMPLETE")
	c.same("there may be 41 tags", 41, len(s.show().get("stack", "tags").([]any)))
	s.update(obj{"tags": ""}, "UPDATE_COMPLETE")
	c.same("an empty text is one empty tag", []any{""}, tags())
	s.update(obj{"tags": ours + ",gybe.op=3"}, "UPDATE_COMPLETE")

	for _, tc := range []struct {
		what  string
		query url.Values
		found bool
	}{
		{"tags finds a stack that has all of them", url.Values{"tags": {ours + ",gybe.op=3"}}, true},
		{"and none that lacks one", url.Values{"tags": {ours + ",gybe.op=2"}}, false},
		{"tags_any finds one that has any", url.Values{"tags_any": {ours + ",gybe.op=2"}}, true},
		{"name is the whole name", url.Values{"name": {s.name[:len(s.name)-1]}}, false},
		{"name may be repeated", url.Values{"name": {s.name, "other"}}, true},
		{"id may be repeated", url.Values{"id": {s.id, unknownID}}, true},
		{"id and name together must both be right", url.Values{"id": {s.id}, "name": {"other"}}, false},
		{"name and status work together", url.Values{"name": {s.name}, "status": {"COMPLETE"}}, true},
		{"the status may have its action", url.Values{"name": {s.name}, "status": {"UPDATE_COMPLETE"}}, true},
		{
			"a status that is not the stack's does not find it",
			url.Values{"name": {s.name}, "status": {"FAILED"}},
			false,
		},
		{"an unknown filter is ignored", url.Values{"name": {s.name}, "colour": {"red"}}, true},
		{"an unknown marker is ignored", url.Values{"name": {s.name}, "marker": {unknownID}}, true},
	} {
		want := []string{}
		if tc.found {
			want = append(want, s.name)
		}
		c.same(tc.what, want, c.listed(tc.query))
	}
	c.answers("tags together with a name break this release of Heat", http.StatusInternalServerError,
		c.call(http.MethodGet, "heat", "/stacks?tags="+ours+"&name="+s.name, nil))
	c.refuses("show_nested must be true or false", http.StatusBadRequest, "HTTPBadRequest",
		`^Unrecognized value "1" for "show_nested"`,
		c.call(http.MethodGet, "heat", "/stacks?show_nested=1", nil))
	c.refuses("a limit must be a number", http.StatusBadRequest, "HTTPBadRequest",
		`^Only integer is acceptable by 'limit'\.$`,
		c.call(http.MethodGet, "heat", "/stacks?limit=x", nil))
	plain := c.create("untagged", obj{"template": hot}, "CREATE_COMPLETE")
	c.same("a stack without tags shows none", []any{}, plain.show().get("stack", "tags"))
	c.same("and null in the list", nil, c.call(http.MethodGet, "heat", "/stacks?name="+plain.name, nil).get(
		"stacks", 0, "tags",
	))
}
