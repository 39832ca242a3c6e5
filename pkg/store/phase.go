package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// phaseRow is a row of lcm_op_phase.
type phaseRow struct {
	OpID     string     `db:"op_id"`
	Run      int        `db:"run"`
	Name     string     `db:"name"`
	State    string     `db:"state"`
	Attempts int        `db:"attempts"`
	Failing  int        `db:"failing"`
	Started  time.Time  `db:"started"`
	Finished *time.Time `db:"finished"`
	Detail   string     `db:"detail"`
	Error    []byte     `db:"error"`
}

const phaseColumns = "p.op_id, p.run, p.name, p.state, p.attempts, p.failing, p.started, p.finished, p.detail, p.error"

func encodePhase(opID string, run int, rec lcm.PhaseRecord) (phaseRow, error) {
	failure, err := jsonb(rec.Error)
	return phaseRow{
		OpID: opID, Run: run, Name: rec.Name, State: string(rec.State), Attempts: rec.Attempts, Failing: rec.Failing,
		Started: rec.Started, Finished: maybeTime(rec.Finished), Detail: clean(rec.Detail), Error: failure,
	}, err
}

func (r *phaseRow) record() (lcm.PhaseRecord, error) {
	rec := lcm.PhaseRecord{
		Run: r.Run, Name: r.Name, State: lcm.PhaseState(r.State), Attempts: r.Attempts, Failing: r.Failing,
		Started: r.Started.UTC(), Finished: timeOf(r.Finished), Detail: r.Detail,
	}
	return rec, decode(r.Error, &rec.Error)
}

// queuePhase inserts or replaces a phase record, with its event when it differs from what is stored.
func queuePhase(b *pgx.Batch, instanceID string, r phaseRow) {
	b.Queue(`WITH p AS (
			INSERT INTO lcm_op_phase AS p (op_id, run, name, state, attempts, failing, started, finished, detail, error)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
			ON CONFLICT (op_id, run, name) DO UPDATE SET state = $4, attempts = $5, failing = $6, started = $7, finished = $8, detail = $9, error = $10
			WHERE (p.state, p.attempts, p.failing, p.started, p.finished, p.detail, p.error)
				IS DISTINCT FROM ($4, $5::integer, $6::integer, $7::timestamptz, $8::timestamptz, $9, $10::jsonb)
			RETURNING *)
		INSERT INTO event (kind, instance_id, op_id, project, body)
		SELECT '`+KindPhase+`', $11, p.op_id, o.project, jsonb_strip_nulls(jsonb_build_object('run', p.run, 'name', p.name, 'state', p.state,
			'attempts', p.attempts, 'failing', p.failing, 'started', p.started, 'finished', p.finished, 'detail', p.detail, 'error', p.error))
		FROM p JOIN vnf_lcm_op_occ o ON o.id = p.op_id`,
		r.OpID, r.Run, r.Name, r.State, r.Attempts, r.Failing, r.Started, r.Finished, r.Detail, r.Error, instanceID)
}

// Progress implements lcm.Records. An operation with several runs (after a rollback or the retry of one) has the phases of all of them.
func (s *Records) Progress(ctx context.Context, opID string) ([]lcm.PhaseRecord, []lcm.StepRecord, error) {
	if !known(opID) {
		return nil, nil, notFound("operation", opID)
	}
	var phaseRows []phaseRow
	var stepRows []stepRow
	var exists bool
	err := s.read(ctx, "read progress", func(b *pgx.Batch) {
		b.Queue("SELECT EXISTS (SELECT FROM vnf_lcm_op_occ WHERE id = $1 AND project = $2)", opID, s.project).QueryRow(func(row pgx.Row) error { return row.Scan(&exists) })
		b.Queue("SELECT "+phaseColumns+" FROM lcm_op_phase p WHERE p.op_id = $1 ORDER BY p.seq", opID).Query(collect(&phaseRows))
		b.Queue("SELECT "+stepColumns+" FROM lcm_op_step s WHERE s.op_id = $1 ORDER BY s.id", opID).Query(collect(&stepRows))
	})
	if err != nil {
		return nil, nil, err
	}
	if !exists {
		return nil, nil, notFound("operation", opID)
	}
	phases := make([]lcm.PhaseRecord, len(phaseRows))
	for n := range phaseRows {
		if phases[n], err = phaseRows[n].record(); err != nil {
			return nil, nil, err
		}
	}
	steps := make([]lcm.StepRecord, len(stepRows))
	for n := range stepRows {
		if steps[n], err = stepRows[n].record(); err != nil {
			return nil, nil, err
		}
	}
	return phases, steps, nil
}
