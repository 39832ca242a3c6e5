package infratest

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// records are what the database keeps of an instance and its last operation.
type records struct {
	mu       sync.Mutex
	instance lcm.Instance
	op       lcm.Operation
	steps    []lcm.StepRecord
	snapshot *lcm.Snapshot // nil is none
}

// read returns the instance and the operation as they are stored.
func (r *records) read() (lcm.Instance, lcm.Operation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return stored(r.instance), stored(r.op)
}

// stored is v after a write and a read.
func stored[T any](v T) T {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var out T
	if err := json.Unmarshal(raw, &out); err != nil {
		panic(err)
	}
	return out
}

// journal is the lcm.Journal of a node.
type journal struct {
	*records
	node *Node
}

func (j journal) write(f func()) error {
	return j.node.write(func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		f()
	})
}

// BeginStep implements lcm.Journal.
func (j journal) BeginStep(_ context.Context, _ lcm.Claim, phase, name, target string) (lcm.StepRecord, error) {
	var out lcm.StepRecord
	err := j.write(func() {
		for n := range j.steps {
			s := &j.steps[n]
			if s.Run != j.op.Run || s.Phase != phase || s.Name != name || s.Target != target {
				continue
			}
			if s.State == lcm.StepFailed {
				s.State = lcm.StepOpen
				s.Attempts++
			}
			out = *s
			return
		}
		out = lcm.StepRecord{
			ID: int64(len(j.steps) + 1), Run: j.op.Run, Phase: phase, Name: name, Target: target,
			State: lcm.StepOpen, Attempts: 1, Started: time.Now(),
		}
		j.steps = append(j.steps, out)
	})
	return out, err
}

// SaveStep implements lcm.Journal.
func (j journal) SaveStep(_ context.Context, _ lcm.Claim, id int64, checkpoint json.RawMessage, status string) error {
	return j.write(func() {
		s := &j.steps[id-1]
		s.Checkpoint = checkpoint
		if status != "" {
			s.Detail = status
		}
	})
}

// EndStep implements lcm.Journal.
func (j journal) EndStep(
	_ context.Context, _ lcm.Claim, id int64, state lcm.StepState, detail string, failure *lcm.Failure,
) error {
	return j.write(func() {
		s := &j.steps[id-1]
		s.State, s.Detail, s.Error = state, detail, failure
	})
}

// Begun implements lcm.Journal.
func (j journal) Begun(context.Context, lcm.Claim) (bool, error) { return len(j.steps) > 0, nil }

// AppendLog implements lcm.Journal.
func (j journal) AppendLog(context.Context, lcm.Claim, int64, []lcm.LogLine) error {
	return j.write(func() {})
}
