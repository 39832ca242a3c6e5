package lcm

import (
	"context"
	"time"
)

// KeepRequestKeys is how long a request with a key is known.
const KeepRequestKeys = 24 * time.Hour

// RequestKey names a request that its client may repeat (header Idempotency-Key). The store writes it in the
// transaction of the effect, so that a request takes effect once.
type RequestKey struct {
	Principal Principal
	Key       string
	// Fingerprint is the hash of the request.
	Fingerprint []byte
}

// KeptRequest is a request with a key that has taken effect.
type KeptRequest struct {
	Fingerprint []byte
	// ID is the resource that the request created, or the operation that it started or steered.
	ID string
}

type requestKeyContext struct{}

// WithRequestKey returns a context for a request with a key. The store takes the key from it where it stores the effect
// of a request.
func WithRequestKey(ctx context.Context, k *RequestKey) context.Context {
	return context.WithValue(ctx, requestKeyContext{}, k)
}

// WithoutRequestKey returns a context for work on behalf of a request that is not the effect of its key.
func WithoutRequestKey(ctx context.Context) context.Context {
	return WithRequestKey(ctx, nil)
}

// RequestKeyOf returns the key of a request; nil if it has none.
func RequestKeyOf(ctx context.Context) *RequestKey {
	k, _ := ctx.Value(requestKeyContext{}).(*RequestKey)
	return k
}
