package lcm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Runner advances operations. It is what an engine job calls; any number of nodes may do so at once,
// and only the newest claim can write.
type Runner struct {
	Store    Store
	Packages Packages
	Planner  *Planner
	Clock    Clock
	Log      *slog.Logger
	// Node is the id of this node.
	Node   string
	Tuning Tuning
	// Observe is told of every finished phase and operation, for metrics; may be nil.
	Observe Observer
}

// Observer is told what the runner does.
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
		if e, ok := errors.AsType[*Error](err); ok && e.Code == CodeNotFound {
			return 0, false, nil
		}
		return 0, false, fmt.Errorf("claim operation %s: %w", opID, err)
	}
	if claimed == nil {
		return 0, false, nil
	}
	t := &tick{Runner: r, tune: r.Tuning.WithDefaults(), op: claimed.Op, instance: claimed.Instance, rec: claimed.Phase}
	after, again, err = t.run(ctx)
	if errors.Is(err, ErrFenced) {
		r.Log.InfoContext(ctx, "operation was taken over", "op_id", opID, "epoch", claimed.Op.Epoch)
		return 0, false, nil
	}
	return after, again, err
}

// work assembles what phases see; the error says why the operation cannot go on at all.
func (r *Runner) work(ctx context.Context, op *Operation, i *Instance) (*Work, error) {
	w := &Work{
		Op: op, Instance: i, Clock: r.Clock, journal: r.Store,
		Log:   r.Log.With("op_id", op.ID, "vnf_instance_id", op.InstanceID, "operation", string(op.Type)),
		claim: Claim{OperationID: op.ID, InstanceID: op.InstanceID, Epoch: op.Epoch},
	}
	now, former, err := sides(op, i)
	if err != nil {
		return w, err
	}
	o, err := r.origin(ctx, now, op.Type)
	if err != nil {
		return w, err
	}
	w.VNFD, w.Flavour, w.Package = o.VNFD, o.Flavour, o.Package
	if former != nil {
		w.Former, err = r.origin(ctx, *former, op.Type)
	}
	return w, err
}

// side names what an instance is made from before or after an operation.
type side struct{ vnfPkgID, flavourID string }

// sides says what an operation works with now, and what is on its other side where that differs.
func sides(op *Operation, i *Instance) (now side, former *side, err error) {
	if op.Type == sol.LcmOperationInstantiate {
		var req sol.InstantiateVnfRequest
		if err := json.Unmarshal(op.Params, &req); err != nil {
			return side{}, nil, fmt.Errorf("decode the operation's request: %w", err)
		}
		return side{i.VnfPkgID, req.FlavourID}, nil, nil
	}
	if op.Before != nil {
		i = op.Before
	}
	before := side{vnfPkgID: i.VnfPkgID}
	if i.Instantiated != nil {
		before.flavourID = i.Instantiated.FlavourID
	}
	after := before
	if op.Scope != nil {
		after.flavourID = op.Scope.Flavour
	}
	after.vnfPkgID = cmp.Or(op.VnfPkgID, after.vnfPkgID)
	switch {
	case after == before:
		return before, nil, nil
	case op.State == sol.LcmOperationStateRollingBack:
		return before, &after, nil
	}
	return after, &before, nil
}

// origin loads one side. Only MODIFY_INFO does without a flavour, of an instance that is not instantiated.
func (r *Runner) origin(ctx context.Context, s side, t sol.LcmOperationType) (*Origin, error) {
	model, err := r.Packages.ModelOf(ctx, s.vnfPkgID)
	if err != nil {
		return nil, err
	}
	o := &Origin{VNFD: model}
	if o.Package, err = r.Packages.Files(ctx, s.vnfPkgID); err != nil {
		return nil, err
	}
	o.Flavour = model.Flavour(s.flavourID)
	switch {
	case o.Flavour != nil || s.flavourID == "" && t == sol.LcmOperationModifyInfo:
		return o, nil
	case s.flavourID == "":
		return nil, Errorf(CodeConflict, "the instance has no record of an instantiation")
	}
	return nil, Errorf(CodeUnprocessable, "the VNFD %s has no flavour %q", model.ID, s.flavourID)
}
