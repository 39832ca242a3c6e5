package store

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// The statements of a tick: of one that left the instance as it was, and of one that changed it.
var (
	tickOfOperation = tickStatement(false)
	tickOfInstance  = tickStatement(true)
)

// The arguments of a tick's statement begin with the id, the claim and the new state of the operation and the body of
// the state's event. These are the numbers of the first arguments with phases, messages and columns of the operation.
// The instance's fingerprint, event and columns follow.
const (
	tickPhases   = 5
	tickMessages = tickPhases + 1
	tickColumns  = tickMessages + 1
)

// tickStatement writes an operation with its phases, messages and events, and its instance. Every part depends on op,
// which has a row only if the claim is the newest, and which locks the operation against the next claim. The events of
// phases and steps come before the one of the state, so that a follower has seen all of them when the operation comes
// to rest.
func tickStatement(instance bool) string {
	update, event, result := "", "", "NULL::bigint, NULL::timestamptz FROM op"
	filtered := func(column string) string { return "i." + column }
	join := ""
	if instance {
		first := tickColumns + len(operations.changed())
		update = `inst AS (UPDATE vnf_instance i SET version = i.version + 1, updated = now(), fingerprint = ` +
			place(first) + `, ` +
			instances.set(first+2) + ` FROM op WHERE i.id = op.instance_id AND i.fingerprint <> ` + place(first) + `
				RETURNING i.id, i.version, i.updated, i.` + strings.Join(messageColumns, ", i.") + `), `
		event = ` UNION ALL SELECT 3, 0, '` + KindInstanceUpdated + `', inst.id, NULL, op.project, ` + place(first+1) +
			`::jsonb FROM inst, op`
		result = "inst.version, inst.updated FROM op LEFT JOIN inst ON true"
		filtered = func(column string) string { return "coalesce(inst." + column + ", i." + column + ")" }
		join = " LEFT JOIN inst ON true" // the row of i is the one from before
	}
	return `WITH op AS (UPDATE vnf_lcm_op_occ o SET version = o.version + 1, updated = now(), ` + ending("$3") + `, ` + operations.set(tickColumns) + `
			FROM (SELECT id, state FROM vnf_lcm_op_occ WHERE id = $1 AND epoch = $2 FOR NO KEY UPDATE) old
			WHERE o.id = old.id RETURNING o.id, o.instance_id, o.type, o.state, o.project, o.run, o.version, o.updated, old.state AS previous), ` +
		update + `
		phase AS (` + putPhases(tickPhases) + `),
		step AS (` + endSteps + `),
		message AS (` + putMessages(
		"op LEFT JOIN vnf_instance i ON i.id = op.instance_id"+join+", "+messages.rows(tickMessages)+" m", filtered,
		"op", "op.project",
	) + `),
		told AS (INSERT INTO event (kind, instance_id, op_id, project, body)
			SELECT kind, instance_id, op_id, project, body FROM (
				SELECT 0 AS part, p.seq AS place, '` + KindPhase +
		`' AS kind, op.instance_id, op.id AS op_id, op.project, ` + phaseBody + ` AS body FROM phase p, op
				UNION ALL SELECT 1, s.id, '` + KindStep + `', op.instance_id, op.id, op.project, ` + stepBody +
		` FROM step s, op
				UNION ALL SELECT 2, 0, '` + KindOperationState + `', op.instance_id, op.id, op.project, $4::jsonb FROM op WHERE op.previous <> op.state` +
		event + `) e ORDER BY part, place)
		SELECT op.version, op.updated, ` + result
}

// place is the placeholder of an argument.
func place(n int) string { return "$" + strconv.Itoa(n) }

// tickWrite is a tick ready for the database.
type tickWrite struct {
	sql         string
	args        []any
	fingerprint []byte // of the instance
}

// encodeTick makes the statement of a tick and its arguments. An instance with the fingerprint of the stored one is not
// sent.
func (s *Store) encodeTick(c lcm.Claim, t lcm.Tick) (tickWrite, error) {
	op, err := operations.encode(s, t.Op, operations.changing)
	if err != nil {
		return tickWrite{}, err
	}
	phases, err := s.phaseRecords(t.Phases)
	if err != nil {
		return tickWrite{}, err
	}
	sent, err := messages.records(s, t.Messages)
	if err != nil {
		return tickWrite{}, err
	}
	w := tickWrite{sql: tickOfOperation, args: []any{
		c.OperationID, c.Epoch, string(t.Op.State), operationBody(t.Op), phases, sent,
	}}
	w.args = append(w.args, operations.changes(op)...)
	if t.Instance == nil {
		return w, nil
	}

	inst, err := instances.encode(s, t.Instance, func(c column[lcm.Instance]) bool { return !c.traits.has(rendered) })
	if err != nil {
		return tickWrite{}, err
	}
	w.fingerprint = inst.fingerprint
	if bytes.Equal(inst.fingerprint, t.Instance.Fingerprint) {
		return w, nil
	}
	if inst, err = instances.encode(s, t.Instance, instances.every); err != nil {
		return tickWrite{}, err
	}
	w.sql = tickOfInstance
	w.args = append(w.args, inst.fingerprint, stateBody(string(t.Instance.State)))
	w.args = append(w.args, instances.changes(inst)...)
	return w, nil
}
