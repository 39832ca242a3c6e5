package store

import (
	"context"
	"strconv"
	"time"

	"github.com/gybe-nfv/gybe/pkg/notify"
)

// Written is a message of the outbox with the transaction that wrote it.
type Written struct {
	notify.Message
	Tx      uint64
	Subject string // id of the resource that it is about
}

// MessagesOf returns the messages that transactions have written, in order. They are in the order of events: a follower
// of the feed finds the messages of events by their transactions. Messages about what other projects share are among
// them.
func (s *Records) MessagesOf(ctx context.Context, transactions []uint64) ([]Written, error) {
	type row struct {
		Tx      int64     `db:"tx"`
		Subject string    `db:"subject"`
		ID      string    `db:"id"`
		API     string    `db:"api"`
		Kind    string    `db:"kind"`
		Time    time.Time `db:"time"`
		Body    []byte    `db:"body"`
	}
	ids := make([]string, len(transactions))
	for n, tx := range transactions {
		ids[n] = strconv.FormatUint(tx, 10)
	}
	rows, err := all[row](s.pool.Query(ctx, "SELECT m.tx::text::bigint AS tx, "+subjectOf+` AS subject, m.id::text AS id,
			m.api, m.kind, m.time, m.body
		FROM outbox m WHERE m.tx = ANY ($1::text[]::xid8[]) AND m.tx > '0'
			AND (m.audience = 'ALL' OR (m.project = $2) = (m.audience = 'PROJECT')) ORDER BY m.tx, m.seq`,
		ids, s.project))
	if err != nil {
		return nil, fault("read messages", err)
	}
	out := make([]Written, len(rows))
	for n, r := range rows {
		out[n] = Written{
			Tx: uint64(r.Tx), Subject: r.Subject,
			Message: notify.Message{ID: r.ID, API: r.API, Kind: r.Kind, Time: r.Time.UTC(), Body: r.Body},
		}
	}
	return out, nil
}
