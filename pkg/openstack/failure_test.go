package openstack_test

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
)

// TestStackFails: the reason reaches the user from where it began; a retry makes a new stack, a rollback leaves
// nothing.
func TestStackFails(t *testing.T) {
	t.Parallel()
	const reason = "Went to status ERROR due to \"Message: No valid host was found. There are not enough hosts " +
		"available., Code: 500\""
	for _, then := range []lcm.Event{lcm.EventRetry, lcm.EventRollback} {
		t.Run(string(then), func(t *testing.T) {
			t.Parallel()
			cloud := simcloud.StartTest(t, simcloud.Options{})
			before := cloud.State()
			w := newWorld(t, cloud)
			rule := cloud.AddFault(simcloud.Fault{
				Kind: fault.FailResource, ResourceType: "OS::Nova::Server", ResourceName: "workerNode",
				Action: "create", Nth: 2, Reason: reason,
			})
			w.instantiate("simple")
			f := w.failed()
			require.Equal(t, "Stack create failed", f.Title)
			require.Equal(t, http.StatusBadGateway, f.Status)
			require.Contains(t, f.Detail, w.stackName())
			require.Contains(t, f.Detail, "CREATE_FAILED")
			require.Contains(t, f.Detail, "No valid host was found")
			require.Contains(t, f.Detail, "workerNode")
			require.Contains(t, f.Hint, "no compute host can take the server")
			require.Equal(t, lcm.StepFailed, w.store.step(t, "create stack").State)
			tops, _ := w.stacks()
			require.Equal(t, 1, tops, "what failed stays for the operator to look at")

			require.True(t, cloud.Faults().Remove(rule))
			w.steer(then)
			if then == lcm.EventRetry {
				w.completed()
				tops, names := w.stacks()
				require.Equal(t, 1, tops, names)
				return
			}
			require.Equal(t, sol.LcmOperationStateRolledBack, w.run())
			require.Empty(t, cloud.State().Since(before))
			require.Nil(t, w.store.op.ResourceChanges)
			require.False(t, w.store.instance.HoldsResources)
		})
	}
}

// TestQuota: a full project is not a reason to try again and again.
func TestQuota(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	w := newWorld(t, cloud)
	cloud.AddFault(simcloud.Fault{
		Kind: fault.FailResource, ResourceType: "OS::Neutron::Port", Action: "create",
		Reason: "OverQuotaClient: resources.masterNode_CP1: Quota exceeded for resources: ['port'].",
	})
	w.instantiate("simple")
	f := w.failed()
	require.Contains(t, f.Detail, "Quota exceeded for resources: ['port']")
	require.Contains(t, f.Hint, "raise the project's quota")
}

// TestImageThatIsNowhere: the package says where an image is that neither it nor the VIM has, and the error says it
// again, when the stack fails and when Heat refuses the template.
func TestImageThatIsNowhere(t *testing.T) {
	t.Parallel()
	const server = "VDU2: {type: 'OS::Nova::Server', properties: {flavor: m1.tiny, image: vendor-image}}"
	for name, change := range map[string]func(files fstest.MapFS){
		"in a nested template": func(files fstest.MapFS) {
			nested := files["BaseHOT/default/nested/VDU2.yaml"]
			nested.Data = bytes.Replace(nested.Data, []byte("cirros-0.5.2-x86_64-disk"), []byte("vendor-image"), 1)
		},
		"in the top template": func(files fstest.MapFS) {
			top := files["BaseHOT/default/top.yaml"]
			head, _, _ := bytes.Cut(top.Data, []byte("VDU2:"))
			top.Data = slices.Concat(head, []byte(server))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}))
			all := groups()
			p := all["pkg-1"]
			f := &p.model.Flavours[0]
			f.VDU("VDU2").Image = &vnfd.SwImage{Name: "vendor-image", URI: "https://images.example.com/vm.img"}
			f.Warnings = []vnfd.Warning{{
				Code: vnfd.MissingArtifact, Subject: "VDU2", Text: "the artifact sw_image is outside of the package",
				Remedy: "create an image with the name vendor-image in the VIM",
			}}
			change(p.files.(fstest.MapFS))
			w.pkgs, w.pkg = all, p
			w.store.instance.VnfdID = p.model.ID
			w.admit(sol.LcmOperationInstantiate, map[string]any{
				"flavourId": "default", "extVirtualLinks": []any{link("ext-0", w.cloud.Net0ID(), "VDU1_CP1")},
			})
			e := w.failed()
			require.Contains(t, e.Detail, "No images matching {'name': 'vendor-image'}")
			require.Equal(t, "the artifact sw_image is outside of the package: create an image with the name "+
				"vendor-image in the VIM", e.Hint)
		})
	}
}

// TestCloudHasABadMinute: what passes by itself must not reach the user.
func TestCloudHasABadMinute(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string][]simcloud.Fault{
		"Keystone is away":        {{Kind: fault.Status, Service: "keystone", Status: 503, Count: 2}},
		"Heat is away":            {{Kind: fault.Status, Service: "heat", Status: 503, Count: 3}},
		"a proxy answers in HTML": {{Kind: fault.HTML, Service: "heat", Count: 2}},
		"Nova throttles": {{
			Kind: fault.Status, Service: "nova", Method: "GET", Status: 429,
			Header: map[string]string{"Retry-After": "1"}, Count: 1,
		}},
		"connections break": {{Kind: fault.Reset, Service: "neutron", Method: "GET", Count: 2}},
		"an answer breaks off": {
			{Kind: fault.Truncate, Service: "heat", Method: "GET", Path: "/resources$", Count: 1},
		},
		"a new stack is not listed yet": {{
			Kind: fault.Status, Service: "heat", Method: "GET", Path: "/stacks$",
			Status: 200, Body: `{"stacks": []}`, Count: 3,
		}},
		"the reply to the create is lost": {
			{Kind: fault.DropReply, Service: "heat", Method: "POST", Path: "/stacks$", Count: 1},
		},
		"the reply to an image is lost":   {{Kind: fault.DropReply, Service: "glance", Method: "POST", Count: 1}},
		"the reply to image data is lost": {{Kind: fault.DropReply, Service: "glance", Method: "PUT", Count: 1}},
		"image data is refused once": {
			{Kind: fault.Status, Service: "glance", Method: "PUT", Status: 500, Count: 1},
		},
		"all tokens expire at the create": {{Kind: fault.ExpireTokens, Service: "heat", Method: "POST", Count: 1}},
		"all tokens expire at an upload":  {{Kind: fault.ExpireTokens, Service: "glance", Method: "PUT", Count: 1}},
		"all tokens expire in the inventory": {
			{Kind: fault.ExpireTokens, Service: "neutron", Method: "GET", Path: "/ports", Count: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := simcloud.StartTest(t, simcloud.Options{})
			before := cloud.State()
			w := newWorld(t, cloud)
			w.retry.Retries = 8
			for _, r := range rules {
				cloud.AddFault(r)
			}
			w.instantiate("simple")
			w.completed()
			for _, r := range cloud.Faults().List() {
				require.Positive(t, r.Fired, "the fault has to happen")
			}
			tops, names := w.stacks()
			require.Equal(t, 1, tops, names)
			cloud.Faults().Clear()
			w.terminate()
			w.completed()
			require.Empty(t, cloud.State().Since(before))
		})
	}
}

// TestCloudStaysAway: after the tries that are configured the operation fails and says with what.
func TestCloudStaysAway(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	w := newWorld(t, cloud)
	cloud.AddFault(simcloud.Fault{Kind: fault.Status, Service: "heat", Status: 503})
	w.instantiate("simple")
	f := w.failed()
	require.Equal(t, "VIM is failing", f.Title)
	require.Equal(t, http.StatusServiceUnavailable, f.Status)
	require.Contains(t, f.Detail, "look for stack "+w.stackName()+": Heat at "+cloud.URL())
	require.Equal(t, w.retry.Retries, w.store.phases["infra"].Attempts)
}

// TestWrongPassword: it is said at once, nothing is tried again, and corrected credentials are enough to go on.
func TestWrongPassword(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	w := newWorld(t, cloud)
	access := w.store.instance.VimConnections["vim1"].AccessInfo
	access["password"] = "wrong"
	w.instantiate("simple")
	f := w.failed()
	require.Equal(t, "VIM authentication failed", f.Title)
	require.Contains(t, f.Hint, "accessInfo")
	require.Len(t, w.calls, 1)
	w.store.instance.VimConnections["vim1"].AccessInfo["password"] = simcloud.Password
	w.steer(lcm.EventRetry)
	w.completed()
}

// TestDeletionFails: Heat's deletions fail now and then for no lasting reason.
func TestDeletionFails(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	before := cloud.State()
	w := newWorld(t, cloud)
	w.instantiate("simple")
	w.completed()
	const reason = "Conflict: resources.masterNode_CP1: Port p1 is still in use."
	cloud.AddFault(simcloud.Fault{
		Kind: fault.FailResource, ResourceName: "masterNode_CP1", Action: "delete", Count: 2, Reason: reason,
	})
	w.terminate()
	w.completed()
	require.Empty(t, cloud.State().Since(before))
}

// TestDeletionKeepsFailing: it ends with the reason, and a retry by the user tries as often again.
func TestDeletionKeepsFailing(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	before := cloud.State()
	w := newWorld(t, cloud)
	w.instantiate("simple")
	w.completed()
	rule := cloud.AddFault(simcloud.Fault{
		Kind: fault.FailResource, ResourceName: "masterNode_CP1", Action: "delete",
		Reason: "Conflict: resources.masterNode_CP1: Port p1 is still in use.",
	})
	w.terminate()
	f := w.failed()
	require.Equal(t, "Stack delete failed", f.Title)
	require.Contains(t, f.Detail, "Port p1 is still in use.")
	require.Contains(t, f.Hint, "port belongs to another server")
	require.NotNil(t, w.store.instance.Instantiated, "the record stays as long as the resources")
	require.True(t, cloud.Faults().Remove(rule))
	w.steer(lcm.EventRetry)
	w.completed()
	require.Empty(t, cloud.State().Since(before))
}

// TestStackOfAnEarlierOperation: what a failed operation left behind is not taken for the new one's.
func TestStackOfAnEarlierOperation(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	before := cloud.State()
	w := newWorld(t, cloud)
	w.instantiate("simple")
	w.completed()
	old, _ := w.store.instance.Instantiated.Metadata["stack_id"].(string)
	w.instantiate("complex") // after "fail" the domain lets the user begin again
	w.completed()
	require.NotEqual(t, old, w.store.instance.Instantiated.Metadata["stack_id"])
	require.Len(t, w.store.instance.Instantiated.VnfcInfo, 5)
	tops, names := w.stacks()
	require.Equal(t, 1, tops, names)
	w.terminate()
	w.completed()
	require.Empty(t, cloud.State().Since(before))
}

// TestStackVanishes: another client deletes the stack during its creation.
func TestStackVanishes(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	w := newWorld(t, cloud)
	rule := cloud.AddFault(simcloud.Fault{Kind: fault.HangResource, ResourceType: "OS::Nova::Server", Action: "create"})
	w.instantiate("simple")
	done, name := make(chan *lcm.Failure, 1), w.stackName()
	go func() { done <- w.failed() }()
	require.Eventually(t, func() bool {
		for _, s := range cloud.State()["stacks"] {
			if s.Name == name {
				w.call(http.MethodDelete, "/stacks/"+s.Name+"/"+s.ID)
				return true
			}
		}
		return false
	}, time.Minute, 5*time.Millisecond)
	f := <-done
	require.Contains(t, f.Detail, "was deleted in the VIM")
	cloud.Faults().Remove(rule)
	w.steer(lcm.EventRetry)
	w.completed()
}

// TestProgress: a slow stack says how far it is.
func TestProgress(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	w := newWorld(t, cloud)
	w.clock = fastClock{time.Now()}
	rule := cloud.AddFault(simcloud.Fault{
		Kind: fault.HangResource, ResourceType: "OS::Nova::Server", ResourceName: "workerNode", Action: "create",
	})
	w.instantiate("simple")
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.completed()
	}()
	require.Eventually(t, func() bool {
		w.store.mu.Lock()
		defer w.store.mu.Unlock()
		for _, s := range w.store.steps {
			if s.Name == "create stack" && strings.HasPrefix(
				s.Detail, "stack CREATE_IN_PROGRESS, 7 of 9 resources complete",
			) {
				return true
			}
		}
		return false
	}, time.Minute, 10*time.Millisecond)
	cloud.Faults().Remove(rule)
	<-done
}

// TestGracefulTermination: the VNF gets the time that the request gives it, before anything is deleted.
func TestGracefulTermination(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	w := newWorld(t, cloud)
	w.cfg.GracefulTimeout = 400 * time.Millisecond
	w.instantiate("simple")
	w.completed()
	began := time.Now()
	w.admit(sol.LcmOperationTerminate, sol.TerminateVnfRequest{TerminationType: sol.TerminationTypeGraceful})
	w.completed()
	require.GreaterOrEqual(t, time.Since(began), w.cfg.GracefulTimeout)
	require.Equal(t, lcm.StepDone, w.store.step(t, "graceful termination").State)
}

// TestGracefulTimeIsNotSpentTwice: a new node does not begin to wait again.
func TestGracefulTimeIsNotSpentTwice(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	w := newWorld(t, cloud)
	w.instantiate("simple")
	w.completed()
	w.clock = fastClock{time.Now()} // 100 times as fast
	w.retry.TickBudget = 20 * time.Millisecond
	w.admit(sol.LcmOperationTerminate, sol.TerminateVnfRequest{
		TerminationType: sol.TerminationTypeGraceful, GracefulTerminationTimeout: 10,
	})
	w.completed() // a wait of 100 ms that began again with every tick of 20 ms would not end
}

// TestConnectionLeadsElsewhere: a stack that cannot be seen is not a stack that is gone.
func TestConnectionLeadsElsewhere(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	before := cloud.State()
	w := newWorld(t, cloud)
	w.instantiate("simple")
	w.completed()
	access := w.store.instance.VimConnections["vim1"].AccessInfo
	access["project"], access["username"] = simcloud.OtherProject, simcloud.OtherUsername
	w.terminate()
	f := w.failed()
	require.Contains(t, f.Detail, "was made in project nfv, and the VIM connection vim1 leads to project nfv2")
	access = w.store.instance.VimConnections["vim1"].AccessInfo
	access["project"], access["username"] = simcloud.Project, simcloud.Username
	w.steer(lcm.EventRetry)
	w.completed()
	require.Empty(t, cloud.State().Since(before))
}

// TestTerminateWithoutAnything: a rollback whose instantiation never reached the cloud ends well.
func TestTerminateWithoutAnything(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	before := cloud.State()
	w := newWorld(t, cloud)
	cloud.AddFault(simcloud.Fault{Kind: fault.Status, Service: "glance", Status: 400, Count: 1})
	w.instantiate("simple")
	w.failed()
	w.steer(lcm.EventRollback)
	require.Equal(t, sol.LcmOperationStateRolledBack, w.run())
	require.Empty(t, cloud.State().Since(before))
}
