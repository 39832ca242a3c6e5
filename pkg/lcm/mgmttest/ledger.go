package mgmttest

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Ledger is an lcm.Ledger in memory, of one operation. It has the rules of the database: a write needs the newest
// claim, a step has a run, a phase, a name and a target, and an attempt is counted after a failure only.
type Ledger struct {
	// DieAt is the number of the write at which the node dies, from 1; 0 is never. That write and all later ones of the
	// node are lost. With DieAfter, that write is stored, and the node does not learn of it.
	DieAt    int
	DieAfter bool

	mu       sync.Mutex
	op       lcm.Operation
	instance json.RawMessage // so that nothing is shared
	phases   []lcm.PhaseRecord
	steps    []lcm.StepRecord
	logs     map[int64][]string // by id of a step
	told     []string           // texts of open steps, in this order
	vims     map[string]lcm.Vim
	removed  []string // ids of VIMs
	writes   int
	deaths   int
	dead     bool
	die      context.CancelFunc
}

var _ lcm.Ledger = (*Ledger)(nil)

var errDead = errors.New("the node is dead")

// write stores something under a claim.
func (l *Ledger) write(epoch int64, store func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if epoch != l.op.Epoch {
		return lcm.ErrFenced
	}
	if l.dead {
		return errDead
	}
	l.writes++
	if l.dead = l.DieAt != 0 && l.writes == l.DieAt; !l.dead {
		return store()
	}
	l.die()
	if l.DieAfter {
		if err := store(); err != nil {
			return err
		}
	}
	return errDead
}

// revive begins the life of a node and returns the function that ends it: it reports whether the node has died.
func (l *Ledger) revive(die context.CancelFunc) (end func() bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.die = die
	return func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		died := l.dead
		if died {
			l.deaths++
		}
		l.dead = false
		return died
	}
}

// Claim implements lcm.Ledger.
func (l *Ledger) Claim(_ context.Context, _, node string) (*lcm.Claimed, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !lcm.Running(l.op.State) {
		return nil, nil //nolint:nilnil // the contract
	}
	l.op.Epoch++
	l.op.Node = node
	op := l.op
	c := &lcm.Claimed{Op: &op, Instance: &lcm.Instance{}}
	for _, p := range l.phases {
		if p.Run == op.Run && p.Name == op.Phase {
			c.Phase = &p
		}
	}
	return c, json.Unmarshal(l.instance, c.Instance)
}

// CommitTick implements lcm.Ledger.
func (l *Ledger) CommitTick(_ context.Context, c lcm.Claim, t lcm.Tick) error {
	return l.write(c.Epoch, func() error {
		if t.Instance != nil {
			raw, err := json.Marshal(t.Instance)
			if err != nil {
				return err
			}
			l.instance = raw
		}
		l.op = *t.Op
		for _, p := range t.Phases {
			l.putPhase(p)
		}
		for _, v := range t.Effects.RegisterVims {
			l.vims[v.ID] = v
		}
		for _, id := range t.Effects.RemoveVims {
			delete(l.vims, id)
			l.removed = append(l.removed, id)
		}
		for n := range l.steps {
			if s := &l.steps[n]; s.State == lcm.StepOpen && !lcm.Running(l.op.State) {
				s.State, s.Finished = lcm.StepUnfinished, time.Now()
			}
		}
		return nil
	})
}

// putPhase inserts or replaces the record of a phase of the current run.
func (l *Ledger) putPhase(p lcm.PhaseRecord) {
	p.Run = l.op.Run
	for n, old := range l.phases {
		if old.Run == p.Run && old.Name == p.Name {
			l.phases[n] = p
			return
		}
	}
	l.phases = append(l.phases, p)
}

// CheckClaim implements lcm.Ledger.
func (l *Ledger) CheckClaim(_ context.Context, c lcm.Claim) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.Epoch != l.op.Epoch {
		return lcm.ErrFenced
	}
	return nil
}

// BeginStep implements lcm.Journal.
func (l *Ledger) BeginStep(_ context.Context, c lcm.Claim, phase, name, target string) (lcm.StepRecord, error) {
	var out lcm.StepRecord
	err := l.write(c.Epoch, func() error {
		for n := range l.steps {
			s := &l.steps[n]
			if s.Run != l.op.Run || s.Phase != phase || s.Name != name || s.Target != target {
				continue
			}
			switch s.State {
			case lcm.StepOpen, lcm.StepDone:
			case lcm.StepFailed, lcm.StepUnfinished:
				if s.State == lcm.StepFailed {
					s.Attempts++
				}
				s.State, s.Finished = lcm.StepOpen, time.Time{}
			}
			out = *s
			return nil
		}
		out = lcm.StepRecord{
			ID: int64(len(l.steps) + 1), Run: l.op.Run, Phase: phase, Name: name, Target: target,
			State: lcm.StepOpen, Attempts: 1, Started: time.Now(),
		}
		l.steps = append(l.steps, out)
		return nil
	})
	return out, err
}

// SaveStep implements lcm.Journal.
func (l *Ledger) SaveStep(_ context.Context, c lcm.Claim, id int64, checkpoint json.RawMessage, status string) error {
	return l.write(c.Epoch, func() error {
		s := &l.steps[id-1]
		s.Checkpoint = checkpoint
		if status != "" {
			s.Detail = status
			l.tell(s)
		}
		return nil
	})
}

// EndStep implements lcm.Journal.
func (l *Ledger) EndStep(
	_ context.Context, c lcm.Claim, id int64, state lcm.StepState, detail string, f *lcm.Failure,
) error {
	return l.write(c.Epoch, func() error {
		s := &l.steps[id-1]
		s.State, s.Detail, s.Error = state, detail, f
		if state == lcm.StepOpen {
			l.tell(s)
		} else {
			s.Finished = time.Now()
		}
		return nil
	})
}

// tell remembers the text of an open step.
func (l *Ledger) tell(s *lcm.StepRecord) {
	l.told = append(l.told, s.Name+" "+s.Target+": "+s.Detail)
}

// Begun implements lcm.Journal.
func (l *Ledger) Begun(context.Context, lcm.Claim) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.steps) > 0, nil
}

// AppendLog implements lcm.Journal.
func (l *Ledger) AppendLog(_ context.Context, c lcm.Claim, id int64, lines []lcm.LogLine) error {
	return l.write(c.Epoch, func() error {
		for _, line := range lines {
			l.logs[id] = append(l.logs[id], line.Text)
		}
		return nil
	})
}
