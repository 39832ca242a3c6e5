package k8scluster_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/k8scluster"
	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/execution"
	"github.com/gybe-nfv/gybe/pkg/mgmt"
	"github.com/gybe-nfv/gybe/pkg/remote"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

func vim1() map[string]sol.VimConnectionInfo {
	return map[string]sol.VimConnectionInfo{
		"vim1": {VimID: "d82ee798-a1d2-4854-8f74-4892ad706751", VimType: "ETSINFV.OPENSTACK_KEYSTONE.V_3"},
	}
}

// complexRuns is every run of the script that a cluster of flavour complex takes.
var complexRuns = []string{
	"master11 init", "master11 prepare", "master12 join", "master12 prepare", "master13 join", "master13 prepare",
	"worker21 join", "worker21 prepare", "worker22 join", "worker22 prepare",
}

// runs lists the runs of the script without those that only make tokens.
func (c *cloud) runs() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := slices.DeleteFunc(slices.Clone(c.ran), func(s string) bool { return strings.HasSuffix(s, " tokens") })
	slices.Sort(out)
	return out
}

// built checks everything that a finished cluster of flavour complex leaves behind.
func (c *cloud) built(t *testing.T, s *store) {
	t.Helper()
	require.Equal(t, sol.LcmOperationStateCompleted, s.op.State, "%+v", s.op.Error)
	for step, state := range s.stepStates() {
		require.Equal(t, lcm.StepDone, state, step)
	}
	require.Len(t, c.nodes, 5)
	for n := range 3 {
		require.Equal(
			t, map[string]string{"CIS-node": fmt.Sprintf("compute%d", n)}, c.labels[fmt.Sprintf("master%d", 11+n)],
		)
	}
	access := kubernetes.Access{Endpoint: "https://172.24.4.100:16443", CA: c.ca, Token: "service-account-token"}
	require.Len(t, s.vims, 1)
	vim := s.vims[k8scluster.VimID(instanceID)]
	require.Equal(t, instanceID, vim.Owner)
	got, err := kubernetes.FromVim(vim.Connection)
	require.NoError(t, err)
	require.Equal(t, access, got)
	i := s.instance(t)
	require.Len(t, i.VimConnections, 2)
	conn, ok := i.VimConnections["kubernetes_vim_"+instanceID]
	require.True(t, ok)
	require.Equal(t, vim.ID, conn.VimID)
	key, primary, ok := lcm.PrimaryVim(i.VimConnections)
	require.True(t, ok)
	require.Equal(t, "vim1", key, "the machines' own VIM must stay the one that operations use")
	require.Equal(t, "d82ee798-a1d2-4854-8f74-4892ad706751", primary.VimID)
	for _, m := range c.machines {
		require.Empty(t, m.jobs, "files are left on %s", m.vnfc)
	}
	require.NotContains(t, s.allLogs(), "0123456789abcdef")
	require.NotContains(t, s.allLogs(), "00ff")
}

// A cluster takes as long as its critical path: prepare, initialise, two masters that join one after the other.
func TestComplexClusterTakesItsCriticalPath(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, sol.LcmOperationInstantiate, paramFile(t, "complex"), c.instance(3, 2))
		began := time.Now()
		advance(t, s, c.driver, execution.Tuning{})
		c.built(t, s)
		require.Equal(t, complexRuns, c.runs())
		require.Less(t, time.Since(began), 70*time.Second*105/100)
		require.Contains(t, s.allLogs(),
			"prepare node workerNode-00000021-0000-4000-8000-000000000000: install_k8s_cluster: prepare on worker21")
		require.Contains(t, s.allLogs(), "worker21: no network yet")
	})
}

// Fifty nodes are not labelled one after the other.
func TestNodesAreLabelledAtTheSameTime(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.crowd = &crowd{want: 5, full: make(chan struct{})}
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, sol.LcmOperationInstantiate, paramFile(t, "complex"), c.instance(3, 2))
		advance(t, s, c.driver, execution.Tuning{})
		c.built(t, s)
	})
	require.False(t, c.crowd.tired.Load())
}

func TestSimpleClusterIsReachedAtItsMaster(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, sol.LcmOperationInstantiate, paramFile(t, "simple"), c.instance(1, 2))
		var job remote.Job
		c.took["init"] = time.Hour
		go func() {
			time.Sleep(40 * time.Second) //nolint:forbidigo // time is simulated
			c.mu.Lock()
			defer c.mu.Unlock()
			for _, j := range c.machine("masterNode11").jobs {
				if j.Env["GYBE_PHASE"] == "init" {
					job, j.ends = j.Job, time.Now()
				}
			}
		}()
		advance(t, s, c.driver, execution.Tuning{})
		require.Equal(t, sol.LcmOperationStateCompleted, s.op.State, "%+v", s.op.Error)
		conn := s.instance(t).VimConnections["kubernetes_vim"]
		require.Equal(t, "https://172.24.4.11:6443", conn.InterfaceInfo["endpoint"])
		require.Equal(
			t, "'bash' './install.sh' '-i' '10.10.0.11' '-m' '10.10.0.11' '-p' '10.200.0.0/16' '-a' '10.96.0.0/12'",
			job.Command,
		)
		require.Equal(t, "False", job.Env["ha_flag"])
		require.Equal(t, "172.24.4.11", job.Env["EXTRA_CERT_SANS"])
		require.Equal(t, "10.10.0.11 master11,10.10.0.21 worker21,10.10.0.22 worker22", job.Env["CLUSTER_HOSTS"])
	})
}

// A node may be killed between any two of its writes. Another must finish the cluster, and no machine may be worked on
// twice.
func TestClusterIsFinishedWhereverANodeDies(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	total := 0
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, sol.LcmOperationInstantiate, paramFile(t, "complex"), c.instance(3, 2))
		advance(t, s, c.driver, execution.Tuning{})
		total = s.writes
	})
	require.Greater(t, total, 40)
	for at := 1; at <= total; at++ {
		c := newCloud(t)
		synctest.Test(t, func(t *testing.T) {
			s := newStore(t, sol.LcmOperationInstantiate, paramFile(t, "complex"), c.instance(3, 2))
			s.dieAt = at
			began := time.Now()
			advance(t, s, c.driver, execution.Tuning{})
			c.built(t, s)
			require.Equal(t, complexRuns, c.runs(), "death at write %d", at)
			require.Less(t, time.Since(began), 75*time.Second, "death at write %d", at)
		})
		c.api.Close()
	}
}

// A tick is short; the work on the nodes is not.
func TestClusterIsBuiltInManyTicks(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, sol.LcmOperationInstantiate, paramFile(t, "complex"), c.instance(3, 2))
		began := time.Now()
		advance(t, s, c.driver, execution.Tuning{TickBudget: 3 * time.Second})
		c.built(t, s)
		require.Equal(t, complexRuns, c.runs())
		require.Less(t, time.Since(began), 75*time.Second)
		require.Equal(t, 1, strings.Count(s.allLogs(), "init on master11"), "a tick must not repeat lines")
	})
}

func TestWorkGoesOnOverBadConnections(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		spoil func(c *cloud)
		runs  []string // beyond the usual ones
		log   string
	}{
		{
			name: "connections are cut",
			spoil: func(c *cloud) {
				c.machine("masterNode11").cut["init"] = 3
				c.machine("workerNode22").cut["prepare"] = 2
			},
			log: "connection reset by peer",
		},
		{
			name:  "a machine reboots while the script runs",
			spoil: func(c *cloud) { c.machine("workerNode21").reboots["prepare"] = 1 },
			runs:  []string{"worker21 prepare"},
			log:   "starting it again",
		},
		{
			name:  "a script is killed",
			spoil: func(c *cloud) { c.machine("masterNode11").failing["init"] = 137 },
			runs:  []string{"master11 init"},
			log:   "starting it again",
		},
		{
			name: "machines take their time to boot",
			spoil: func(c *cloud) {
				up := time.Now().Add(3 * time.Minute)
				c.machine("masterNode12").refuse = func() error {
					if time.Now().Before(up) {
						return &remote.Error{
							Kind: remote.KindRefused, Op: "connect", Err: errors.New("connection refused"),
						}
					}
					return nil
				}
			},
			log: "waits for SSH on ubuntu@172.24.4.12:2222: connection refused",
		},
		{
			name: "the password is set some time after sshd has started",
			spoil: func(c *cloud) {
				up := time.Now().Add(50 * time.Second)
				c.machine("workerNode22").refuse = func() error {
					if time.Now().Before(up) {
						return &remote.Error{
							Kind: remote.KindAuth, Op: "connect", Err: errors.New("unable to authenticate"),
						}
					}
					return nil
				}
			},
			log: "waits for SSH on ubuntu@172.24.4.22:2222: unable to authenticate",
		},
		{
			name:  "a mirror fails once",
			spoil: func(c *cloud) { c.machine("masterNode13").failing["prepare"] = 75 },
			runs:  []string{"master13 prepare"},
		},
		{
			name:  "the cluster's address does not lead here",
			spoil: func(c *cloud) { c.direct = false },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newCloud(t)
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t, sol.LcmOperationInstantiate, paramFile(t, "complex"), c.instance(3, 2))
				tt.spoil(c)
				advance(t, s, c.driver, execution.Tuning{})
				c.built(t, s)
				want := append(slices.Clone(complexRuns), tt.runs...)
				slices.Sort(want)
				require.Equal(t, want, c.runs())
				require.Contains(t, s.allLogs(), tt.log)
				require.Equal(t, !c.direct, c.tunnels > 0)
			})
		})
	}
}

// What cannot get better by itself ends the operation soon, and says where, why, and what to do.
func TestFailuresAreExplained(t *testing.T) {
	t.Parallel()
	refuse := func(kind remote.Kind, err error) func() error {
		return func() error {
			return &remote.Error{Kind: kind, Op: "connect", Target: "ubuntu@172.24.4.22:2222", Err: err}
		}
	}
	tests := []struct {
		name   string
		spoil  func(c *cloud)
		within time.Duration
		detail []string
		hint   string
	}{
		{
			name:   "script",
			spoil:  func(c *cloud) { c.machine("workerNode22").failing["prepare"] = 1 },
			within: time.Minute,
			detail: []string{
				"prepare node worker22 of VNFC workerNode-00000022",
				"install_k8s_cluster: error: prepare: the mirror is on fire (exit status 1)",
			},
			hint: "retry the operation",
		},
		{
			name: "password",
			spoil: func(c *cloud) {
				c.machine("workerNode22").refuse = refuse(remote.KindAuth, errors.New("unable to authenticate"))
			},
			within: 3 * time.Minute,
			detail: []string{"worker22", "unable to authenticate"},
			hint:   "username, password or private_key",
		},
		{
			name: "host key",
			spoil: func(c *cloud) {
				c.machine("workerNode22").refuse = refuse(
					remote.KindHostKey, &remote.HostKeyError{VNFC: "v", Pinned: "SHA256:old", Seen: "SHA256:new"},
				)
			},
			within: time.Minute,
			detail: []string{"worker22", "SHA256:old", "SHA256:new"},
			hint:   "ssh-hosts INSTANCE --forget ",
		},
		{
			name: "machine that never boots",
			spoil: func(c *cloud) {
				c.machine("masterNode11").refuse = refuse(remote.KindTimeout, errors.New("i/o timeout"))
			},
			within: 12 * time.Minute,
			detail: []string{"master11", "i/o timeout"},
			hint:   "security groups",
		},
		{
			name:   "node that does not become Ready",
			spoil:  func(c *cloud) { c.stuck = "worker21" },
			within: 18 * time.Minute,
			detail: []string{"only 4 of 5 nodes are Ready; worker21: no network yet"},
			hint:   "kubectl describe node",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newCloud(t)
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t, sol.LcmOperationInstantiate, paramFile(t, "complex"), c.instance(3, 2))
				tt.spoil(c)
				began := time.Now()
				advance(t, s, c.driver, execution.Tuning{})
				require.Equal(t, sol.LcmOperationStateFailedTemp, s.op.State)
				require.LessOrEqual(t, time.Since(began), tt.within)
				for _, d := range tt.detail {
					require.Contains(t, s.op.Error.Detail, d)
				}
				require.Contains(t, s.op.Error.Hint, tt.hint)
				require.NotContains(t, s.op.Error.Detail, "0123456789abcdef")
				require.Empty(t, s.vims)
			})
		})
	}
}

// After the cause is gone, a retry goes on: what was done stays done.
func TestRetryGoesOnWhereItFailed(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, sol.LcmOperationInstantiate, paramFile(t, "complex"), c.instance(3, 2))
		c.machine("masterNode12").failing["join"] = 1
		advance(t, s, c.driver, execution.Tuning{})
		require.Equal(t, sol.LcmOperationStateFailedTemp, s.op.State)
		s.op.State, s.op.FailedIn = sol.LcmOperationStateProcessing, sol.LcmOperationStateProcessing
		advance(t, s, c.driver, execution.Tuning{})
		c.built(t, s)
		want := append(slices.Clone(complexRuns), "master12 join")
		slices.Sort(want)
		require.Equal(t, want, c.runs())
	})
}

func TestTerminateForgetsTheCluster(t *testing.T) {
	t.Parallel()
	i := &lcm.Instance{
		ID: instanceID, VimConnections: vim1(), Instantiated: &sol.InstantiatedVnfInfo{FlavourID: "complex"},
	}
	s := newStore(t, sol.LcmOperationTerminate, []byte(`{"terminationType":"FORCEFUL"}`), i)
	s.vims[k8scluster.VimID(instanceID)] = lcm.Vim{ID: k8scluster.VimID(instanceID)}
	s.vims["other"] = lcm.Vim{ID: "other"}
	advance(t, s, func() *k8scluster.Driver { return k8scluster.New(k8scluster.Options{}) }, execution.Tuning{})
	require.Equal(t, sol.LcmOperationStateCompleted, s.op.State, "%+v", s.op.Error)
	require.Equal(t, map[string]lcm.Vim{"other": {ID: "other"}}, s.vims)
}

// A package that names the driver at a hook which needs a cluster's protection, and one that names it nowhere else, get
// what they ask for.
func TestHooksThatTheDriverHandles(t *testing.T) {
	t.Parallel()
	drivers, impl := mgmt.Registry{k8scluster.Name: k8scluster.New(k8scluster.Options{})}, vnfd.Implementation{
		Name: k8scluster.Name,
	}

	_, _, err := lcm.FindHandler(drivers, impl, lcm.HookOperateStart)
	require.Equal(t, lcm.CodeUnprocessable, lcm.AsError(err).Code)
	require.EqualError(t, err, "the mgmt driver mgmt-drivers-kubernetes does nothing at operate_start yet")

	_, h, err := lcm.FindHandler(drivers, impl, lcm.HookTerminateStart)
	require.NoError(t, err, "packages for other VNFMs name this hook")
	require.Nil(t, h.Run)

	f := &vnfd.Flavour{LCM: map[string]vnfd.Implementation{string(lcm.HookInstantiateEnd): impl}}
	_, ok := lcm.FindHook(drivers, f, lcm.HookHealStart)
	require.True(t, ok, "a heal must not take machines from under the nodes")
	_, ok = lcm.FindHook(drivers, f, lcm.HookChangeVnfpkgEnd)
	require.False(t, ok, "only a package that asks for it is upgraded")
}
