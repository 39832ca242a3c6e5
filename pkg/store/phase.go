package store

import (
	"context"
	"slices"
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

func (r *phaseRow) record() (lcm.PhaseRecord, error) {
	rec := lcm.PhaseRecord{
		Run: r.Run, Name: r.Name, State: lcm.PhaseState(r.State), Attempts: r.Attempts, Failing: r.Failing,
		Started: r.Started.UTC(), Finished: timeOf(r.Finished), Detail: r.Detail,
	}
	return rec, decode(r.Error, &rec.Error)
}

// putPhases inserts the phases of the operation in op, or replaces those that differ. The arguments with their values,
// of phaseArgs, start at first.
func putPhases(first int) string {
	return `INSERT INTO lcm_op_phase AS p (op_id, run, name, state, attempts, failing, started, finished, detail, error)
		SELECT op.id, op.run, n.name, n.state, n.attempts, n.failing, n.started, n.finished, n.detail, n.error::jsonb
		FROM op, unnest(` + place(first) + `::text[], ` + place(first+1) + `::text[], ` + place(first+2) + `::integer[], ` + place(first+3) + `::integer[], ` +
		place(first+4) + `::timestamptz[], ` + place(first+5) + `::timestamptz[], ` + place(first+6) + `::text[], ` + place(first+7) + `::text[])
			WITH ORDINALITY n (name, state, attempts, failing, started, finished, detail, error, place) ORDER BY n.place
		ON CONFLICT (op_id, run, name) DO UPDATE SET state = EXCLUDED.state, attempts = EXCLUDED.attempts, failing = EXCLUDED.failing,
			started = EXCLUDED.started, finished = EXCLUDED.finished, detail = EXCLUDED.detail, error = EXCLUDED.error
		WHERE (p.state, p.attempts, p.failing, p.started, p.finished, p.detail, p.error) IS DISTINCT FROM
			(EXCLUDED.state, EXCLUDED.attempts, EXCLUDED.failing, EXCLUDED.started, EXCLUDED.finished, EXCLUDED.detail, EXCLUDED.error)
		RETURNING *`
}

// phaseBody is the body of the event of a phase p.
const phaseBody = `jsonb_strip_nulls(jsonb_build_object('run', p.run, 'name', p.name, 'state', p.state, 'attempts', p.attempts, 'failing', p.failing,
	'started', p.started, 'finished', p.finished, 'detail', p.detail, 'error', p.error))`

// phaseArgs are the arguments of putPhases. Of records with the same name the last one counts.
func phaseArgs(records []lcm.PhaseRecord) ([]any, error) {
	var names, states, details []string
	var attempts, failing []int
	var started []time.Time
	var finished []*time.Time
	var failures []*string
	for n, rec := range records {
		if slices.ContainsFunc(records[n+1:], func(later lcm.PhaseRecord) bool { return later.Name == rec.Name }) {
			continue
		}
		failure, err := jsonb(rec.Error)
		if err != nil {
			return nil, err
		}
		names, states, details = append(names, rec.Name), append(states, string(rec.State)), append(
			details, clean(rec.Detail),
		)
		attempts, failing = append(attempts, rec.Attempts), append(failing, rec.Failing)
		started, finished, failures = append(started, rec.Started), append(finished, maybeTime(rec.Finished)), append(
			failures, maybe(string(failure)),
		)
	}
	return []any{names, states, attempts, failing, started, finished, details, failures}, nil
}

// Progress implements lcm.Records. An operation with several runs (after a rollback or the retry of one) has the phases
// of all of them.
func (s *Records) Progress(ctx context.Context, opID string) ([]lcm.PhaseRecord, []lcm.StepRecord, error) {
	if !known(opID) {
		return nil, nil, notFound("operation", opID)
	}
	var phaseRows []phaseRow
	var stepRows []stepRow
	var exists bool
	err := s.read(ctx, "read progress", func(b *pgx.Batch) {
		b.Queue("SELECT EXISTS (SELECT FROM vnf_lcm_op_occ WHERE id = $1 AND project = $2)", opID, s.project).QueryRow(
			func(row pgx.Row) error { return row.Scan(&exists) },
		)
		b.Queue("SELECT "+phaseColumns+" FROM lcm_op_phase p WHERE p.op_id = $1 ORDER BY p.seq", opID).Query(
			collect(&phaseRows),
		)
		b.Queue("SELECT "+stepColumns+" FROM lcm_op_step s WHERE s.op_id = $1 ORDER BY s.id",
			opID).Query(collect(&stepRows))
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
