package execution

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Runner advances operations. It is what an engine job calls; any number of nodes may do so at once,
// and only the newest claim can write.
type Runner struct {
	Store    lcm.Ledger
	Packages lcm.Packages
	Planner  *Planner
	Clock    lcm.Clock
	Log      *slog.Logger
	// Node is the id of this node.
	Node   string
	Tuning Tuning
	// Observe is called for every finished phase and operation, for metrics; may be nil.
	Observe Observer
}

// Observer is called at the end of phases and operations.
type Observer interface {
	PhaseEnded(op sol.LcmOperationType, phase string, failed bool, took time.Duration)
	OperationEnded(op sol.LcmOperationType, state sol.LcmOperationStateType, took time.Duration)
}

// Tuning holds the runner's times and limits; the zero value of a field means its default.
type Tuning struct {
	TickBudget time.Duration // how long one tick may work; default 45 s
	InlineWait time.Duration // waits up to this are spent in the tick instead of giving the job back; default 2 s
	RetryBase  time.Duration // first backoff of a transient failure; default 500 ms, doubling
	RetryMax   time.Duration // longest backoff; default 30 s
	Retries    int           // consecutive transient failures of a phase before it fails; default 8
}

// WithDefaults fills the fields that are zero.
func (t Tuning) WithDefaults() Tuning {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&t.TickBudget, 45*time.Second)
	def(&t.InlineWait, 2*time.Second)
	def(&t.RetryBase, 500*time.Millisecond)
	def(&t.RetryMax, 30*time.Second)
	if t.Retries == 0 {
		t.Retries = 8
	}
	return t
}

// Advance claims an operation and works on it for one tick. again says that the job has to come back
// after that time; false means that nothing is left to do here, also when another node took over. An
// error is a fault of the database: the job has to be tried again.
func (r *Runner) Advance(ctx context.Context, opID string) (after time.Duration, again bool, err error) {
	claimed, err := r.Store.Claim(ctx, opID, r.Node)
	if err != nil {
		if e, ok := errors.AsType[*lcm.Error](err); ok && e.Code == lcm.CodeNotFound {
			return 0, false, nil
		}
		return 0, false, fmt.Errorf("claim operation %s: %w", opID, err)
	}
	if claimed == nil {
		return 0, false, nil
	}
	if len(claimed.Renewed) > 0 {
		r.Log.InfoContext(ctx, "the instance uses the new credentials of its VIM", "op_id", opID,
			"vnf_instance_id", claimed.Instance.ID, "vim_connections", claimed.Renewed)
	}
	t := &tick{
		Runner: r, tune: r.Tuning.WithDefaults(), op: claimed.Op, instance: claimed.Instance, rec: claimed.Phase,
		share: claimed.Op.VimKey, clusterGone: claimed.ClusterGone,
	}
	p, err := t.run(ctx)
	if errors.Is(err, lcm.ErrFenced) {
		r.Log.InfoContext(ctx, "operation was taken over", "op_id", opID, "epoch", claimed.Op.Epoch)
		return 0, false, nil
	}
	return p.after, p.again, err
}
