package simcloud

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stackevents"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stacks"
	"github.com/stretchr/testify/require"
)

// refused sends a create that must fail and returns status and the error's type and message.
func refused(t *testing.T, u *user, body map[string]any) (int, string, string) {
	t.Helper()
	_, err := u.heat.Post(t.Context(), u.heat.ServiceURL("stacks"), body, nil, nil)
	var e gophercloud.ErrUnexpectedResponseCode
	require.ErrorAs(t, err, &e)
	var v struct {
		Error struct{ Type, Message string } `json:"error"`
	}
	require.NoError(t, decode(e.Body, &v), "%s", e.Body)
	return e.Actual, v.Error.Type, v.Error.Message
}

func TestCreateRefusesBadTemplates(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	hot := "heat_template_version: 2013-05-23\n"
	one := func(body string) map[string]any {
		return map[string]any{"stack_name": "x", "template": hot + body}
	}
	for _, tc := range []struct {
		name, kind, message string
		body                map[string]any
	}{
		{"no template", "HTTPBadRequest", "No template specified", map[string]any{"stack_name": "x"}},
		{"bad name", "StackValidationFailed", "Invalid stack name 1x", map[string]any{
			"stack_name": "1x", "template": hot,
		}},
		{"no version", "InvalidTemplateVersion", "Template version was not provided", map[string]any{
			"stack_name": "x", "template": "resources: {}",
		}},
		{
			"unknown version", "InvalidTemplateVersion", "heat_template_version: 2001-01-01",
			map[string]any{"stack_name": "x", "template": "heat_template_version: 2001-01-01"},
		},
		{"not yaml", "StackValidationFailed", "Error parsing template", map[string]any{
			"stack_name": "x", "template": "a: [b",
		}},
		{"unknown section", "InvalidTemplateSection", "The template section is invalid: things", one("things: {}")},
		{
			"unknown type", "StackValidationFailed", "The Resource Type (OS::Foo::Bar) could not be found.",
			one("resources: {a: {type: OS::Foo::Bar}}"),
		},
		{
			"unknown property", "StackValidationFailed", "resources.a.properties: : Unknown Property colour",
			one("resources: {a: {type: OS::Neutron::Net, properties: {colour: red}}}"),
		},
		{"missing property", "StackValidationFailed", "Property flavor not assigned", one(
			"resources: {a: {type: OS::Nova::Server, properties: {image: x}}}",
		)},
		{"wrong type", "StackValidationFailed", "is not a list", one(
			"resources: {a: {type: OS::Neutron::Port, properties: {network: net0, fixed_ips: x}}}",
		)},
		{
			"missing parameter", "UserParameterMissing", "The Parameter (p) was not provided.",
			one("parameters: {p: {type: string}}"),
		},
		{
			"unknown parameter", "UnknownUserParameter", "The Parameter (q) was not defined in template.",
			map[string]any{"stack_name": "x", "template": hot, "parameters": map[string]any{"q": 1}},
		},
		{
			"bad json parameter", "StackValidationFailed", "Parameter 'p' is invalid: Value must be valid JSON",
			map[string]any{
				"stack_name": "x", "template": hot + "parameters: {p: {type: json}}",
				"parameters": map[string]any{"p": "{"},
			},
		},
		{
			"undeclared get_param", "UserParameterMissing", "The Parameter (p) was not provided.",
			one("resources: {a: {type: OS::Neutron::Net, properties: {name: {get_param: p}}}}"),
		},
		{
			"bad reference", "InvalidTemplateReference", `The specified reference "b" (in a) is incorrect.`,
			one("resources: {a: {type: OS::Neutron::Net, properties: {name: {get_resource: b}}}}"),
		},
		{
			"bad depends_on", "InvalidTemplateReference", `The specified reference "b" (in a) is incorrect.`,
			one("resources: {a: {type: OS::Neutron::Net, depends_on: b}}"),
		},
		{"cycle", "CircularDependencyException", "Circular Dependency Found: a -> b -> a", one(
			"resources: {a: {type: OS::Neutron::Net, depends_on: b}, b: {type: OS::Neutron::Net, depends_on: [a]}}",
		)},
		{
			"missing nested file", "StackValidationFailed", `Could not fetch remote template "w.yaml"`,
			one("resources: {a: {type: w.yaml}}"),
		},
		{"bad nested file", "StackValidationFailed", "Unknown Property y", map[string]any{
			"stack_name": "x", "template": hot + "resources: {a: {type: w.yaml, properties: {y: 1}}}",
			"files": map[string]string{"w.yaml": hot},
		}},
		{"missing get_file", "StackValidationFailed", "No content found", one(
			"resources: {a: {type: OS::Nova::Server, properties: {flavor: m1.tiny, image: cirros-0.5.2-x86_64-disk, " +
				"user_data: {get_file: x.sh}}}}",
		)},
		{
			"unknown flavor", "StackValidationFailed",
			"Error validating value 'm9': No Flavor matching {'name': 'm9'}. (HTTP 404)", one(
				"resources: {a: {type: OS::Nova::Server, properties: {flavor: m9, image: cirros-0.5.2-x86_64-disk}}}",
			),
		},
		{
			"unknown image", "StackValidationFailed", "No images matching {'name': 'nope'}.",
			one("resources: {a: {type: OS::Nova::Server, properties: {flavor: m1.tiny, image: nope}}}"),
		},
		{
			"unknown network", "StackValidationFailed", "Unable to find network with name or id 'nope'",
			one("resources: {a: {type: OS::Neutron::Port, properties: {network: nope}}}"),
		},
		{"recursion", "StackValidationFailed", "Recursion depth exceeds", map[string]any{
			"stack_name": "x", "template": hot + "resources: {a: {type: w.yaml}}",
			"files": map[string]string{"w.yaml": hot + "resources: {a: {type: w.yaml}}"},
		}},
		{"too large", "RequestLimitExceeded", "exceeds maximum allowed size", map[string]any{
			"stack_name": "x", "template": hot + "description: " + strings.Repeat("x", 600_000),
		}},
	} {
		status, kind, message := refused(t, u, tc.body)
		require.Equal(t, http.StatusBadRequest, status, tc.name)
		require.Equal(t, tc.kind, kind, tc.name)
		require.Contains(t, message, tc.message, tc.name)
	}
	require.Empty(t, c.State()["stacks"])
	createStack(t, u, "x", hot, nil, nil)
	status, kind, message := refused(t, u, map[string]any{"stack_name": "x", "template": hot})
	require.Equal(t, http.StatusConflict, status)
	require.Equal(t, "StackExists", kind)
	require.Equal(t, "The Stack (x) already exists.", message)
}

func TestFailureNamesTheResourceThroughAllLevels(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	c.SetHosts([]Host{{Name: "cmp1", Zone: "nova", VCPUs: 1}})
	before := c.State()
	id := createStack(t, u, "vnf", workersTop, map[string]string{"worker.yaml": workerFile}, nfv())
	st := waitStack(t, u, id, "CREATE_FAILED")
	require.Regexp(t, `^Resource CREATE failed: ResourceInError: resources\.worker-\d\.resources\.worker: Went to status ERROR due to "Message: No valid host was found\. , Code: 500"$`, st.StatusReason)
	require.NoError(t, stacks.Delete(t.Context(), u.heat, "vnf", id).ExtractErr())
	eventually(t, "nothing left", func() bool { return len(c.State().Since(before)) == 0 })
}

func TestNestedValueErrorsAppearWhenTheNestedStackIsMade(t *testing.T) {
	t.Parallel()
	_, u := start(t)
	params := nfv()
	params["nfv"].(map[string]any)["VDU"].(map[string]any)["worker-0"].(map[string]any)["vcImageId"] = "nope"
	id := createStack(t, u, "vnf", workersTop, map[string]string{"worker.yaml": workerFile}, params)
	st := waitStack(t, u, id, "CREATE_FAILED")
	require.Contains(t, st.StatusReason, "Resource CREATE failed: resources.worker-")
	require.Contains(t, st.StatusReason, "Error validating value 'nope': No images matching {'name': 'nope'}.")
}

func TestQuotaRefusalsCarryTheServicesText(t *testing.T) {
	t.Parallel()
	for service, tc := range map[string]struct {
		limits map[string]int
		want   string
	}{
		"nova": {map[string]int{"instances": 1}, "Forbidden: resources.worker-"},
		"neutron": {
			map[string]int{"port": 1},
			"Quota exceeded for resources: ['port'].\nNeutron server returns request_ids: ['req-",
		},
	} {
		c, u := start(t)
		require.NoError(t, c.SetQuota(service, tc.limits))
		id := createStack(t, u, "vnf", workersTop, map[string]string{"worker.yaml": workerFile}, nfv())
		require.Contains(t, waitStack(t, u, id, "CREATE_FAILED").StatusReason, tc.want)
	}
}

func TestRollback(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	before := c.State()
	c.AddFault(Fault{
		Kind: "fail_resource", ResourceName: "worker", Stack: "vnf-worker-1-*", Action: "create",
		Reason: "disk full", Count: 1,
	})
	var out struct {
		Stack struct{ ID string } `json:"stack"`
	}
	_, err := u.heat.Post(t.Context(), u.heat.ServiceURL("stacks"), map[string]any{
		"stack_name": "vnf", "template": workersTop, "files": map[string]string{"worker.yaml": workerFile},
		"parameters": nfv(), "disable_rollback": false,
	}, &out, nil)
	require.NoError(t, err)
	waitStack(t, u, out.Stack.ID, "ROLLBACK_COMPLETE")
	require.Empty(t, c.State()["servers"])
	require.NoError(t, stacks.Delete(t.Context(), u.heat, "vnf", out.Stack.ID).ExtractErr())
	eventually(t, "nothing left", func() bool { return len(c.State().Since(before)) == 0 })
}

func TestFailedUpdateIsRetriedByTheNextOne(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	id := createStack(t, u, "vnf", workersTop, map[string]string{"worker.yaml": workerFile}, nfv())
	waitStack(t, u, id, "CREATE_COMPLETE")
	rule := c.AddFault(Fault{Kind: "fail_resource", ResourceName: "worker_CP1", Action: "create", Reason: "no luck"})
	top := strings.Replace(workersTop, "worker-1: *w", "worker-1: *w\n  worker-2: *w", 1)
	st := change(t, u, http.MethodPatch, "vnf", id, map[string]any{"template": top}, "UPDATE_FAILED")
	require.Equal(
		t, "Resource CREATE failed: ResourceFailure: resources.worker-2.resources.worker_CP1: no luck", st.StatusReason,
	)
	require.True(t, c.Faults().Remove(rule))
	change(t, u, http.MethodPatch, "vnf", id, map[string]any{}, "UPDATE_COMPLETE")
	require.Len(t, c.State()["servers"], 3)
	for _, s := range c.State()["servers"] {
		require.Equal(t, "ACTIVE", s.Status)
	}
}

func TestDeleteInTheMiddleOfACreate(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	before := c.State()
	c.AddFault(Fault{Kind: "hang_resource", ResourceType: "OS::Neutron::FloatingIP", Action: "create"})
	id := createStack(t, u, "vnf", workersTop, map[string]string{"worker.yaml": workerFile}, nfv())
	eventually(t, "servers come", func() bool { return len(c.State()["servers"]) == 2 })
	waitStack(t, u, id, "CREATE_IN_PROGRESS")
	require.NoError(t, stacks.Delete(t.Context(), u.heat, "vnf", id).ExtractErr())
	eventually(t, "nothing left", func() bool { return len(c.State().Since(before)) == 0 })
	_, err := stacks.Find(t.Context(), u.heat, "vnf").Extract()
	require.True(
		t, gophercloud.ResponseCodeIs(err, http.StatusNotFound), "a deleted stack has no page under its name: %v", err,
	)
	st, err := stacks.Find(t.Context(), u.heat, id).Extract()
	require.NoError(t, err)
	require.Equal(t, "DELETE_COMPLETE", st.Status)
}

func TestStuckStackAndTimeout(t *testing.T) {
	t.Parallel()
	c := StartTest(t, Options{HeatMinute: time.Millisecond})
	u := login(t, c)
	rule := c.AddFault(Fault{Kind: "hang_stack", Stack: "stuck", Action: "create"})
	body := map[string]any{
		"stack_name": "stuck", "template": "heat_template_version: rocky", "timeout_mins": 60_000_000,
	}
	_, err := u.heat.Post(t.Context(), u.heat.ServiceURL("stacks"), body, nil, nil)
	require.NoError(t, err)
	eventually(t, "the rule strikes", func() bool { r, _ := c.Faults().Get(rule); return r.Fired == 1 })
	st, err := stacks.Find(t.Context(), u.heat, "stuck").Extract()
	require.NoError(t, err)
	require.Equal(t, "CREATE_IN_PROGRESS", st.Status)
	c.Faults().Remove(rule)
	waitStack(t, u, st.ID, "CREATE_COMPLETE")

	c.AddFault(Fault{Kind: "hang_resource", ResourceType: "OS::Heat::None"})
	body = map[string]any{
		"stack_name": "slow", "template": "heat_template_version: rocky\nresources: {a: {type: OS::Heat::None}}",
		"timeout_mins": 5,
	}
	_, err = u.heat.Post(t.Context(), u.heat.ServiceURL("stacks"), body, nil, nil)
	require.NoError(t, err)
	eventually(t, "the create times out", func() bool {
		st, err := stacks.Find(t.Context(), u.heat, "slow").Extract()
		return err == nil && st.Status == "CREATE_FAILED" && st.StatusReason == "Timed out"
	})
}

func TestTimePerResource(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	status, _, _ := call(t, "PUT", c.URL()+"/sim/timing", "",
		`{"create": {"OS::Nova::Server": "40ms", "OS::Neutron::Port": "20ms"}, "delete": {"*": "1ms"}}`)
	require.Equal(t, http.StatusOK, status)
	begun := time.Now()
	id := createStack(t, u, "vnf", workersTop, map[string]string{"worker.yaml": workerFile}, nfv())
	waitStack(t, u, id, "CREATE_COMPLETE")
	require.GreaterOrEqual(t, time.Since(begun), 60*time.Millisecond, "server after port")
}

func TestEventsTellTheStory(t *testing.T) {
	t.Parallel()
	_, u := start(t)
	id := createStack(t, u, "vnf", workersTop, map[string]string{"worker.yaml": workerFile}, nfv())
	waitStack(t, u, id, "CREATE_COMPLETE")
	page, err := stackevents.List(u.heat, "vnf", id, nil).AllPages(t.Context())
	require.NoError(t, err)
	events, err := stackevents.ExtractEvents(page)
	require.NoError(t, err)
	require.Equal(t, "CREATE_IN_PROGRESS", events[0].ResourceStatus)
	require.Equal(t, "vnf", events[0].ResourceName)
	require.Equal(t, "CREATE_COMPLETE", events[len(events)-1].ResourceStatus)
	require.Len(t, events, 2+2*2)
}

// TestCancelBeforeANestedStackBegins: no nested stack is left in progress that nothing works on.
func TestCancelBeforeANestedStackBegins(t *testing.T) {
	t.Parallel()
	files := map[string]string{"worker.yaml": workerFile}
	top, _, _ := strings.Cut(workersTop, "outputs:")
	for _, tc := range []struct{ name, action, of, to string }{
		{"create", "create", "worker-0", ""},
		{"update", "update", "worker-0", strings.Replace(top, "VDU, worker-0, computeF", "VDU, larger, computeF", 1)},
		{"added by an update", "create", "worker-2", strings.Replace(top, "worker-1: *w", "worker-2: *w", 1)},
		{"removed by an update", "delete", "worker-1", strings.Replace(top, "worker-1: *w", "", 1)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, u := start(t)
			hang := Fault{Kind: "hang_resource", ResourceName: tc.of, Action: tc.action}
			params := nfv()
			params["nfv"].(map[string]any)["VDU"].(map[string]any)["larger"] = map[string]any{
				"computeFlavourId": "m1.large",
			}
			var id, rule string
			if tc.to == "" {
				rule = c.AddFault(hang)
				id = createStack(t, u, "vnf", top, files, params)
			} else {
				id = createStack(t, u, "vnf", top, files, params)
				waitStack(t, u, id, "CREATE_COMPLETE")
				rule = c.AddFault(hang)
				_, err := u.heat.Patch(
					t.Context(), u.heat.ServiceURL("stacks", "vnf", id), map[string]any{"template": tc.to}, nil, nil,
				)
				require.NoError(t, err)
			}
			eventually(t, "the rule strikes", func() bool { r, _ := c.Faults().Get(rule); return r.Fired == 1 })
			_, err := u.heat.Post(t.Context(), u.heat.ServiceURL("stacks", "vnf", id, "actions"),
				map[string]any{"cancel_without_rollback": nil}, nil, &gophercloud.RequestOpts{OkCodes: []int{200}})
			require.NoError(t, err)
			c.Faults().Remove(rule)
			eventually(t, "nothing is in progress", func() bool {
				for _, r := range resources(t, u, "vnf", id, 2) {
					if strings.HasSuffix(r.Status, "_IN_PROGRESS") {
						return false
					}
				}
				return true
			})
			for _, st := range c.State()["stacks"] {
				require.False(t, strings.HasSuffix(st.Status, "_IN_PROGRESS"), "%s %s", st.Name, st.Status)
			}
			change(t, u, http.MethodPatch, "vnf", id, map[string]any{"template": top}, "UPDATE_COMPLETE")
			require.Len(t, c.State()["servers"], 2)
		})
	}
}
