package leftovers

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/openstack/stack"
)

// removalTime bounds the removal of leftovers: the client waits for the answer.
const removalTime = 30 * time.Second

// Remove deletes leftovers. It looks again first: only what is an extra at this moment is deleted. It returns those
// that are left.
func (f *Search) Remove(ctx context.Context, extra []lcm.Leftover) ([]lcm.Leftover, error) {
	a, err := f.survey(ctx)
	if err != nil {
		return nil, err
	}
	r := &remover{Search: f, until: time.Now().Add(removalTime), why: map[string]string{}}
	for _, k := range kinds {
		todo := slices.DeleteFunc(a.extra(), func(l lcm.Leftover) bool {
			return l.Type != k.typ || !slices.ContainsFunc(
				extra, func(e lcm.Leftover) bool { return e.Type == l.Type && e.ID == l.ID },
			)
		})
		if err := lcm.Each(ctx, 8, todo, r.remove); err != nil {
			return nil, err
		}
	}
	after, err := f.survey(ctx)
	if err != nil {
		return nil, err
	}
	var left []lcm.Leftover
	for _, l := range after.extra() {
		if slices.ContainsFunc(extra, func(e lcm.Leftover) bool { return e.Type == l.Type && e.ID == l.ID }) {
			l.Why = cmp.Or(r.why[l.ID], "it is still being deleted")
			left = append(left, l)
		}
	}
	return left, nil
}

// remover deletes leftovers.
type remover struct {
	*Search
	until time.Time

	mu  sync.Mutex
	why map[string]string // by id: what the VIM says to those that stay
}

// remove deletes one object and waits until it is gone. A refusal is noted and asked again, because what held the
// object may be gone by then.
func (r *remover) remove(ctx context.Context, l lcm.Leftover) error {
	const tries = 3
	for try := range tries {
		began := time.Now()
		err := r.delete(ctx, l)
		if err == nil {
			var again bool
			if again, err = r.await(ctx, l, began); err == nil && !again {
				return nil
			}
		}
		if err != nil && ctx.Err() != nil {
			return err
		}
		if err != nil {
			r.note(l, lcm.AsError(err).Detail)
		}
		if try == tries-1 || !r.pause(ctx, time.Duration(try+1)*stack.DeletePause) {
			break
		}
	}
	return ctx.Err()
}

func (r *remover) note(l lcm.Leftover, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.why[l.ID] = why
}

// pause waits, and says whether there is time left after that.
func (r *remover) pause(ctx context.Context, d time.Duration) bool {
	if time.Until(r.until) < d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (r *remover) delete(ctx context.Context, l lcm.Leftover) error {
	switch l.Type {
	case cloud.TypeStack:
		return r.Cloud.DeleteStack(ctx, &cloud.Stack{ID: l.ID, Name: l.Name})
	case cloud.TypeImage:
		return r.Images.Delete(ctx, l.ID)
	case cloud.TypeRouter:
		if err := r.Cloud.EmptyRouter(ctx, l.ID); err != nil {
			return err
		}
	}
	k, _ := kindOf(l.Type)
	err := r.Cloud.Delete(ctx, l.Type+" "+l.ID, k.service, k.path, l.ID)
	if cloud.NotFound(err) {
		return nil
	}
	return err
}

// await looks until an object is gone; again says that the VIM has given up and may be asked again.
func (r *remover) await(ctx context.Context, l lcm.Leftover, began time.Time) (again bool, err error) {
	for {
		if l.Type == cloud.TypeStack {
			var st *cloud.Stack
			if st, err = r.Cloud.FindStackByID(ctx, l.ID); err == nil && st != nil && st.Status == "DELETE_FAILED" {
				r.note(l, r.Stack.Failure(ctx, "delete", st).Detail)
				return true, nil
			}
			if err == nil && st == nil {
				return false, nil
			}
		} else {
			var there bool
			if there, err = r.exists(ctx, l.Type, l.ID); err == nil && !there {
				return false, nil
			}
		}
		if err != nil && lcm.AsError(err).Class != lcm.Transient {
			return false, err
		}
		if !r.pause(ctx, max(cloud.Pace(time.Since(began)), 50*time.Millisecond)) {
			return false, ctx.Err()
		}
	}
}
