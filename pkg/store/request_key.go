package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// The fingerprint of a request is sealed: a request can hold passwords, and a hash would let a reader of the database
// try some.
const requestKeys, requestFingerprint = "request_key", "fingerprint"

// queueRequestKey adds the key of the request, if it has one, to the transaction of its effect on a resource. The
// transaction fails if another request with the key has taken effect. An expired row makes room.
func (s *Store) queueRequestKey(ctx context.Context, b *pgx.Batch, id string) {
	k := lcm.RequestKeyOf(ctx)
	if k == nil {
		return
	}
	project, subject := projectOf(k.Principal), senderOf(k.Principal)
	b.Queue(`DELETE FROM request_key WHERE project = $1 AND subject = $2 AND key = $3
		AND created < now() - $4::interval`, project, subject, k.Key, lcm.KeepRequestKeys)
	row := uuid.NewString()
	b.Queue("INSERT INTO request_key (project, subject, key, row_id, fingerprint, id) VALUES ($1, $2, $3, $4, $5, $6)",
		project, subject, k.Key, row, s.seal(requestKeys, requestFingerprint, row, k.Fingerprint), id)
}

// senderOf tells principals apart. The same name can be used in different modes of authentication.
func senderOf(p lcm.Principal) string { return clean(p.Mode + " " + p.Subject) }

// keyUsed is the answer to a request whose key another one has used at the same time.
func keyUsed(err error) *lcm.Error {
	return &lcm.Error{
		Code: lcm.CodeConflict, Title: "Request in progress", RetryAfter: time.Second, Cause: err,
		Detail: "another request with the same Idempotency-Key is being processed",
		Hint:   "send the request again later",
	}
}

// KeptRequest returns the request with a key that has taken effect; nil if there is none.
func (s *Store) KeptRequest(ctx context.Context, k *lcm.RequestKey) (*lcm.KeptRequest, error) {
	kept := &lcm.KeptRequest{}
	var row string
	var sealed []byte
	err := s.pool.QueryRow(ctx, `SELECT row_id::text, fingerprint, id::text FROM request_key
		WHERE project = $1 AND subject = $2 AND key = $3 AND created >= now() - $4::interval`,
		projectOf(k.Principal), senderOf(k.Principal), k.Key, lcm.KeepRequestKeys).Scan(&row, &sealed, &kept.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err == nil {
		kept.Fingerprint, err = s.open(requestKeys, requestFingerprint, row, sealed)
	}
	return kept, fault("look for a repeated request", err)
}

// PruneRequestKeys deletes requests older than age, at most limit of them, and returns how many.
func (s *Store) PruneRequestKeys(ctx context.Context, age time.Duration, limit int) (int64, error) {
	tag, err := s.pool.Exec(ctx, `DELETE FROM request_key WHERE ctid = ANY (ARRAY(
		SELECT ctid FROM request_key WHERE created < now() - $1::interval ORDER BY created LIMIT $2
		FOR UPDATE SKIP LOCKED))`, age, limit)
	return tag.RowsAffected(), fault("prune request keys", err)
}
