package lcm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/redact"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// Execution is one tick's view of an operation. Phases read it, change Op and Instance (which are committed
// with the tick, fenced), and do whatever must happen once inside Step.
//
// Steps may run in parallel; Op and Instance MUST only be changed by the phase itself, outside parallel steps.
type Execution struct {
	Op       *Operation
	Instance *Instance
	VNFD     *vnfd.VNFD
	// Flavour is the deployment flavour of the request or the instance; nil only before instantiation is planned.
	Flavour *vnfd.Flavour
	// Package is the VNF package's content, rooted at the archive's root.
	Package fs.FS
	// Previous is the other revision of a CHANGE_VNFPKG or CHANGE_FLAVOUR, and of a MODIFY_INFO that changes the
	// package: VNFD, Flavour and Package above are the new ones in STARTING and PROCESSING, and the ones from before in
	// ROLLING_BACK. nil for any other operation.
	Previous *Revision
	Log      *slog.Logger
	Clock    Clock

	whole   *Execution // of a part; see Part
	hider   redact.Hider
	claim   Claim
	phase   string
	journal Journal
	effects Effects
	commit  func(context.Context) error

	clusterGone string // see Claimed

	mu    sync.Mutex
	steps map[stepKey]*StepRecord // those of this tick that are open or done, as they are stored
}

// stepKey names a step of an operation's run.
type stepKey struct{ phase, name, target string }

// ExecutionInput is what an Execution is made from. Journal, Claim and Commit are absent where nothing but an inventory
// is taken.
type ExecutionInput struct {
	Op       *Operation
	Instance *Instance
	Packages Packages
	Clock    Clock
	Log      *slog.Logger
	Journal  Journal
	Claim    Claim
	// Commit stores the operation and the instance as they are, fenced.
	Commit func(context.Context) error
	// ClusterGone is that of Claimed.
	ClusterGone string
}

// NewExecution makes the Execution of an operation; the error says why the operation cannot go on.
func NewExecution(ctx context.Context, in ExecutionInput) (*Execution, error) {
	w := &Execution{
		Op: in.Op, Instance: in.Instance, Clock: in.Clock, Log: in.Log, journal: in.Journal, claim: in.Claim,
		commit: in.Commit, clusterGone: in.ClusterGone, phase: in.Op.Phase, hider: NewHider(in.Op, in.Instance),
		steps: map[stepKey]*StepRecord{},
	}
	if err := w.load(ctx, in.Packages); err != nil {
		return nil, err
	}
	return w, nil
}

// EnterPhase names the phase that the following steps belong to.
func (w *Execution) EnterPhase(name string) { w.phase = name }

// Effects are the changes of other records that the next commit stores.
func (w *Execution) Effects() Effects { return w.effects }

// ClearEffects forgets them once they are stored.
func (w *Execution) ClearEffects() { w.effects = Effects{} }

// Revision is what the resources of an instance are made from.
type Revision struct {
	VNFD    *vnfd.VNFD
	Flavour *vnfd.Flavour // nil while the instance is NOT_INSTANTIATED
	Package fs.FS
}

// Claim identifies one node's right to work on an operation; every engine write carries it and fails
// with ErrFenced when it is no longer the newest.
type Claim struct {
	OperationID string
	InstanceID  string
	Epoch       int64
}

// Effects are changes of other records that are committed in the same transaction as the tick.
type Effects struct {
	RegisterVims []Vim    // inserted, or replaced by ID
	RemoveVims   []string // ids; absent ones are no error
	ForgetVNFCs  []string // vnfcInfo ids whose machines are gone: what is remembered of them (host keys) goes too
	Snapshot     SnapshotEffect
	// Share means that Operation.VimKey has changed: the operation's job goes to the share of that VIM.
	Share bool
}

// RegisterVim makes v known as a VIM when the tick commits. Its ID MUST be deterministic for its
// owner, so that a repeated tick replaces instead of adding.
func (w *Execution) RegisterVim(v Vim) { w.effects.RegisterVims = append(w.effects.RegisterVims, v) }

// RemoveVim forgets a VIM when the tick commits.
func (w *Execution) RemoveVim(id string) { w.effects.RemoveVims = append(w.effects.RemoveVims, id) }

// Share counts the operation for the VIM of the instance's primary connection from the next commit on: a grant may have
// brought it.
func (w *Execution) Share() {
	if _, vim, ok := PrimaryVim(w.Instance.VimConnections); ok && VimKey(vim) != w.Op.VimKey {
		w.Op.VimKey, w.effects.Share = VimKey(vim), true
	}
}

// ForgetVNFCs drops what is remembered of VNFCs (host keys) when the tick commits, because their machines are gone or
// are about to go.
func (w *Execution) ForgetVNFCs(ids ...string) {
	if w.whole != nil {
		w.whole.ForgetVNFCs(ids...)
		return
	}
	for _, id := range ids {
		if id != "" && !slices.Contains(w.effects.ForgetVNFCs, id) {
			w.effects.ForgetVNFCs = append(w.effects.ForgetVNFCs, id)
		}
	}
}

// Hold records, before it returns, that the VIM may hold resources of the instance from now on. An Infra calls it,
// outside of steps, once it is known in the VIM and before it makes the first resource: an instance that never got so
// far is rolled back and deleted without asking the VIM.
func (w *Execution) Hold(ctx context.Context) error {
	if w.Instance.HoldsResources {
		return nil
	}
	w.Instance.HoldsResources = true
	return w.commit(ctx)
}

// Commit stores the operation and the instance as they are now, fenced. A phase calls it if an effect has changed them
// and must not be repeated; never from parallel steps.
func (w *Execution) Commit(ctx context.Context) error { return w.commit(ctx) }

// Params returns the additionalParams that hold for the operation: those that the instance remembers, with the
// request's over them, and those of the grant over both.
func (w *Execution) Params() (sol.KeyValuePairs, error) {
	own, err := w.Op.AdditionalParams()
	if err != nil {
		return nil, err
	}
	remembered, err := w.Instance.Params.Decode()
	if err != nil {
		return nil, err
	}
	merged, _ := MergePatch(map[string]any(remembered), map[string]any(own)).(map[string]any)
	if len(w.Op.GrantParams) > 0 {
		merged, _ = MergePatch(merged, map[string]any(w.Op.GrantParams)).(map[string]any)
	}
	return merged, nil
}

// Added lists the vnfcInfo ids that the instance has now and had not before the operation, in their order.
func (w *Execution) Added() []string {
	had := map[string]bool{}
	if w.Op.Before != nil && w.Op.Before.Instantiated != nil {
		for _, c := range w.Op.Before.Instantiated.VnfcInfo {
			had[c.ID] = true
		}
	}
	var out []string
	if w.Instance.Instantiated != nil {
		for _, c := range w.Instance.Instantiated.VnfcInfo {
			if !had[c.ID] {
				out = append(out, c.ID)
			}
		}
	}
	return out
}

// Claim returns the right under which this tick writes.
func (w *Execution) Claim() Claim { return w.claim }

// Step runs fn as a durable step of the current phase. name says what is done ("prepare node"), target on
// which thing (a vnfcInfo id, a stack name; may be empty); together they are unique within the phase.
//
// A step that is recorded as done is not run again: Step returns nil at once. Otherwise fn is run, in
// whatever state a dead predecessor left the world; it finds its last checkpoint in Step.Load. When fn
// returns nil the step is recorded as done before Step returns; on a wait it stays open; on a failure the
// error is recorded with it and returned, and a later tick may run it again.
func (w *Execution) Step(ctx context.Context, name, target string, fn func(context.Context, *Step) error) error {
	key := stepKey{w.phase, name, target}
	rec, err := w.beginStep(ctx, key)
	if err != nil {
		return err
	}
	if rec.State == StepDone {
		return nil
	}
	s := &Step{rec: rec, w: w, told: rec.Detail}
	err = fn(ctx, s)
	if flushErr := s.flush(ctx); err == nil || errors.Is(flushErr, ErrFenced) {
		err = errors.Join(err, flushErr)
	}
	if _, why, waiting := Waiting(ctx, err); waiting {
		return errors.Join(err, s.tell(context.WithoutCancel(ctx), cmp.Or(w.hider.Hide(why), s.told)))
	}
	if err != nil {
		if errors.Is(err, ErrFenced) {
			return err
		}
		w.forgetStep(key)
		return errors.Join(err, w.journal.EndStep(
			context.WithoutCancel(ctx), w.claim, rec.ID, StepFailed, "", HideFailure(w.hider, FailureOf(err, w.phase)),
		))
	}
	if err := w.journal.EndStep(ctx, w.claim, rec.ID, StepDone, w.hider.Hide(s.detail), nil); err != nil {
		w.forgetStep(key)
		return err
	}
	rec.State = StepDone
	return nil
}

// beginStep returns the record of a step. One that was begun in this tick and has not failed is not read again: only
// the newest claim writes steps, and a tick that waits checks its claim.
func (w *Execution) beginStep(ctx context.Context, key stepKey) (*StepRecord, error) {
	w.mu.Lock()
	rec := w.steps[key]
	w.mu.Unlock()
	if rec != nil {
		return rec, nil
	}
	read, err := w.journal.BeginStep(ctx, w.claim, key.phase, key.name, key.target)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steps[key] = &read
	return &read, nil
}

// Begun reports whether the operation has begun any step.
func (w *Execution) Begun(ctx context.Context) (bool, error) { return w.journal.Begun(ctx, w.claim) }

// forgetStep lets the next beginStep read the step.
func (w *Execution) forgetStep(key stepKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.steps, key)
}

// StepState is where a step stands.
type StepState string

// The states of a step.
const (
	StepOpen       StepState = "OPEN"       // under way, or waiting
	StepUnfinished StepState = "UNFINISHED" // its operation came to rest before it ended; a retry continues it
	StepFailed     StepState = "FAILED"     // its last attempt failed; it may be tried again
	StepDone       StepState = "DONE"
)

// StepRecord is the durable record of a step.
type StepRecord struct {
	ID         int64
	Run        int // the operation's run that it belongs to
	Phase      string
	Name       string
	Target     string
	State      StepState
	Attempts   int
	Started    time.Time
	Finished   time.Time // zero while open; of an unfinished step, when its operation came to rest
	Detail     string    // the last status of the step, or the reason of its wait
	Checkpoint json.RawMessage
	Error      *Failure
}

// LogLine is one line of a step's output.
type LogLine struct {
	Time time.Time `json:"time"`
	Text string    `json:"text"` // without the line end, at most 4096 bytes
}

// Journal keeps steps. Every method is fenced by the claim and returns ErrFenced when it is outdated.
type Journal interface {
	// BeginStep finds or creates the step. It counts an attempt for a new step and after a failure; going on
	// with one that was open or unfinished, after a wait, a cancel or the death of a node, is the same attempt.
	BeginStep(ctx context.Context, c Claim, phase, name, target string) (StepRecord, error)
	// SaveStep stores the checkpoint of an open step, and its status unless that is "".
	SaveStep(ctx context.Context, c Claim, id int64, checkpoint json.RawMessage, status string) error
	// EndStep records the outcome of an attempt; StepOpen means that it goes on in a later tick.
	EndStep(ctx context.Context, c Claim, id int64, state StepState, detail string, failure *Failure) error
	// Begun reports whether the operation has begun any step.
	Begun(ctx context.Context, c Claim) (bool, error)
	// AppendLog adds output lines to a step, in order.
	AppendLog(ctx context.Context, c Claim, id int64, lines []LogLine) error
}

// Step is a durable step under way.
type Step struct {
	rec    *StepRecord
	w      *Execution
	detail string
	told   string // by Tell, or what an earlier tick waited for

	mu      sync.Mutex
	lines   []LogLine
	flushed time.Time
	err     error
}

// flushEvery bounds how long a log line stays in memory while others follow.
const flushEvery = 200 * time.Millisecond

// maxLine is the length in bytes at which a log line is cut.
const maxLine = 4096

// Attempt is the number of this attempt, from 1; it grows only after failures.
func (s *Step) Attempt() int { return s.rec.Attempts }

// Started is when the step's first attempt began.
func (s *Step) Started() time.Time { return s.rec.Started }

// Detail sets the words that the finished step shows.
func (s *Step) Detail(text string) { s.detail = text }

// Load decodes the last checkpoint into v and reports whether there was one.
func (s *Step) Load(v any) (bool, error) {
	if len(s.rec.Checkpoint) == 0 {
		return false, nil
	}
	return true, json.Unmarshal(s.rec.Checkpoint, v)
}

// Save stores v as the step's checkpoint: durable and fenced before it returns. Checkpoints MUST NOT hold secrets.
func (s *Step) Save(ctx context.Context, v any) error { return s.save(ctx, v, "") }

// SaveAndWait stores v as Save does, together with the status of a wait, and returns the wait.
func (s *Step) SaveAndWait(ctx context.Context, v any, after time.Duration, why string) error {
	if err := s.save(ctx, v, why); err != nil {
		return err
	}
	return Wait(after, why)
}

func (s *Step) save(ctx context.Context, v any, status string) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	status = s.w.hider.Hide(status)
	if err := s.w.journal.SaveStep(ctx, s.w.claim, s.rec.ID, raw, status); err != nil {
		return err
	}
	s.rec.Checkpoint = raw
	if status != "" {
		s.told, s.rec.Detail = status, status
	}
	return nil
}

// Logf adds one line to the step's log. Secrets of the request are hidden; it MUST NOT be given others. An error of the
// store (ErrFenced above all) surfaces when the step ends or at the next Err.
func (s *Step) Logf(ctx context.Context, line string) {
	line = s.w.hider.Hide(line)
	if len(line) > maxLine {
		line = line[:maxLine]
	}
	now := s.w.Clock.Now()
	s.mu.Lock()
	s.lines = append(s.lines, LogLine{Time: now, Text: line})
	due := now.Sub(s.flushed) >= flushEvery || len(s.lines) >= 100
	s.mu.Unlock()
	if due {
		_ = s.flush(ctx) // kept in s.err
	}
}

// Tell stores the status of a running step, so that followers see it immediately.
func (s *Step) Tell(ctx context.Context, text string) error {
	s.told = s.w.hider.Hide(text)
	return s.tell(ctx, s.told)
}

// tell stores the status of a step that stays open, if it has changed.
func (s *Step) tell(ctx context.Context, status string) error {
	if status == s.rec.Detail && s.rec.Error == nil {
		return nil
	}
	if err := s.w.journal.EndStep(ctx, s.w.claim, s.rec.ID, StepOpen, status, nil); err != nil {
		return err
	}
	s.rec.Detail, s.rec.Error = status, nil
	return nil
}

// Told is what the step says to those who watch it, also since an earlier tick.
func (s *Step) Told() string { return s.told }

// Waits tells what a step that stays under way waits for, in its log, too.
func (s *Step) Waits(ctx context.Context, why string) error {
	s.Logf(ctx, why)
	return errors.Join(s.Flush(ctx), s.Tell(ctx, why))
}

// Flush writes what Logf has gathered; a follower of a quiet log calls it now and then.
func (s *Step) Flush(ctx context.Context) error { return s.flush(ctx) }

func (s *Step) flush(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flushed = s.w.Clock.Now()
	if s.err != nil || len(s.lines) == 0 {
		return s.err
	}
	// A tick that ends must still write what it has read, or the lines would be lost.
	s.err = s.w.journal.AppendLog(context.WithoutCancel(ctx), s.w.claim, s.rec.ID, s.lines)
	s.lines = nil
	return s.err
}

// Err returns the first error that writing the log met.
func (s *Step) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
