package openstack

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// removalTime bounds the removal of leftovers: whoever asked for it waits for the answer.
const removalTime = 30 * time.Second

// RemoveLeftovers implements lcm.Infra. It looks anew first: only what is an extra at this moment is deleted.
func (d *Driver) RemoveLeftovers(ctx context.Context, i *lcm.Instance, extra []lcm.Leftover) ([]lcm.Leftover, error) {
	j, err := d.visit(ctx, i)
	if err != nil {
		return nil, err
	}
	left, err := j.removed(ctx, extra)
	return left, j.settle(err)
}

func (j *job) removed(ctx context.Context, extra []lcm.Leftover) ([]lcm.Leftover, error) {
	a, err := j.survey(ctx)
	if err != nil {
		return nil, err
	}
	r := &cleaner{job: j, until: time.Now().Add(removalTime), why: map[string]string{}}
	for _, k := range kinds {
		todo := slices.DeleteFunc(a.extra(), func(l lcm.Leftover) bool {
			return l.Type != k.typ || !slices.ContainsFunc(extra, func(e lcm.Leftover) bool { return e.Type == l.Type && e.ID == l.ID })
		})
		if err := lcm.Each(ctx, 8, todo, r.remove); err != nil {
			return nil, err
		}
	}
	after, err := j.survey(ctx)
	if err != nil {
		return nil, err
	}
	var left []lcm.Leftover
	for _, l := range after.extra() {
		if slices.ContainsFunc(extra, func(e lcm.Leftover) bool { return e.Type == l.Type && e.ID == l.ID }) {
			l.Why = first(r.why[l.ID], "it is still being deleted")
			left = append(left, l)
		}
	}
	return left, nil
}

// cleaner deletes leftovers.
type cleaner struct {
	*job
	until time.Time

	mu  sync.Mutex
	why map[string]string // by id: what the VIM says to those that stay
}

// remove deletes one object and waits until it is gone. A refusal is noted and asked again, because what held the object may be gone by then.
func (r *cleaner) remove(ctx context.Context, l lcm.Leftover) error {
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
		if try == tries-1 || !r.pause(ctx, time.Duration(try+1)*deletePause) {
			break
		}
	}
	return ctx.Err()
}

func (r *cleaner) note(l lcm.Leftover, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.why[l.ID] = why
}

// pause waits, and says whether there is time left after that.
func (r *cleaner) pause(ctx context.Context, d time.Duration) bool {
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

func (r *cleaner) delete(ctx context.Context, l lcm.Leftover) error {
	switch l.Type {
	case typeStack:
		return r.deleteStack(ctx, &stack{ID: l.ID, Name: l.Name})
	case typeImage:
		return r.deleteImage(ctx, l.ID)
	case "OS::Neutron::Router":
		if err := r.emptyRouter(ctx, l.ID); err != nil {
			return err
		}
	}
	k, _ := kindOf(l.Type)
	err := r.do(ctx, call{what: "delete " + l.Type + " " + l.ID, service: k.service, method: http.MethodDelete, path: k.path + "/" + segment(l.ID)})
	if notFound(err) {
		return nil
	}
	return err
}

// emptyRouter takes the interfaces off a router, which cannot be deleted with them.
func (r *cleaner) emptyRouter(ctx context.Context, id string) error {
	var out struct {
		Ports []port `json:"ports"`
	}
	err := r.do(ctx, call{
		what: "list the interfaces of router " + id, service: neutron, method: http.MethodGet,
		path: "/ports?device_owner=network%3Arouter_interface&device_id=" + segment(id), out: &out,
	})
	for _, p := range out.Ports {
		for _, ip := range p.FixedIPs {
			if err != nil {
				return err
			}
			err = r.do(ctx, call{
				what: "take subnet " + ip.Subnet + " off router " + id, service: neutron, method: http.MethodPut,
				path: "/routers/" + segment(id) + "/remove_router_interface", in: map[string]any{"subnet_id": ip.Subnet},
			})
		}
	}
	return err
}

// await looks until an object is gone; again says that the VIM has given up and may be asked again.
func (r *cleaner) await(ctx context.Context, l lcm.Leftover, began time.Time) (again bool, err error) {
	for {
		if l.Type == typeStack {
			var st *stack
			if st, err = r.stackByID(ctx, l.ID); err == nil && st != nil && st.Status == "DELETE_FAILED" {
				r.note(l, r.stackFailure(ctx, "delete", st).Detail)
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
		if !r.pause(ctx, max(pace(time.Since(began)), 50*time.Millisecond)) {
			return false, ctx.Err()
		}
	}
}
