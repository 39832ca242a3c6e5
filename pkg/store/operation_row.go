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

	Tries                  int     `db:"tries"`
	Cancel                 string  `db:"cancel"`
	Scope                  []byte  `db:"scope"`
	Before                 []byte  `db:"before"`
	ChangedExtConnectivity []byte  `db:"changed_ext_connectivity"`
	Modifications          []byte  `db:"modifications"`
	NewPkgID               *string `db:"new_pkg_id"`

	oldPkgID *string
}

const (
	operationSmall = `o.id, o.instance_id, o.type, o.state, o.state_entered, o.started, o.updated, o.version, o.automatic,
		o.phase, o.run, o.failed_in, o.epoch, o.node, o.waiting, o.deadline, o.granted,
		o.tries, o.cancel, o.scope, o.new_pkg_id, `
	operationLarge   = operationSmall + "o.params, o.error, o.resource_changes, o.changed_info, o.changed_ext_connectivity, o.modifications, "
	operationColumns = operationLarge + "NULL::bytea AS before"
	// operationClaimed is what a node needs to work on an operation.
	operationClaimed = operationLarge + "o.before"
	// operationBrief leaves out what is large or sealed (lcm.Query.Brief).
	operationBrief = operationSmall + `NULL::bytea AS params, NULL::jsonb AS error, NULL::jsonb AS resource_changes, NULL::bytea AS changed_info,
		NULL::jsonb AS changed_ext_connectivity, NULL::bytea AS modifications, NULL::bytea AS before`
)

// ending is the part of an UPDATE of operations that lets go of what only an active one holds; state is the new state.
func ending(state string) string {
	over := "CASE WHEN " + state + " NOT IN ('COMPLETED', 'FAILED', 'ROLLED_BACK') THEN "
	return "before = " + over + "before END, new_pkg_id = " + over + "new_pkg_id END, old_pkg_id = " + over + "old_pkg_id END"
}

// encodeOperation makes the row of an operation, its secrets sealed. What never changes after admission (Params, Scope, Before and the
// packages) is left out unless it is new.
func (s *Store) encodeOperation(o *lcm.Operation, isNew bool) (*operationRow, error) {
	r := &operationRow{
		ID: o.ID, InstanceID: o.InstanceID, Type: string(o.Type), State: string(o.State), StateEntered: o.StateEntered,
		Started: o.Started, Updated: o.Updated, Version: o.Version, Automatic: o.Automatic, Phase: o.Phase, Run: o.Run,
		FailedIn: string(o.FailedIn), Epoch: o.Epoch, Node: o.Node, Waiting: clean(o.Waiting), Deadline: maybeTime(o.Deadline),
		Tries: o.Tries, Cancel: string(o.Cancel),
	}
	var info, modifications []byte
	var errs [7]error
	if isNew {
		errs[6] = s.encodeAdmitted(o, r)
	}
	if o.Modifications != nil {
		modifications, errs[4] = json.Marshal(o.Modifications)
	}
	r.Modifications = s.seal("vnf_lcm_op_occ", "modifications", o.ID, modifications)
	r.ChangedExtConnectivity, errs[5] = jsonb(o.ChangedExtConnectivity)
	if o.ChangedInfo != nil {
		info, errs[0] = json.Marshal(o.ChangedInfo)
	}
	r.ChangedInfo = s.seal("vnf_lcm_op_occ", "changed_info", o.ID, info)
	r.Granted, errs[1] = jsonb(o.Grant)
	r.Error, errs[2] = jsonb(o.Error)
	r.ResourceChanges, errs[3] = jsonb(o.ResourceChanges)
	return r, errors.Join(errs[:]...)
}

func (s *Store) encodeAdmitted(o *lcm.Operation, r *operationRow) error {
	r.Params = s.seal("vnf_lcm_op_occ", "params", o.ID, o.Params)
	r.NewPkgID = maybe(o.VnfPkgID)
	var before []byte
	var errs [2]error
	if o.Before != nil {
		before, errs[0] = json.Marshal(o.Before)
		if o.VnfPkgID != "" {
			r.oldPkgID = &o.Before.VnfPkgID
		}
	}
	r.Before = s.seal("vnf_lcm_op_occ", "before", o.ID, before)
	r.Scope, errs[1] = jsonb(o.Scope)
	return errors.Join(errs[:]...)
}

// decodeOperation is the reverse of encodeOperation.
func (s *Store) decodeOperation(r *operationRow) (*lcm.Operation, error) {
	o := &lcm.Operation{
		ID: r.ID, InstanceID: r.InstanceID, Type: sol.LcmOperationType(r.Type), State: sol.LcmOperationStateType(r.State),
		StateEntered: r.StateEntered.UTC(), Started: r.Started.UTC(), Updated: r.Updated.UTC(), Version: r.Version, Automatic: r.Automatic,
		Phase: r.Phase, Run: r.Run, FailedIn: sol.LcmOperationStateType(r.FailedIn), Epoch: r.Epoch, Node: r.Node,
		Waiting: r.Waiting, Deadline: timeOf(r.Deadline), Tries: r.Tries, Cancel: sol.CancelModeType(r.Cancel), VnfPkgID: textOf(r.NewPkgID),
	}
	var errs [4]error
	open := func(n int, column string, sealed []byte) (plain []byte) {
		plain, errs[n] = s.open("vnf_lcm_op_occ", column, r.ID, sealed)
		return plain
	}
	o.Params = open(0, "params", r.Params)
	info, before, modifications := open(1, "changed_info", r.ChangedInfo), open(2, "before", r.Before), open(3, "modifications", r.Modifications)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return o, errors.Join(
		decode(info, &o.ChangedInfo),
		decode(before, &o.Before),
		decode(modifications, &o.Modifications),
		decode(r.Scope, &o.Scope),
		decode(r.ChangedExtConnectivity, &o.ChangedExtConnectivity),
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
