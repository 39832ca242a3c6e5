package store

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
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

// steps describes lcm_op_step as it is read. The statements of the journal name the columns that they change.
var steps = table[lcm.StepRecord]{
	name: "lcm_op_step", alias: "s", id: func(r *lcm.StepRecord) string { return strconv.FormatInt(r.ID, 10) },
	columns: []column[lcm.StepRecord]{
		scalar("id", func(r *lcm.StepRecord) *int64 { return &r.ID }),
		scalar("run", func(r *lcm.StepRecord) *int { return &r.Run }),
		text("phase", func(r *lcm.StepRecord) *string { return &r.Phase }),
		text("name", func(r *lcm.StepRecord) *string { return &r.Name }),
		text("target", func(r *lcm.StepRecord) *string { return &r.Target }),
		text("state", func(r *lcm.StepRecord) *lcm.StepState { return &r.State }),
		scalar("attempts", func(r *lcm.StepRecord) *int { return &r.Attempts }),
		instant("started", func(r *lcm.StepRecord) *time.Time { return &r.Started }),
		instant("finished", func(r *lcm.StepRecord) *time.Time { return &r.Finished }),
		text("detail", func(r *lcm.StepRecord) *string { return &r.Detail }),
		rawDocument("checkpoint", func(r *lcm.StepRecord) *json.RawMessage { return &r.Checkpoint }),
		document("error", func(r *lcm.StepRecord) **lcm.Failure { return &r.Error }),
	},
}

var stepColumns = steps.selected()

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

// beginStep returns the step with a phase, name and target of the current run, and opens it unless it is open or done.
var beginStep = progress + `kept AS (
		SELECT s.* FROM lcm_op_step s, op
		WHERE s.op_id = op.id AND s.run = op.run AND s.phase = $3 AND s.name = $4 AND s.target = $5
			AND s.state IN ('OPEN', 'DONE')),
	s AS (
		INSERT INTO lcm_op_step AS old (op_id, run, phase, name, target, state, attempts, started)
		SELECT op.id, op.run, $3, $4, $5, 'OPEN', 1, now() FROM op WHERE NOT EXISTS (SELECT FROM kept)
		ON CONFLICT (op_id, run, phase, name, target) DO UPDATE SET
			attempts = old.attempts + CASE old.state WHEN 'FAILED' THEN 1 ELSE 0 END, state = 'OPEN', finished = NULL
		RETURNING *), ` + stepEvent +
	"SELECT " + stepColumns.list + " FROM s UNION ALL SELECT " + stepColumns.list + " FROM kept s"

// BeginStep implements lcm.Journal.
func (s *Store) BeginStep(ctx context.Context, c lcm.Claim, phase, name, target string) (lcm.StepRecord, error) {
	r, err := retried(s, func() (*lcm.StepRecord, error) {
		rows, err := s.pool.Query(ctx, beginStep, c.OperationID, c.Epoch, phase, clean(name), clean(target))
		return stepColumns.one(s, rows, err)
	})
	if err != nil {
		return lcm.StepRecord{}, orFenced("begin step", err)
	}
	return *r, nil
}

// Begun implements lcm.Journal.
func (s *Store) Begun(ctx context.Context, c lcm.Claim) (bool, error) {
	begun, err := value[bool](s.pool.Query(
		ctx, "SELECT EXISTS (SELECT FROM lcm_op_step WHERE op_id = $1)", c.OperationID,
	))
	return begun, fault("look for steps", err)
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
