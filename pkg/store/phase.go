package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// phases describes lcm_op_phase. The run and the id of the operation are those of the operation that is written.
var phases = table[lcm.PhaseRecord]{
	name: "lcm_op_phase", alias: "p", id: func(p *lcm.PhaseRecord) string { return p.Name },
	columns: []column[lcm.PhaseRecord]{
		scalar("run", func(p *lcm.PhaseRecord) *int { return &p.Run }, derived),
		text("name", func(p *lcm.PhaseRecord) *string { return &p.Name }, fixed),
		text("state", func(p *lcm.PhaseRecord) *lcm.PhaseState { return &p.State }),
		scalar("attempts", func(p *lcm.PhaseRecord) *int { return &p.Attempts }),
		scalar("failing", func(p *lcm.PhaseRecord) *int { return &p.Failing }),
		instant("started", func(p *lcm.PhaseRecord) *time.Time { return &p.Started }),
		instant("finished", func(p *lcm.PhaseRecord) *time.Time { return &p.Finished }),
		text("detail", func(p *lcm.PhaseRecord) *string { return &p.Detail }),
		document("error", func(p *lcm.PhaseRecord) **lcm.Failure { return &p.Error }),
	},
}

var phaseColumns = phases.selected()

// putPhases inserts the phases of the operation in op, or replaces those that differ. The argument is that of
// phaseRecords.
func putPhases(argument int) string {
	changed := phases.changed()
	stored, given := "p."+strings.Join(changed, ", p."), "EXCLUDED."+strings.Join(changed, ", EXCLUDED.")
	columns := phases.inserted()
	return "INSERT INTO lcm_op_phase AS p (op_id, run, " + strings.Join(columns, ", ") +
		") SELECT op.id, op.run, n." + strings.Join(columns, ", n.") + " FROM op, " + phases.rows(argument) +
		" n ORDER BY n.ordinality ON CONFLICT (op_id, run, name) DO UPDATE SET " + phases.replace() +
		" WHERE (" + stored + ") IS DISTINCT FROM (" + given + ") RETURNING *"
}

// phaseBody is the body of the event of a phase p.
const phaseBody = `jsonb_strip_nulls(jsonb_build_object('run', p.run, 'name', p.name, 'state', p.state, 'attempts', p.attempts, 'failing', p.failing,
	'started', p.started, 'finished', p.finished, 'detail', p.detail, 'error', p.error))`

// phaseRecords is the argument of putPhases. Of records with the same name the last one counts.
func (s *Store) phaseRecords(records []lcm.PhaseRecord) ([]byte, error) {
	var last []lcm.PhaseRecord
	for n, rec := range records {
		if !slices.ContainsFunc(records[n+1:], func(r lcm.PhaseRecord) bool { return r.Name == rec.Name }) {
			last = append(last, rec)
		}
	}
	return phases.records(s, last)
}

// Progress implements lcm.Records. An operation with several runs (after a rollback or the retry of one) has the phases
// of all of them.
func (s *Records) Progress(ctx context.Context, opID string) ([]lcm.PhaseRecord, []lcm.StepRecord, error) {
	if !known(opID) {
		return nil, nil, notFound("operation", opID)
	}
	var foundPhases []*lcm.PhaseRecord
	var foundSteps []*lcm.StepRecord
	var exists bool
	err := s.read(ctx, "read progress", func(b *pgx.Batch) {
		b.Queue("SELECT EXISTS (SELECT FROM vnf_lcm_op_occ WHERE id = $1 AND project = $2)", opID, s.project).QueryRow(
			func(row pgx.Row) error { return row.Scan(&exists) },
		)
		b.Queue("SELECT "+phaseColumns.list+" FROM lcm_op_phase p WHERE p.op_id = $1 ORDER BY p.seq", opID).Query(
			phaseColumns.into(s.Store, &foundPhases),
		)
		b.Queue("SELECT "+stepColumns.list+" FROM lcm_op_step s WHERE s.op_id = $1 ORDER BY s.id", opID).Query(
			stepColumns.into(s.Store, &foundSteps),
		)
	})
	if err != nil {
		return nil, nil, err
	}
	if !exists {
		return nil, nil, notFound("operation", opID)
	}
	return valuesOf(foundPhases), valuesOf(foundSteps), nil
}
