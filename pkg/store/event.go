package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Kinds of events, which package gybeapi names, with their bodies. A follower that needs more than the body reads the
// resource itself.
const (
	KindInstanceCreated = gybeapi.KindInstanceCreated // {"state"}
	KindInstanceUpdated = gybeapi.KindInstanceUpdated // {"state"}
	KindInstanceDeleted = gybeapi.KindInstanceDeleted // {}
	KindOperationState  = gybeapi.KindOperationState  // {"operation","state","entered","run","error"}
	// {"run","name","state","attempts","failing","started","finished","detail","error"}
	KindPhase = gybeapi.KindPhase
	// {"id","run","phase","name","target","state","attempts","started","finished","detail","error"}
	KindStep = gybeapi.KindStep
	KindLog  = gybeapi.KindLog // {"step","phase","name","target","lines":[{"time","text"}]}
	// {"onboardingState","operationalState","usageState","signature"}; the last one for an onboarded package
	KindPackage        = gybeapi.KindPackage
	KindPackageDeleted = gybeapi.KindPackageDeleted // {}
	KindVim            = gybeapi.KindVim            // {"id","name"}
	KindVimDeleted     = gybeapi.KindVimDeleted     // {"id"}
)

// Event is one entry of the feed.
type Event struct {
	Cursor     Cursor    `json:"cursor"`
	Time       time.Time `json:"time"`
	Kind       string    `json:"kind"`
	InstanceID string    `json:"vnfInstanceId,omitempty"`
	OpID       string    `json:"vnfLcmOpOccId,omitempty"`
	PackageID  string    `json:"vnfPkgId,omitempty"`
	Project    string    `json:"-"`
	// Others says that the event is for all projects but Project, e.g. of a package that it shares.
	Others bool            `json:"-"`
	Body   json.RawMessage `json:"body"`
}

// Cursor is a place in the feed: everything after it is still to come. Its text form is the event id of server-sent
// events. Cursors of two events compare as the events are ordered.
type Cursor struct {
	Tx  uint64
	Seq int64
}

// String is the form that ParseCursor reads.
func (c Cursor) String() string {
	return strconv.FormatUint(c.Tx, 10) + "-" + strconv.FormatInt(c.Seq, 10)
}

// MarshalText makes the text form that ParseCursor reads.
func (c Cursor) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads the text form.
func (c *Cursor) UnmarshalText(text []byte) error {
	v, err := ParseCursor(string(text))
	*c = v
	return err
}

// After reports whether c is behind d in the feed.
func (c Cursor) After(d Cursor) bool { return c.Tx > d.Tx || c.Tx == d.Tx && c.Seq > d.Seq }

// ParseCursor reads a cursor; CodeInvalid when the text is none. It takes those of OperationLog, too: of an event of
// which a part was read nothing counts as read.
func ParseCursor(text string) (Cursor, error) {
	c, _, err := parseLogCursor(text)
	return c, err
}

// parseLogCursor reads a cursor with the number of lines that were read of the event after it.
func parseLogCursor(text string) (Cursor, int, error) {
	place, part, partial := strings.Cut(text, "+")
	tx, seq, ok := strings.Cut(place, "-")
	if ok {
		t, err1 := strconv.ParseUint(tx, 10, 64)
		n, err2 := strconv.ParseInt(seq, 10, 64)
		lines := 0
		var err3 error
		if partial {
			lines, err3 = strconv.Atoi(part)
		}
		if err1 == nil && err2 == nil && err3 == nil && n >= 0 && lines >= 0 {
			return Cursor{Tx: t, Seq: n}, lines, nil
		}
	}
	return Cursor{}, 0, lcm.Errorf(lcm.CodeInvalid, "%q is not an event id", clean(text[:min(len(text), 64)]))
}

// EventQuery bounds a read of the feed.
type EventQuery struct {
	After Cursor // the zero Cursor is the beginning
	Limit int    // at most 1000, which is also the default
	OpID  string // events of one operation only; "" = all
	// Project limits the events to those that a project sees; "" = all.
	Project string
}

const maxEvents = 1000

// Events reads the feed in its order. It returns only what can have nothing new before it: an event shows up once no
// older transaction of this database runs any more, normally within milliseconds.
func (s *Store) Events(ctx context.Context, q EventQuery) ([]Event, error) {
	if q.OpID != "" && !known(q.OpID) {
		return nil, notFound("operation", q.OpID)
	}
	both, err := readHorizons(ctx, s.pool)
	if err != nil {
		return nil, err
	}
	ev, _, err := s.events(ctx, s.pool, q, both.database)
	return ev, err
}

// feedEvents describes event as it is read. The statements that write events name the columns that they know.
var feedEvents = table[Event]{
	name: "event", alias: "event", id: func(e *Event) string { return e.Cursor.String() },
	columns: []column[Event]{
		scalar("tx", func(e *Event) *uint64 { return &e.Cursor.Tx }),
		scalar("seq", func(e *Event) *int64 { return &e.Cursor.Seq }),
		instant("time", func(e *Event) *time.Time { return &e.Time }),
		text("kind", func(e *Event) *string { return &e.Kind }),
		maybeText("instance_id", func(e *Event) *string { return &e.InstanceID }),
		maybeText("op_id", func(e *Event) *string { return &e.OpID }),
		maybeText("package_id", func(e *Event) *string { return &e.PackageID }),
		text("project", func(e *Event) *string { return &e.Project }),
		scalar("others", func(e *Event) *bool { return &e.Others }),
		rawDocument("body", func(e *Event) *json.RawMessage { return &e.Body }),
	},
}

var eventColumns = feedEvents.selected()

// events reads the feed below a horizon, 0 = that of the query's snapshot. held says that committed events wait for an
// older transaction to end.
func (s *Store) events(
	ctx context.Context, q querier, eq EventQuery, below horizon,
) (_ []Event, held bool, err error) {
	n := eq.Limit
	if n <= 0 || n > maxEvents {
		n = maxEvents
	}
	after := strconv.FormatUint(eq.After.Tx, 10)
	limit := "pg_snapshot_xmin(pg_current_snapshot())"
	if below > 0 {
		limit = "'" + below.String() + "'::xid8"
	}
	c := listClause{args: []any{after, eq.After.Seq, n}}
	c.from = "(tx, seq) > ($1::text::xid8, $2) AND tx < " + limit
	if eq.OpID != "" {
		c.from += " AND op_id = " + c.place(eq.OpID)
	}
	if eq.Project != "" {
		c.from += " AND (project = " + c.place(eq.Project) + ") <> others"
	}
	rows, err := q.Query(
		ctx, "SELECT "+eventColumns.list+" FROM event WHERE "+c.from+" ORDER BY tx, seq LIMIT $3", c.args...,
	)
	found, err := eventColumns.collect(s, rows, err)
	if err == nil && len(found) < n {
		// Not with the limit: this statement has another snapshot, whose limit may be above an event that the first one
		// left out.
		last := eq.After
		if len(found) > 0 {
			last = found[len(found)-1].Cursor
		}
		held, err = value[bool](q.Query(
			ctx, "SELECT EXISTS (SELECT FROM event WHERE (tx, seq) > ($1::text::xid8, $2))",
			strconv.FormatUint(last.Tx, 10), last.Seq,
		))
	}
	if err != nil {
		return nil, false, fault("read events", err)
	}
	return valuesOf(found), held || len(found) == n, nil
}

// value collects the only value of a query.
func value[T any](rows pgx.Rows, err error) (T, error) {
	if err != nil {
		var zero T
		return zero, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
}

// LastEvent returns the cursor of the newest event that Events would return; the zero Cursor when there is none.
func (s *Store) LastEvent(ctx context.Context) (Cursor, error) { return s.lastEvent(ctx, s.pool) }

func (s *Store) lastEvent(ctx context.Context, q querier) (Cursor, error) {
	type row struct {
		Tx  uint64 `db:"tx"`
		Seq int64  `db:"seq"`
	}
	both, err := readHorizons(ctx, q)
	if err != nil {
		return Cursor{}, err
	}
	r, err := one[row](q.Query(
		ctx, "SELECT tx, seq FROM event WHERE tx < $1::text::xid8 ORDER BY tx DESC, seq DESC LIMIT 1",
		both.database.String(),
	))
	if errors.Is(err, pgx.ErrNoRows) {
		return Cursor{}, nil
	}
	return Cursor(r), fault("read the last event", err)
}

// PruneEvents deletes events older than age, at most limit of them, and returns how many.
func (s *Store) PruneEvents(ctx context.Context, age time.Duration, limit int) (int64, error) {
	tag, err := s.pool.Exec(ctx, `DELETE FROM event WHERE (tx, seq) IN (
		SELECT tx, seq FROM event WHERE time < now() - $1::interval ORDER BY tx, seq LIMIT $2)`, age, limit)
	return tag.RowsAffected(), fault("prune events", err)
}

// rebaseEvents repairs the order of events and of the audit trail after a database was restored into another cluster,
// whose transaction ids are lower than those that the rows carry: without it no follower would see new rows.
func (s *Store) rebaseEvents(ctx context.Context) error {
	tag, err := s.pool.Exec(ctx, "UPDATE event SET tx = '3' WHERE tx > pg_snapshot_xmax(pg_current_snapshot())")
	if err == nil && tag.RowsAffected() > 0 {
		s.log.WarnContext(ctx, "events come from another database cluster and were put before all new ones", "events",
			tag.RowsAffected())
	}
	if err == nil {
		_, err = s.pool.Exec(ctx, "UPDATE audit SET tx = '3' WHERE tx > pg_snapshot_xmax(pg_current_snapshot())")
	}
	if err == nil { // they would regard all new messages as older than themselves
		_, err = s.pool.Exec(ctx, `UPDATE subscription SET since = NULL
			WHERE pg_snapshot_xmax(since) > pg_snapshot_xmax(pg_current_snapshot())`)
	}
	return fault("check events", err)
}

// queueEvent adds an event of the project to a transaction. opID may be "".
func (s *Records) queueEvent(b *pgx.Batch, kind, instanceID, opID string, body []byte) {
	b.Queue("INSERT INTO event (kind, instance_id, op_id, body, project) VALUES ($1, $2, $3, $4, $5)", kind, instanceID,
		nilIfEmpty(opID), body, s.project)
}

// stateBody is the body of an event that says no more than a state.
func stateBody(state string) []byte { return fmt.Appendf(nil, `{"state":%q}`, state) }

// operationBody is the body of KindOperationState.
func operationBody(op *lcm.Operation) []byte {
	body, err := jsonb(struct {
		Operation string       `json:"operation"`
		State     string       `json:"state"`
		Entered   time.Time    `json:"entered"`
		Run       int          `json:"run"`
		Cancel    string       `json:"cancel,omitempty"`
		Error     *lcm.Failure `json:"error,omitempty"`
	}{string(op.Type), string(op.State), op.StateEntered.UTC(), op.Run, string(op.Cancel), op.Error})
	if err != nil {
		return stateBody(string(op.State)) // strings and numbers always encode
	}
	return body
}
