package openstack_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/execution"
	"github.com/gybe-nfv/gybe/pkg/openstack"
	"github.com/gybe-nfv/gybe/pkg/script"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/sandbox"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// asks is a coordination script: it tells the endpoint what it was given, and ends as that says.
const asks = `
import json, os, pickle, sys, urllib.request
v = pickle.load(sys.stdin.buffer)
v["argv"] = sys.argv
print("asks", v["endpoint"], "with", v["password"])
with urllib.request.urlopen(urllib.request.Request(v["endpoint"], data=json.dumps(v).encode())) as answer:
    said = json.load(answer)["coordinationResult"]
print("the server says", said)
if said != "CONTINUE":
    sys.stderr.write("after a look at the cause: " + said + "\n")
    os._exit(1)
os._exit(0)
`

// runner runs scripts; the test is skipped where that is not possible.
func runner(t *testing.T, kind string) *script.Runner {
	t.Helper()
	python := sandbox.Python(t, kind == script.Bwrap)
	r, err := script.New(t.Context(), script.Options{
		Python: python, Sandbox: kind, Network: script.NetworkHost, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}

// scripted is a rolling world whose packages have scripts and whose nodes run them; each node has a runner of its own,
// which dies with it.
func scripted(t *testing.T, kind, text string) (*world, *coordinator) {
	t.Helper()
	w := newRolling(t, simcloud.StartTest(t, simcloud.Options{}))
	all := rolling(1)
	for id, name := range map[string]string{"pkg-1": "Scripts/old.py", "pkg-2": "Scripts/new.py"} {
		files, _ := all[id].files.(fstest.MapFS)
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	w.pkgs = all
	var last *script.Runner
	w.scripts = func() openstack.ScriptRunner {
		if last != nil {
			last.Close()
		}
		last = runner(t, kind)
		return last
	}
	c := newCoordinator(t, w)
	return w, c
}

const scriptPassword = "pa55-word"

// scripts are parameters that name the two scripts for these VDUs.
func (c *coordinator) scripts(vdus ...string) map[string]any {
	var list []any
	for _, v := range vdus {
		p := map[string]any{
			"cp_name": v + "_CP1", "username": "em", "password": scriptPassword, "endpoint": c.URL, "timeout": "60",
			"inputParams": map[string]any{"a": 1},
			"authentication": map[string]any{
				"authType": []any{"BASIC"}, "paramsBasic": map[string]any{"userName": "u", "password": scriptPassword},
			},
			"of_its_own": map[string]any{"n": 12345678901234567},
		}
		list = append(list, map[string]any{"vdu_id": v, "new_vnfc_param": p, "old_vnfc_param": p})
	}
	return map[string]any{
		"upgrade_type": "RollingUpdate", "vdu_params": list,
		"lcm-operation-coordinate-new-vnf": "./Scripts/new.py", "lcm-operation-coordinate-old-vnf": "./Scripts/old.py",
	}
}

// ran lists the VNFCs for which scripts were run, as about does for those that were asked about.
func (c *coordinator) ran() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, r := range c.asked {
		back := ""
		if r["is_rollback"] == true {
			back = " back"
		}
		out = append(out, fmt.Sprint(r["vnfc_info_id"])[:4]+back)
	}
	return out
}

// unseen checks that the secret is in nothing that is kept or shown.
func (w *world) unseen(secret string) {
	w.t.Helper()
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	for _, v := range []any{w.store.steps, w.store.op.Error, w.store.phases, w.store.op.Waiting, w.store.logs} {
		require.NotContains(w.t, fmt.Sprintf("%s %+v", v, v), secret)
	}
}

// TestPackageScriptIsRun: after each changed VNFC, with every member of the request and what the script needs to know
// besides.
func TestPackageScriptIsRun(t *testing.T) {
	t.Parallel()
	w, c := scripted(t, script.Bwrap, asks)
	w.cfg.PublicURL = "https://vnfm.example"
	servers := w.vnfcs("VDU2", "VDU1")
	w.upgrade(c.scripts("VDU2", "VDU1"))
	w.completed()
	require.Equal(t, []string{"VDU2", "VDU1", "VDU1"}, c.ran())
	require.Equal(
		t, []string{"m1.tiny m1.tiny m1.small", "m1.tiny m1.small m1.small", "m1.small m1.small m1.small"}, c.seen,
	)

	got := c.asked[0]
	require.Equal(t, []any{"/package/Scripts/new.py"}, got["argv"])
	require.Equal(t, false, got["is_rollback"])
	require.Equal(t, map[string]any{"n": float64(12345678901234567)}, got["of_its_own"])
	require.Equal(t, "60", got["timeout"])
	require.Equal(t, map[string]any{"a": float64(1)}, got["inputParams"])
	require.Equal(t, scriptPassword, got["password"])
	require.Equal(t, "VDU2_CP1", got["cp_name"])
	require.Contains(t, servers, got["vnfc_info_id"])
	for _, r := range w.store.instance.Inventory {
		if r.Name == "VDU2_CP1" {
			require.Equal(t, r.Addresses[0].IP, got["ssh_ip"])
		}
	}
	require.Equal(t, map[string]any{
		"vnfInstanceId": w.store.instance.ID, "vnfLcmOpOccId": w.store.op.ID, "lcmOperationType": "CHANGE_VNFPKG",
		"coordinationActionName": "change_vnfpkg",
		"_links": map[string]any{
			"vnfLcmOpOcc": map[string]any{"href": "https://vnfm.example/vnflcm/v2/vnf_lcm_op_occs/" + w.store.op.ID},
			"vnfInstance": map[string]any{
				"href": "https://vnfm.example/vnflcm/v2/vnf_instances/" + w.store.instance.ID,
			},
		},
	}, got["LcmCoordRequest"])
	inst, _ := got["inst"].(map[string]any)
	require.Equal(t, w.store.instance.ID, inst["id"])
	require.Equal(t, "vnfd-1", inst["vnfdId"], "it has the new one when the operation has completed")
	require.Contains(t, fmt.Sprint(inst["instantiatedVnfInfo"]), fmt.Sprint(got["vnfc_info_id"]))
	require.NotContains(t, inst, "vimConnectionInfo")
	require.NotContains(t, fmt.Sprint(inst), simcloud.Password)

	step := w.store.step(t, "coordinate")
	require.Equal(t, "script ./Scripts/new.py for VDU1-0 has succeeded: the server says CONTINUE", step.Detail)
	require.Equal(t, "asks "+c.URL+" with ***\nthe server says CONTINUE\n", w.store.logOf(step.ID))
	w.unseen(scriptPassword)
}

// TestPackageScriptOfAVNFCThatStays: the script of a VNFC also runs if the package does not change the VNFC.
func TestPackageScriptOfAVNFCThatStays(t *testing.T) {
	t.Parallel()
	w, c := scripted(t, script.None, asks)
	all := rolling(1)
	next := all["pkg-1"]
	model := *next.model
	model.ID, model.Version = "vnfd-2", "2.0"
	next.model = &model
	files, _ := next.files.(fstest.MapFS)
	files["Scripts/new.py"] = &fstest.MapFile{Data: []byte(asks)}
	all["pkg-2"] = next
	w.pkgs = all
	w.upgrade(c.scripts("VDU1"))
	w.store.op.Scope.Counts = map[string]int{"VDU1": 2, "VDU2": 1, "VDU3": 1}
	w.completed()
	require.Equal(t, []string{"VDU1", "VDU1"}, c.ran())
}

// TestPackageScriptFails: the script's words are the operation's; a retry runs it again for that VNFC and for no other
// that is done.
func TestPackageScriptFails(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		script, detail, hint string
		runs                 []string
	}{
		"and says why": {
			asks, "after the change of VDU1-1 of VDU1-", "retry the operation to run the script again",
			[]string{"VDU2", "VDU1", "VDU1", "VDU1"},
		},
		"with a secret": {
			"import pickle, sys\nv = pickle.load(sys.stdin.buffer)\n" +
				"sys.exit('cannot log in as %(username)s with %(password)s' % v)",
			"cannot log in as em with ***", "roll it back", nil,
		},
		"for want of another VNFM": {
			"from tacker.db import x", "the script imports tacker.db, which is not available here",
			"change the script so that it does without tacker.db", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, c := scripted(t, script.Bwrap, tt.script)
			c.answer = func(n int, rw http.ResponseWriter, r *http.Request) {
				says(map[bool]string{true: "ABORT", false: "CONTINUE"}[n == 2])(n, rw, r)
			}
			w.upgrade(c.scripts("VDU2", "VDU1"))
			f := w.failed()
			require.Equal(t, "Coordination failed", f.Title)
			require.Equal(t, http.StatusBadGateway, f.Status)
			require.Contains(t, f.Detail, tt.detail)
			require.Contains(t, f.Detail, "the script Scripts/new.py ended with exit status 1: ")
			require.Contains(t, f.Hint, tt.hint)
			require.Equal(t, lcm.StepFailed, w.store.step(t, "coordinate").State)
			w.unseen(scriptPassword)
			if tt.runs == nil {
				return
			}
			require.Contains(t, f.Detail, "after a look at the cause: ABORT")
			w.steer(lcm.EventRetry)
			w.completed()
			require.Equal(t, tt.runs, c.ran())
			require.Contains(t, fmt.Sprint(w.store.logs), "the script ./Scripts/new.py for VDU1-1 is started again\n")
		})
	}
}

// TestPackageScriptOfARollback: the former package's script is run for each VNFC that goes back, in the opposite order.
func TestPackageScriptOfARollback(t *testing.T) {
	t.Parallel()
	w, c := scripted(t, script.Bwrap, asks)
	before := copied(w.store.instance)
	c.answer = func(n int, rw http.ResponseWriter, r *http.Request) {
		says(map[bool]string{true: "ABORT", false: "CONTINUE"}[n == 2])(n, rw, r)
	}
	w.upgrade(c.scripts("VDU2", "VDU1"))
	w.failed()
	w.steer(lcm.EventRollback)
	require.Equal(t, sol.LcmOperationStateRolledBack, w.run(), "%+v", w.store.op.Error)
	require.Equal(t, []string{"VDU2", "VDU1", "VDU1 back", "VDU2 back"}, c.ran())
	require.Equal(t, []any{"/package/Scripts/old.py"}, c.asked[2]["argv"])
	require.Equal(t, "m1.tiny m1.tiny m1.tiny", w.flavours())
	w.asBefore(before)
}

// TestPackageScriptTakesItsTime: what the script waits for is to be seen; it may outlast ticks, but not its own time.
func TestPackageScriptTakesItsTime(t *testing.T) {
	t.Parallel()
	t.Run("and ends", func(t *testing.T) {
		t.Parallel()
		w, c := scripted(t, script.Bwrap, asks)
		w.retry.TickBudget = 300 * time.Millisecond
		var seen atomic.Value
		c.answer = func(n int, rw http.ResponseWriter, r *http.Request) {
			require.Eventually(t, func() bool {
				w.store.mu.Lock()
				defer w.store.mu.Unlock()
				seen.Store(w.store.op.Waiting)
				return strings.HasPrefix(w.store.op.Waiting, "script ./Scripts/new.py for VDU2-0: asks http") &&
					w.store.op.Epoch > 5
			}, time.Minute, 10*time.Millisecond)
			says("CONTINUE")(n, rw, r)
		}
		w.upgrade(c.scripts("VDU2"))
		w.completed()
		require.Equal(t, "script ./Scripts/new.py for VDU2-0: asks "+c.URL+" with ***", seen.Load())
		require.Len(t, c.asked, 1)
	})
	t.Run("and does not end", func(t *testing.T) {
		t.Parallel()
		w, c := scripted(t, script.Bwrap, asks)
		gone := make(chan struct{}, 1)
		c.answer = func(n int, rw http.ResponseWriter, r *http.Request) {
			if n > 1 {
				says("CONTINUE")(n, rw, r)
				return
			}
			<-r.Context().Done()
			gone <- struct{}{}
		}
		params := c.scripts("VDU2")
		param(params)["timeout"] = 15 // long enough for the retry on a busy machine
		w.upgrade(params)
		f := w.failed()
		require.Equal(t, http.StatusGatewayTimeout, f.Status)
		require.Contains(t, f.Detail, "the script Scripts/new.py has not ended within 15s: asks http")
		<-gone
		w.steer(lcm.EventRetry)
		w.completed()
	})
}

// TestPackageScriptIsCancelled: forcefully it is killed, gracefully its end is waited for, and a retry does not run it
// again.
func TestPackageScriptIsCancelled(t *testing.T) {
	t.Parallel()
	for _, mode := range []sol.CancelModeType{sol.CancelModeForceful, sol.CancelModeGraceful} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w, c := scripted(t, script.Bwrap, asks)
			gone := make(chan struct{}, 1)
			c.answer = func(n int, rw http.ResponseWriter, r *http.Request) {
				if n == 1 {
					w.store.mu.Lock()
					w.store.op.Cancel = mode
					w.store.op.Epoch++
					w.store.mu.Unlock()
					if mode == sol.CancelModeForceful {
						<-r.Context().Done()
						gone <- struct{}{}
						return
					}
					require.Eventually(t, func() bool {
						w.store.mu.Lock()
						defer w.store.mu.Unlock()
						return strings.HasPrefix(
							w.store.op.Waiting, "a script of the package is still running: Scripts/new.py",
						)
					}, time.Minute, 10*time.Millisecond)
				}
				says("CONTINUE")(n, rw, r)
			}
			w.upgrade(c.scripts("VDU2"))
			d, node := w.node()
			defer d.Close()
			for lcm.Running(w.store.op.State) { // a tick ends when the operation is cancelled
				w.turns(nil, node)
			}
			require.Equal(t, sol.LcmOperationStateFailedTemp, w.store.op.State)
			require.Contains(t, w.store.op.Error.Detail, "Cancelled by the user")
			want := []string{"VDU2"}
			if mode == sol.CancelModeForceful {
				<-gone
				want = append(want, "VDU2")
			}
			w.steer(lcm.EventRetry)
			w.turns(nil, node)
			require.Equal(t, sol.LcmOperationStateCompleted, w.store.op.State, "%+v", w.store.op.Error)
			require.Equal(t, want, c.ran())
		})
	}
}

// TestPackageScriptOfADeadNode: the script dies with its node, and another node runs it again.
func TestPackageScriptOfADeadNode(t *testing.T) {
	t.Parallel()
	w, c := scripted(t, script.Bwrap, asks)
	gone := make(chan struct{}, 1)
	c.answer = func(n int, rw http.ResponseWriter, r *http.Request) {
		if n == 1 {
			w.store.kill()
			<-r.Context().Done()
			gone <- struct{}{}
			return
		}
		says("CONTINUE")(n, rw, r)
	}
	w.upgrade(c.scripts("VDU2"))
	w.completed()
	<-gone
	require.Equal(t, 1, w.deaths)
	require.Equal(t, []string{"VDU2", "VDU2"}, c.ran())
	require.Contains(
		t, w.store.logOf(w.store.step(t, "coordinate").ID), "the script ./Scripts/new.py for VDU2-0 is started again\n",
	)
}

// TestPackageScriptAmongNodes: a script runs once, whichever node gets the next tick, as long as its own node lives.
func TestPackageScriptAmongNodes(t *testing.T) {
	t.Parallel()
	for _, dies := range []bool{false, true} {
		t.Run(fmt.Sprintf("its node dies %t", dies), func(t *testing.T) {
			t.Parallel()
			w, c := scripted(t, script.None, asks)
			w.retry.TickBudget, w.retry.InlineWait = 100*time.Millisecond, time.Millisecond
			var dead atomic.Bool
			w.cfg.NodeAlive = func(_ context.Context, node string) bool { return node != "a" || !dead.Load() }
			runners := map[string]*script.Runner{}
			nodes := map[string]*execution.Runner{}
			w.scripts = nil
			for _, name := range []string{"a", "b"} {
				runners[name] = runner(t, script.None)
				w.cfg.Scripts = runners[name]
				d, r := w.named(name)
				defer d.Close()
				nodes[name] = r
			}
			asked, told := make(chan struct{}), make(chan struct{})
			tell := sync.OnceFunc(func() { close(told) })
			defer tell() // the server ends when its requests have ended
			c.answer = func(n int, rw http.ResponseWriter, r *http.Request) {
				if n == 1 {
					close(asked)
					<-told
				}
				says("CONTINUE")(n, rw, r)
			}
			w.upgrade(c.scripts("VDU2"))
			w.turns(func() bool { return len(c.ran()) == 1 }, nodes["a"])
			<-asked
			// A tick on a busy machine can end before it reaches the script.
			w.turns(func() bool {
				return strings.Contains(w.store.op.Waiting, "node a runs the script ./Scripts/new.py for VDU2-0")
			}, nodes["b"])
			if dies {
				dead.Store(true)
				tell()
				runners["a"].Close()
				w.turns(nil, nodes["b"])
				require.Equal(t, []string{"VDU2", "VDU2"}, c.ran())
			} else {
				ticks := 0
				w.turns(func() bool { ticks++; return ticks == 10 }, nodes["a"], nodes["b"])
				tell()
				w.turns(nil, nodes["a"], nodes["b"])
				require.Equal(t, []string{"VDU2"}, c.ran())
			}
			require.Equal(t, sol.LcmOperationStateCompleted, w.store.op.State, "%+v", w.store.op.Error)
		})
	}
}

// TestPackageScriptWithDeaths: at whatever write a node dies, the upgrade completes, and every script is run.
func TestPackageScriptWithDeaths(t *testing.T) {
	if testing.Short() {
		t.Skip("tens of upgrades")
	}
	t.Parallel()
	for n := 1; ; n++ {
		w, c := scripted(t, script.None, asks)
		w.upgrade(c.scripts("VDU2"))
		w.store.dieAt = n
		w.completed()
		ran := c.ran()
		require.NotEmpty(t, ran)
		require.LessOrEqual(t, len(ran), 2, "a death costs one repetition")
		if w.deaths == 0 {
			require.Greater(t, n, 5)
			return
		}
	}
}

// TestPackageScriptOnANodeWithoutThem: a node that was set otherwise says so instead of going on without the script.
func TestPackageScriptOnANodeWithoutThem(t *testing.T) {
	t.Parallel()
	w, c := scripted(t, script.None, "pass")
	scripts := w.scripts
	w.scripts = nil
	params := c.scripts("VDU2")
	delete(param(params), "endpoint")
	w.upgrade(params)
	f := w.failed()
	require.Contains(t, f.Detail, "this node runs no scripts of packages")
	require.Contains(t, f.Hint, "scripts.python")
	require.Empty(t, c.ran())
	w.scripts = scripts
	w.steer(lcm.EventRollback)
	require.Equal(t, sol.LcmOperationStateRolledBack, w.run(), "%+v", w.store.op.Error)
}

// meddler lets something happen when a script has just been started.
type meddler struct {
	*script.Runner
	then func()
}

// StartJob implements openstack.ScriptRunner.
func (m meddler) StartJob(ctx context.Context, key string, j script.Job) error {
	err := m.Runner.StartJob(ctx, key, j)
	m.then()
	return err
}

// TestPackageScriptIsCancelledAsItStarts: a script that starts during a cancel does not continue.
func TestPackageScriptIsCancelledAsItStarts(t *testing.T) {
	t.Parallel()
	w, c := scripted(t, script.Bwrap, "import time; time.sleep(1000)")
	r := runner(t, script.Bwrap)
	w.scripts = func() openstack.ScriptRunner {
		return meddler{r, func() {
			w.store.mu.Lock()
			defer w.store.mu.Unlock()
			w.store.op.Cancel = sol.CancelModeForceful
			w.store.op.Epoch++
		}}
	}
	d, node := w.node()
	defer d.Close()
	w.upgrade(c.scripts("VDU2"))
	for w.store.op.Cancel == "" {
		_, _, err := node.Advance(t.Context(), w.store.op.ID)
		require.NoError(t, err)
	}
	require.Empty(t, r.Running(""))
	for lcm.Running(w.store.op.State) {
		w.turns(nil, node)
	}
	require.Contains(t, w.store.op.Error.Detail, "Cancelled by the user")
}
