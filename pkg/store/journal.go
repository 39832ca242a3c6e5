package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Every write of the journal begins with this: the operation's row, locked against the next claim but shared with the
// other steps that run in parallel, and no row at all when the claim is outdated. All of it is one statement.
const fenced = `WITH op AS (SELECT id, run, instance_id, project FROM vnf_lcm_op_occ WHERE id = $1 AND epoch = $2 FOR SHARE), `

// progress is fenced for a record whose loss is harmless: the commit does not wait for the disk. When the database
// server loses its power, the records of the last moments can be missing. Then the step is repeated, as after the death
// of a node before the record. The death of a node or of PostgreSQL's processes alone loses nothing.
const progress = `WITH op AS (SELECT id, run, instance_id, project, set_config('synchronous_commit', 'off', true)
	FROM vnf_lcm_op_occ WHERE id = $1 AND epoch = $2 FOR SHARE), `

// stepEvent writes the event of the step in the CTE s.
const stepEvent = `told AS (INSERT INTO event (kind, instance_id, op_id, project, body)
	SELECT '` + KindStep + `', op.instance_id, op.id, op.project, ` + stepBody + ` FROM s, op) `

// stepBody is the body of the event of a step s.
const stepBody = `jsonb_strip_nulls(jsonb_build_object('id', s.id, 'run', s.run, 'phase', s.phase, 'name', s.name, 'target', s.target,
	'state', s.state, 'attempts', s.attempts, 'started', s.started, 'finished', s.finished, 'detail', s.detail, 'error', s.error))`

// endSteps marks the steps of the operation in op that are open when it comes to rest.
var endSteps = `UPDATE lcm_op_step SET state = 'UNFINISHED', finished = now() FROM op
	WHERE lcm_op_step.op_id = op.id AND lcm_op_step.state = 'OPEN' AND op.state NOT IN ` + running + ` RETURNING lcm_op_step.*`

// stepRow is a row of lcm_op_step.
type stepRow struct {
	ID         int64      `db:"id"`
	Run        int        `db:"run"`
	Phase      string     `db:"phase"`
	Name       string     `db:"name"`
	Target     string     `db:"target"`
	State      string     `db:"state"`
	Attempts   int        `db:"attempts"`
	Started    time.Time  `db:"started"`
	Finished   *time.Time `db:"finished"`
	Detail     string     `db:"detail"`
	Checkpoint []byte     `db:"checkpoint"`
	Error      []byte     `db:"error"`
}

const stepColumns = "s.id, s.run, " +
	"s.phase, s.name, s.target, s.state, s.attempts, s.started, s.finished, s.detail, s.checkpoint, s.error"

func (r *stepRow) record() (lcm.StepRecord, error) {
	rec := lcm.StepRecord{
		ID: r.ID, Run: r.Run, Phase: r.Phase, Name: r.Name, Target: r.Target, State: lcm.StepState(r.State),
		Attempts: r.Attempts, Started: r.Started.UTC(), Finished: timeOf(r.Finished), Detail: r.Detail,
		Checkpoint: r.Checkpoint,
	}
	return rec, decode(r.Error, &rec.Error)
}

// orFenced turns "no row" into lcm.ErrFenced.
func orFenced(what string, err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return lcm.ErrFenced
	}
	return fault(what, err)
}

// retried runs a single statement again when PostgreSQL gave it up, and announces its event.
func retried[T any](s *Store, fn func() (T, error)) (T, error) {
	var v T
	var err error
	for range tries {
		if v, err = fn(); !givenUp(err) {
			break
		}
	}
	if err == nil {
		s.announce()
	}
	return v, err
}

// BeginStep implements lcm.Journal.
func (s *Store) BeginStep(ctx context.Context, c lcm.Claim, phase, name, target string) (lcm.StepRecord, error) {
	r, err := retried(s, func() (stepRow, error) {
		return one[stepRow](s.pool.Query(ctx, progress+`kept AS (
				SELECT s.* FROM lcm_op_step s, op
				WHERE s.op_id = op.id AND s.run = op.run AND s.phase = $3 AND s.name = $4 AND s.target = $5 AND s.state IN ('OPEN', 'DONE')),
			s AS (
				INSERT INTO lcm_op_step AS old (op_id, run, phase, name, target, state, attempts, started)
				SELECT op.id, op.run, $3, $4, $5, 'OPEN', 1, now() FROM op WHERE NOT EXISTS (SELECT FROM kept)
				ON CONFLICT (op_id, run, phase, name, target) DO UPDATE SET
					attempts = old.attempts + CASE old.state WHEN 'FAILED' THEN 1 ELSE 0 END, state = 'OPEN', finished = NULL
				RETURNING *), `+stepEvent+"SELECT "+stepColumns+" FROM s UNION ALL SELECT "+stepColumns+" FROM kept s",
			c.OperationID, c.Epoch, phase, clean(name), clean(target)))
	})
	if err != nil {
		return lcm.StepRecord{}, orFenced("begin step", err)
	}
	return r.record()
}

// queueUnfinishedSteps does endSteps for an operation whose new state is stored, with the events.
func queueUnfinishedSteps(b *pgx.Batch, opID string) {
	b.Queue("WITH op AS (SELECT id, instance_id, project, state FROM vnf_lcm_op_occ WHERE id = $1), s AS ("+endSteps+
		"), "+stepEvent+
		"SELECT count(*) FROM s", opID)
}

// SaveStep implements lcm.Journal. A checkpoint is internal: only a status writes an event.
func (s *Store) SaveStep(ctx context.Context, c lcm.Claim, id int64, checkpoint json.RawMessage, status string) error {
	args := []any{c.OperationID, c.Epoch, id, noNUL(checkpoint)}
	set, told := "checkpoint = $4", ""
	if status != "" {
		args = append(args, clean(status))
		set, told = "checkpoint = $4, detail = $5", ", "+stepEvent
	}
	_, err := retried(s, func() (int64, error) {
		return value[int64](s.pool.Query(ctx, fenced+"s AS (UPDATE lcm_op_step SET "+set+
			" FROM op WHERE lcm_op_step.id = $3 AND op_id = op.id RETURNING lcm_op_step.*)"+told+" SELECT id FROM s",
			args...))
	})
	return orFenced("save step", err)
}

// EndStep implements lcm.Journal.
func (s *Store) EndStep(
	ctx context.Context, c lcm.Claim, id int64, state lcm.StepState, detail string, failure *lcm.Failure,
) error {
	fail, err := jsonb(failure)
	if err != nil {
		return err
	}
	_, err = retried(s, func() (int64, error) {
		return value[int64](s.pool.Query(ctx, progress+`s AS (
				UPDATE lcm_op_step SET state = $4, detail = $5, error = $6, finished = CASE $4 WHEN 'OPEN' THEN NULL ELSE now() END
				FROM op WHERE lcm_op_step.id = $3 AND op_id = op.id RETURNING lcm_op_step.*), `+stepEvent+"SELECT id FROM s",
			c.OperationID, c.Epoch, id, string(state), clean(detail), fail))
	})
	return orFenced("end step", err)
}

// AppendLog implements lcm.Journal: the lines are one event.
func (s *Store) AppendLog(ctx context.Context, c lcm.Claim, id int64, lines []lcm.LogLine) error {
	if len(lines) == 0 {
		return nil
	}
	good := make([]lcm.LogLine, len(lines))
	for n, l := range lines {
		good[n] = lcm.LogLine{Time: l.Time, Text: clean(l.Text)}
	}
	body, err := jsonb(good)
	if err != nil {
		return err
	}
	_, err = retried(s, func() (int64, error) {
		return value[int64](s.pool.Query(ctx, progress+`s AS (SELECT s.id, s.phase, s.name, s.target FROM lcm_op_step s, op WHERE s.id = $3 AND s.op_id = op.id),
			told AS (INSERT INTO event (kind, instance_id, op_id, project, body)
				SELECT '`+KindLog+
			`', op.instance_id, op.id, op.project, jsonb_build_object('step', s.id, 'phase', s.phase, 'name', s.name, 'target', s.target, 'lines', $4::jsonb)
				FROM s, op)
			SELECT id FROM s`, c.OperationID, c.Epoch, id, body))
	})
	return orFenced("append log", err)
}
