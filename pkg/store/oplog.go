package store

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// LoggedLine is a line of output of a step.
type LoggedLine struct {
	Step int64 // id of the step
	lcm.LogLine
}

// OperationLog reads at most limit (at least 1) lines of output of an operation's steps, in order, after a cursor ("" =
// the beginning), and returns the cursor to go on with. CodeInvalid when after is not a cursor. Lines are gone when
// their events are pruned.
//
// Of an operation that runs, it returns lines below the horizon, because parallel steps commit in any order. An
// operation at rest has all of its lines: every line was committed before the state was, because a node writes it while
// it holds the operation's row (see progress), and lines of a later run come after them. So no other transaction delays
// the lines that explain why an operation has ended.
func (s *Records) OperationLog(ctx context.Context, opID, after string, limit int) ([]LoggedLine, string, error) {
	if !known(opID) {
		return nil, "", notFound("operation", opID)
	}
	var at Cursor
	skip := 0
	if after != "" {
		var err error
		if at, skip, err = parseLogCursor(after); err != nil {
			return nil, "", err
		}
	}
	both, err := readHorizons(ctx, s.pool)
	if err != nil {
		return nil, "", err
	}
	limit = max(limit, 1)
	const page = 100
	var out []LoggedLine
	for {
		rows, err := s.pool.Query(ctx, `SELECT `+eventColumns.list+` FROM event
			WHERE op_id = $1 AND project = $6 AND kind = '`+KindLog+`' AND (tx, seq) > ($2::text::xid8, $3) 
			AND (tx < $5::text::xid8 OR EXISTS (SELECT FROM vnf_lcm_op_occ WHERE id = $1 AND state NOT IN `+running+`))
			ORDER BY tx, seq LIMIT $4`, opID, strconv.FormatUint(at.Tx, 10), at.Seq,
			min(page, limit-len(out)+1), both.database.String(), s.project)
		found, err := eventColumns.collect(s.Store, rows, err)
		if err != nil {
			return nil, "", fault("read the log", err)
		}
		for _, event := range found {
			var body struct {
				Step  int64         `json:"step"`
				Lines []lcm.LogLine `json:"lines"`
			}
			if err := json.Unmarshal(event.Body, &body); err != nil {
				return nil, "", fault("decode the log", err)
			}
			lines := body.Lines[min(skip, len(body.Lines)):]
			if room := limit - len(out); len(lines) > room {
				for _, l := range lines[:room] {
					out = append(out, LoggedLine{body.Step, l})
				}
				return out, at.String() + "+" + strconv.Itoa(skip+room), nil
			}
			for _, l := range lines {
				out = append(out, LoggedLine{body.Step, l})
			}
			at, skip = event.Cursor, 0
		}
		if len(found) == 0 || len(out) == limit {
			next := at.String()
			if skip > 0 {
				next += "+" + strconv.Itoa(skip)
			}
			return out, next, nil
		}
	}
}
