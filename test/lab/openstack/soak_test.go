package openstack_test

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// soaked is one instance of the soak and what is known of it. Only one goroutine at a time works on it.
type soaked struct {
	id      string
	up      bool
	stopped bool
	level   int
}

// next chooses what to do with the instance and says what holds when that has succeeded.
func (s *soaked) next(r *rand.Rand, w *world) (sol.LcmOperationType, any, func()) {
	if !s.up {
		req := w.plain()
		if r.IntN(2) == 0 {
			req.FlavourID, req.AdditionalParams = "groups", nil
		}
		return sol.LcmOperationInstantiate, req, func() { s.up, s.stopped, s.level = true, false, 0 }
	}
	if s.stopped {
		return sol.LcmOperationOperate, sol.OperateVnfRequest{ChangeStateTo: sol.VnfOperationalStateStarted}, func() {
			s.stopped = false
		}
	}
	for {
		switch r.IntN(8) {
		case 0, 1:
			if s.level < 2 {
				return sol.LcmOperationScale, scale(sol.ScaleTypeOut, 1), func() { s.level++ }
			}
		case 2:
			if s.level > 0 {
				return sol.LcmOperationScale, scale(sol.ScaleTypeIn, 1), func() { s.level-- }
			}
		case 3:
			level := r.IntN(3)
			return sol.LcmOperationScaleToLevel, sol.ScaleVnfToLevelRequest{
				ScaleInfo: []sol.ScaleInfo{{AspectID: "VDU1_scale", ScaleLevel: level}},
			}, func() { s.level = level }
		case 4:
			vnfc := of(w.instance(s.id), "VDU1")[0].vnfc
			return sol.LcmOperationHeal, sol.HealVnfRequest{VnfcInstanceID: []string{vnfc}}, func() {}
		case 5:
			return sol.LcmOperationHeal, sol.HealVnfRequest{
				AdditionalParams: sol.KeyValuePairs{"all": r.IntN(2) == 0},
			}, func() {}
		case 6:
			return sol.LcmOperationOperate, sol.OperateVnfRequest{
				ChangeStateTo: sol.VnfOperationalStateStopped,
			}, func() { s.stopped = true }
		case 7:
			return sol.LcmOperationTerminate, sol.TerminateVnfRequest{
				TerminationType: sol.TerminationTypeForceful,
			}, func() { s.up = false }
		}
	}
}

// Many operations of every kind on ten instances, three at a time, leave nothing behind.
// LAB_SOAK is the number of operations, 100 when it is not set; 0 leaves the test out.
func TestSoakLeavesNothing(t *testing.T) {
	operations := 100
	if s := os.Getenv("LAB_SOAK"); s != "" {
		var err error
		operations, err = strconv.Atoi(s)
		require.NoError(t, err)
	}
	if operations == 0 {
		t.Skip("LAB_SOAK=0: no soak")
	}
	const instances, workers, seed = 10, 3, 7
	w := start(t, 2)
	vnfd := w.vnfd("plain")
	free := make(chan *soaked, instances)
	for range instances {
		free <- &soaked{id: w.create(vnfd)}
	}
	jobs := make(chan int)
	var wg sync.WaitGroup
	count := map[string]int{}
	var mu sync.Mutex
	for worker := range workers {
		r := rand.New(rand.NewPCG(seed, uint64(worker)))
		wg.Go(func() {
			for n := range jobs {
				s := <-free
				w.soak(t, s, r, n, func(what string) {
					mu.Lock()
					defer mu.Unlock()
					count[what]++
				})
				free <- s
			}
		})
	}
	for n := range operations {
		if t.Failed() {
			break
		}
		jobs <- n
	}
	close(jobs)
	wg.Wait()
	t.Logf("operations: %v", count)
	require.False(t, t.Failed())
	for range instances {
		if s := <-free; s.up {
			w.completed(w.terminate(s.id))
			require.NoError(t, w.api.DeleteInstance(t.Context(), s.id))
		} else {
			require.NoError(t, w.api.DeleteInstance(t.Context(), s.id))
		}
	}
	w.clean()
}

// soak does one operation and looks at what came of it.
func (w *world) soak(t *testing.T, s *soaked, r *rand.Rand, n int, done func(string)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	typ, body, then := s.next(r, w)
	op, err := w.api.Start(ctx, s.id, typ, body)
	var o *sol.VnfLcmOpOcc
	if err == nil {
		o, err = awaitRest(ctx, w.api, op)
	}
	if err != nil {
		t.Errorf("operation %d, %s of %s: %v", n, typ, s.id, err)
		return
	}
	if o.OperationState != sol.LcmOperationStateCompleted {
		t.Errorf("operation %d, %s of %s is %s: %+v", n, typ, s.id, o.OperationState, o.Error)
		return
	}
	then()
	done(string(typ))
	if !s.up {
		return
	}
	i, err := w.api.Instance(ctx, s.id)
	if err != nil {
		t.Error(err)
		return
	}
	assert.Len(t, i.InstantiatedVnfInfo.VnfcInfo, s.level+1, "operation %d, %s of %s", n, typ, s.id)
}

// awaitRest waits until an operation ends or needs its user.
func awaitRest(ctx context.Context, api *client.Client, op string) (*sol.VnfLcmOpOcc, error) {
	for {
		o, err := api.Operation(ctx, op)
		if err != nil || !busy(o) {
			return o, err
		}
		pause(ctx, 300*time.Millisecond)
	}
}
