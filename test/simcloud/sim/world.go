// Package sim is what the simulated services stand on: one lock over all their objects, background work, time and ids.
package sim

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/test/simcloud/fault"
	"github.com/gybe-nfv/gybe/test/simcloud/fleet"
	"github.com/gybe-nfv/gybe/test/simcloud/timing"
)

// World is shared by all services of one cloud. Its lock guards every object of every service, so that what one
// service does to another's objects is atomic; no code may wait, or call the fleet, while holding it.
type World struct {
	mu sync.Mutex

	// Log receives what an operator of the cloud would see.
	Log *slog.Logger
	// Faults are the rules in force, Timing how long things take.
	Faults *fault.Set
	Timing *timing.Store
	// Fleet plays the inside of the servers. Reachable is the network whose addresses it can bind.
	Fleet     fleet.Machines
	Reachable netip.Prefix
	// BaseURL is the root of all services without a trailing slash.
	BaseURL string

	workMu sync.Mutex
	work   *epoch
}

// epoch is the background work between two resets.
type epoch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup
}

// ErrReset is the cause of the cancellation of background work when the cloud is reset or closed.
var ErrReset = errors.New("the cloud was reset")

// NewWorld returns a world whose background work ends with ctx.
func NewWorld(ctx context.Context) *World {
	w := &World{Log: slog.New(slog.DiscardHandler), Faults: &fault.Set{}, Timing: &timing.Store{}, Fleet: fleet.None{}}
	w.startEpoch(ctx)
	return w
}

// Lock takes the lock over all objects.
func (w *World) Lock() { w.mu.Lock() }

// Unlock gives it back.
func (w *World) Unlock() { w.mu.Unlock() }

func (w *World) startEpoch(ctx context.Context) {
	e := &epoch{}
	e.ctx, e.cancel = context.WithCancelCause(ctx)
	w.work = e
}

// Go runs f in the background until it returns; its context ends with the next reset. The lock may be held.
func (w *World) Go(f func(ctx context.Context)) {
	w.workMu.Lock()
	e := w.work
	e.wg.Add(1)
	w.workMu.Unlock()
	go func() {
		defer e.wg.Done()
		f(e.ctx)
	}()
}

// StopWork cancels all background work, waits for its end and lets new work start with parent as its context.
// The lock must not be held.
func (w *World) StopWork(parent context.Context) {
	w.workMu.Lock()
	old := w.work
	w.startEpoch(parent)
	w.workMu.Unlock()
	old.cancel(ErrReset)
	old.wg.Wait()
}

// Take waits as long as the timing table says the action takes; the error is the context's cause.
func (w *World) Take(ctx context.Context, action, resourceType string) error {
	return Sleep(ctx, w.Timing.For(action, resourceType))
}

// Sleep waits for d or the end of ctx, whose cause it returns.
func Sleep(ctx context.Context, d time.Duration) error {
	if err := context.Cause(ctx); err != nil || d <= 0 {
		return err
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Now is the cloud's time: UTC.
func (w *World) Now() time.Time { return time.Now().UTC() }

// NewID returns a random UUID.
func NewID() string { return uuid.NewString() }

// NewHexID returns a UUID without dashes, the form of Keystone's ids.
func NewHexID() string {
	const digits = "0123456789abcdef"
	u := uuid.New()
	out := make([]byte, 0, 2*len(u))
	for _, b := range u {
		out = append(out, digits[b>>4], digits[b&15])
	}
	return string(out)
}

// ShortID returns the 12 random characters (a-z, 2-7) that the orchestration service appends to names.
func ShortID() string {
	const alphabet = "abcdefghijklmnopqrstuvwxyz234567"
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	for i := range b {
		b[i] = alphabet[b[i]&31]
	}
	return string(b[:])
}

// Context is the context that background work started now would get.
func (w *World) Context() context.Context {
	w.workMu.Lock()
	defer w.workMu.Unlock()
	return w.work.ctx
}
