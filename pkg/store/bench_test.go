package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

func BenchmarkAdmit(b *testing.B) {
	s := setup(b)
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
		if err := s.CommitTick(b.Context(), cl, lcm.Tick{Op: c.Op, Instance: c.Instance, Phases: []lcm.PhaseRecord{rec}}); err != nil {
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

func BenchmarkGetInstance(b *testing.B) {
	s := setup(b)
	i, op := s.admit(b)
	c, cl := s.claim(b, op.ID, "n")
	c.Instance.Instantiated = &sol.InstantiatedVnfInfo{FlavourID: "complex", VnfcResourceInfo: make([]sol.VnfcResourceInfo, 5)}
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
