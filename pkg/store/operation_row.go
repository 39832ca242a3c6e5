package store

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// operationRow is a row of vnf_lcm_op_occ.
type operationRow struct {
	ID              string     `db:"id"`
	InstanceID      string     `db:"instance_id"`
	Type            string     `db:"type"`
	State           string     `db:"state"`
	StateEntered    time.Time  `db:"state_entered"`
	Started         time.Time  `db:"started"`
	Updated         time.Time  `db:"updated"`
	Version         int64      `db:"version"`
	Automatic       bool       `db:"automatic"`
	Params          []byte     `db:"params"`
	Phase           string     `db:"phase"`
	Run             int        `db:"run"`
	FailedIn        string     `db:"failed_in"`
	Epoch           int64      `db:"epoch"`
	Node            string     `db:"node"`
	Waiting         string     `db:"waiting"`
	Deadline        *time.Time `db:"deadline"`
	Granted         []byte     `db:"granted"`
	Error           []byte     `db:"error"`
	ResourceChanges []byte     `db:"resource_changes"`
	ChangedInfo     []byte     `db:"changed_info"`
}

const (
	operationSmall = `o.id, o.instance_id, o.type, o.state, o.state_entered, o.started, o.updated, o.version, o.automatic,
		o.phase, o.run, o.failed_in, o.epoch, o.node, o.waiting, o.deadline, o.granted, `
	operationColumns = operationSmall + "o.params, o.error, o.resource_changes, o.changed_info"
	// operationBrief leaves out what is large or sealed (lcm.Query.Brief).
	operationBrief = operationSmall + "NULL::bytea AS params, NULL::jsonb AS error, NULL::jsonb AS resource_changes, NULL::bytea AS changed_info"
)

// encodeOperation makes the row of an operation, its secrets sealed. Params never change after admission and are left out unless asked for.
func (s *Store) encodeOperation(o *lcm.Operation, params bool) (*operationRow, error) {
	r := &operationRow{
		ID: o.ID, InstanceID: o.InstanceID, Type: string(o.Type), State: string(o.State), StateEntered: o.StateEntered,
		Started: o.Started, Updated: o.Updated, Version: o.Version, Automatic: o.Automatic, Phase: o.Phase, Run: o.Run,
		FailedIn: string(o.FailedIn), Epoch: o.Epoch, Node: o.Node, Waiting: clean(o.Waiting), Deadline: maybeTime(o.Deadline),
	}
	if params {
		r.Params = s.seal("vnf_lcm_op_occ", "params", o.ID, o.Params)
	}
	var info []byte
	var errs [4]error
	if o.ChangedInfo != nil {
		info, errs[0] = json.Marshal(o.ChangedInfo)
	}
	r.ChangedInfo = s.seal("vnf_lcm_op_occ", "changed_info", o.ID, info)
	r.Granted, errs[1] = jsonb(o.Grant)
	r.Error, errs[2] = jsonb(o.Error)
	r.ResourceChanges, errs[3] = jsonb(o.ResourceChanges)
	return r, errors.Join(errs[:]...)
}

// decodeOperation is the reverse of encodeOperation.
func (s *Store) decodeOperation(r *operationRow) (*lcm.Operation, error) {
	o := &lcm.Operation{
		ID: r.ID, InstanceID: r.InstanceID, Type: sol.LcmOperationType(r.Type), State: sol.LcmOperationStateType(r.State),
		StateEntered: r.StateEntered.UTC(), Started: r.Started.UTC(), Updated: r.Updated.UTC(), Version: r.Version, Automatic: r.Automatic,
		Phase: r.Phase, Run: r.Run, FailedIn: sol.LcmOperationStateType(r.FailedIn), Epoch: r.Epoch, Node: r.Node,
		Waiting: r.Waiting, Deadline: timeOf(r.Deadline),
	}
	params, err := s.open("vnf_lcm_op_occ", "params", r.ID, r.Params)
	if err != nil {
		return nil, err
	}
	o.Params = params
	info, err := s.open("vnf_lcm_op_occ", "changed_info", r.ID, r.ChangedInfo)
	if err != nil {
		return nil, err
	}
	return o, errors.Join(
		decode(info, &o.ChangedInfo),
		decode(r.Granted, &o.Grant),
		decode(r.Error, &o.Error),
		decode(r.ResourceChanges, &o.ResourceChanges),
	)
}

func states(in []sol.LcmOperationStateType) []string {
	if len(in) == 0 {
		return nil
	}
	out := make([]string, len(in))
	for n, s := range in {
		out[n] = string(s)
	}
	return out
}
