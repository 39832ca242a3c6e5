package store_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/store"
)

func BenchmarkAdmit(b *testing.B) {
	s := setup(b)
	s.raw = true
	i := s.newInstance(b)
	for b.Loop() {
		b.StopTimer()
		_, err := s.pool.Exec(b.Context(), "UPDATE vnf_lcm_op_occ SET state = 'COMPLETED' WHERE state = 'STARTING'")
		require.NoError(b, err)
		op := newOperation(i.ID)
		b.StartTimer()
		if err := s.Admit(b.Context(), op, []lcm.Message{message(i.ID, op.ID)}, ok); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkClaimAndCommitTick(b *testing.B) {
	s := setup(b)
	i, op := s.admit(b)
	for b.Loop() {
		c, err := s.Claim(b.Context(), op.ID, "n")
		if err != nil {
			b.Fatal(err)
		}
		c.Op.Waiting = c.Op.Updated.String()
		rec := lcm.PhaseRecord{Name: "infra", State: lcm.PhaseWaiting, Started: c.Op.Started, Detail: c.Op.Waiting}
		cl := lcm.Claim{OperationID: op.ID, InstanceID: i.ID, Epoch: c.Op.Epoch}
		if err := s.CommitTick(
			b.Context(), cl, lcm.Tick{Op: c.Op, Instance: c.Instance, Phases: []lcm.PhaseRecord{rec}},
		); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStep(b *testing.B) {
	s := setup(b)
	_, op := s.admit(b)
	_, cl := s.claim(b, op.ID, "n")
	for b.Loop() {
		rec, err := s.BeginStep(b.Context(), cl, "p", "step", op.ID)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.EndStep(b.Context(), cl, rec.ID, lcm.StepFailed, "", nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEvents(b *testing.B) {
	s := setup(b)
	for range 250 { // each with its package
		s.newInstance(b)
	}
	for b.Loop() {
		list, err := s.Events(b.Context(), store.EventQuery{Limit: 500})
		if err != nil || len(list) != 500 {
			b.Fatal(len(list), err)
		}
	}
}

func BenchmarkGetInstance(b *testing.B) {
	s := setup(b)
	i, op := s.admit(b)
	c, cl := s.claim(b, op.ID, "n")
	c.Instance.Instantiated = &sol.InstantiatedVnfInfo{
		FlavourID: "complex", VnfcResourceInfo: make([]sol.VnfcResourceInfo, 5),
	}
	require.NoError(b, s.CommitTick(b.Context(), cl, lcm.Tick{Op: c.Op, Instance: c.Instance}))
	for b.Loop() {
		if _, err := s.Instance(b.Context(), i.ID); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkList100(b *testing.B) {
	s := setup(b)
	for range 100 {
		s.newInstance(b)
	}
	for name, q := range map[string]lcm.Query{"full": {Limit: 100}, "brief": {Limit: 100, Brief: true}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				list, err := s.Instances(b.Context(), q)
				if err != nil || len(list) != 100 {
					b.Fatal(len(list), err)
				}
			}
		})
	}
}

// large makes an instance of 50 VNFCs with three resources each.
func (b *bundle) large(tb testing.TB) *lcm.Instance {
	tb.Helper()
	i := b.newInstance(tb)
	i.Instantiated = &sol.InstantiatedVnfInfo{FlavourID: "complex"}
	for n := range 50 {
		id := fmt.Sprintf("ea9875b6-ff85-4d36-a559-%012d", n)
		handle := sol.ResourceHandle{VimConnectionID: "vim1", ResourceID: id, VimLevelResourceType: "OS::Nova::Server"}
		i.Instantiated.VnfcInfo = append(
			i.Instantiated.VnfcInfo, sol.VnfcInfo{ID: "workerNode-" + id, VduID: "workerNode", VnfcResourceInfoID: id},
		)
		i.Instantiated.VnfcResourceInfo = append(i.Instantiated.VnfcResourceInfo, sol.VnfcResourceInfo{
			ID: id, VduID: "workerNode", ComputeResource: handle,
			Metadata: sol.KeyValuePairs{"stack_id": "vnf-" + i.ID + "-workerNode-1-abcdefghijkl/" + id},
		})
		for _, t := range []string{"OS::Nova::Server", "OS::Neutron::Port", "OS::Cinder::Volume"} {
			i.Inventory = append(i.Inventory, lcm.Resource{
				Name: "workerNode", Type: t, ID: id, VNFC: "workerNode-" + id, VDU: "workerNode", Index: n,
			})
		}
	}
	require.NoError(tb, b.UpdateInstance(tb.Context(), i.ID, func(locked *lcm.Instance) ([]string, error) {
		locked.Instantiated, locked.Inventory = i.Instantiated, i.Inventory
		return nil, nil
	}))
	return i
}

// BenchmarkBefore shows what keeping the instance from before costs an operation on 50 VNFCs: at its admission, and at
// every tick. It is 52 kB; a shared machine of two cores needs 1 ms more for the admission and 2 ms more for a tick
// that reads it.
func BenchmarkBefore(b *testing.B) {
	s := setup(b)
	s.raw = true
	i := s.large(b)
	end := func(b *testing.B) {
		b.Helper()
		_, err := s.pool.Exec(b.Context(), "UPDATE vnf_lcm_op_occ SET state = 'COMPLETED'")
		require.NoError(b, err)
	}
	admit := func(b *testing.B, keep bool) *lcm.Operation {
		b.Helper()
		op := newOperation(i.ID)
		require.NoError(b, s.Admit(b.Context(), op, nil, func(locked *lcm.Instance) error {
			if keep {
				before := *locked
				op.Before = &before
			}
			return nil
		}))
		return op
	}
	for _, keep := range []bool{false, true} {
		b.Run(fmt.Sprintf("admit/before=%t", keep), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				end(b)
				b.StartTimer()
				admit(b, keep)
			}
		})
		b.Run(fmt.Sprintf("tick/before=%t", keep), func(b *testing.B) {
			end(b)
			op := admit(b, keep)
			for b.Loop() {
				c, err := s.Claim(b.Context(), op.ID, "n")
				if err != nil {
					b.Fatal(err)
				}
				c.Op.Waiting = c.Op.Updated.String()
				if err := s.CommitTick(b.Context(), lcm.Claim{OperationID: op.ID, InstanceID: i.ID, Epoch: c.Op.Epoch},
					lcm.Tick{Op: c.Op, Instance: c.Instance}); err != nil {
					b.Fatal(err)
				}
			}
			var size int
			require.NoError(
				b,
				s.pool.QueryRow(b.Context(), "SELECT coalesce(length(before), 0) FROM vnf_lcm_op_occ WHERE id = $1",
					op.ID).Scan(&size),
			)
			b.ReportMetric(float64(size), "bytes")
		})
	}
}

// BenchmarkQuota measures an added instance and an admission in a project with many of both, with and without quotas:
// the CPU of this process and of PostgreSQL.
func BenchmarkQuota(b *testing.B) {
	const instances, operations = 5000, 1000
	s := setup(b)
	s.raw = true
	first := s.newInstance(b)
	another := func() *lcm.Instance {
		i := *first
		i.ID = uuid.NewString()
		return &i
	}
	for n := range instances {
		i := another()
		require.NoError(b, s.InsertInstance(b.Context(), i, nil))
		if n < operations {
			require.NoError(b, s.Admit(b.Context(), newOperation(i.ID), nil, ok))
		}
	}
	_, err := s.pool.Exec(b.Context(), "VACUUM ANALYZE vnf_instance, vnf_lcm_op_occ")
	require.NoError(b, err)
	for range 2 {
		for _, quota := range []lcm.ProjectQuota{{}, {Instances: 3 * instances, Operations: 3 * operations}} {
			s.Limit(func(string) lcm.ProjectQuota { return quota })
			name := "without"
			if quota.Instances > 0 {
				name = "with"
			}
			b.Run("instance/"+name, func(b *testing.B) {
				began := s.cpuTime(b)
				for b.Loop() {
					require.NoError(b, s.InsertInstance(b.Context(), another(), nil))
				}
				b.ReportMetric(float64(s.cpuTime(b)-began)/1e6/float64(b.N), "cpu-ms/op")
			})
			b.Run("operation/"+name, func(b *testing.B) {
				i := another()
				require.NoError(b, s.InsertInstance(b.Context(), i, nil))
				began := s.cpuTime(b)
				for b.Loop() {
					op := newOperation(i.ID)
					require.NoError(b, s.Admit(b.Context(), op, []lcm.Message{message(i.ID, op.ID)}, ok))
					_, err := s.pool.Exec(
						b.Context(), "UPDATE vnf_lcm_op_occ SET state = 'COMPLETED' WHERE id = $1", op.ID,
					)
					require.NoError(b, err)
				}
				b.ReportMetric(float64(s.cpuTime(b)-began)/1e6/float64(b.N), "cpu-ms/op")
			})
		}
	}
}

// cpuTime is the CPU time of this process and of the connections to PostgreSQL, in steps of 10 ms.
func (b *bundle) cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	require.NoError(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	sum := time.Duration(u.Utime.Nano() + u.Stime.Nano())
	rows, err := b.pool.Query(tb.Context(), "SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
	require.NoError(tb, err)
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	require.NoError(tb, err)
	for _, pid := range pids {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		require.NoError(tb, err)
		_, rest, _ := strings.Cut(string(raw), ") ")
		fields := strings.Fields(rest)
		for _, f := range fields[11:13] { // utime and stime in ticks
			ticks, err := strconv.Atoi(f)
			require.NoError(tb, err)
			sum += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return sum
}

// BenchmarkReadValues reads and writes instances whose attributes have few values, or as many as the limits allow.
func BenchmarkReadValues(b *testing.B) {
	for _, values := range []int{1, attributeValues} {
		s := setup(b)
		s.raw = true
		for name, read := range s.reads(b, values, paramValues/attributeValues*values) {
			b.Run(fmt.Sprintf("%s/%d", name, values), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					read()
				}
			})
		}
	}
}
