package heat

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/hot"
	"github.com/gybe-nfv/gybe/test/simcloud/rest"
	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

// definition is what a member of a group is made from.
type definition struct {
	typ      string
	props    map[string]any
	metadata any
}

func definitionOf(v map[string]any) definition {
	d := definition{metadata: v["metadata"]}
	d.typ, _ = v["type"].(string)
	d.props, _ = v["properties"].(map[string]any)
	return d
}

// member is a named member of a group.
type member struct {
	name string
	definition
}

// template builds the template of a group.
func template(parent *Stack, all []member) *hot.Template {
	t := &hot.Template{Version: parent.tmpl.Version, Resources: map[string]*hot.Resource{}}
	raw := map[string]any{}
	for _, m := range all {
		t.Resources[m.name] = &hot.Resource{
			Name: m.name, Type: m.typ, Properties: m.props, Metadata: m.metadata, DeletionPolicy: "Delete",
		}
		raw[m.name] = map[string]any{"type": m.typ, "properties": m.props}
	}
	t.Raw = map[string]any{"heat_template_version": t.Version, "resources": raw}
	return t
}

// ordered returns the members of a group's stack: by number, or oldest first.
func ordered(st *Stack) []*Resource {
	var out []*Resource
	for _, name := range sortedKeys(st.resources) {
		out = append(out, st.resources[name])
	}
	slices.SortStableFunc(out, func(a, b *Resource) int {
		x, errX := strconv.Atoi(a.Name)
		y, errY := strconv.Atoi(b.Name)
		if errX == nil && errY == nil {
			return x - y
		}
		return a.Created.Truncate(time.Second).Compare(b.Created.Truncate(time.Second)) // as exact as it is kept
	})
	return out
}

// groupAttr is an attribute of a group: references, or an attribute of every member.
func (s *Service) groupAttr(r *Resource, name string, path []any) (any, []any, bool) {
	st := r.nested
	if st == nil {
		return nil, nil, true
	}
	if member, ok := strings.CutPrefix(name, "resource."); ok {
		return s.memberAttr(st, member, path)
	}
	sc := scope{s: s, st: st}
	list, byName := []any{}, map[string]any{}
	each := func(value func(m *Resource) any) {
		for _, m := range ordered(st) {
			v := value(m)
			list = append(list, v)
			byName[m.Name] = v
		}
	}
	attr := func(name string, path []any) {
		each(func(m *Resource) any {
			v, rest, err := sc.Attr(m.Name, name, path)
			if err != nil {
				return nil
			}
			v, _ = hot.Step(v, rest)
			return v
		})
	}
	ref := func(m *Resource) any { v, _ := sc.Ref(m.Name); return v }
	switch name {
	case "current_size":
		return len(st.resources), path, true
	case "refs":
		each(ref)
		return list, path, true
	case "refs_map":
		each(ref)
		return byName, path, true
	case "attributes", "outputs", "outputs_list":
		if len(path) == 0 {
			return nil, nil, false
		}
		attr(hot.Text(path[0]), path[1:])
		if name == "outputs_list" {
			return list, nil, true
		}
		return byName, nil, true
	case "removed_rsrc_list":
		return []any{}, path, true
	}
	attr(name, path)
	return list, nil, true
}

// resourceGroup is OS::Heat::ResourceGroup.
func (s *Service) resourceGroup() *kind {
	indexed := func(j job) *hot.Template {
		var all []member
		index := cmp.Or(j.p.text("index_var"), "%index%")
		for i := range max(j.p.number("count", 1), 0) {
			m := member{strconv.Itoa(i), definitionOf(j.p.mapping("resource_def"))}
			if m.props != nil {
				m.props, _ = hot.Substitute(m.props, index, m.name).(map[string]any)
			}
			all = append(all, m)
		}
		s.world.Lock()
		defer s.world.Unlock()
		return template(j.r.stack, all)
	}
	return &kind{
		props:  schema("count:n~ index_var:s resource_def:m!~ removal_policies:l~ removal_policies_mode:s~"),
		nested: true, indexed: true, attr: s.groupAttr, remove: s.removeNested,
		create: func(ctx context.Context, j job) error { return s.createNested(ctx, j.r, indexed(j), nil) },
		update: func(ctx context.Context, j job, _ []string) error {
			return s.updateNested(ctx, j.r, indexed(j), nil)
		},
	}
}

// autoScalingGroup is OS::Heat::AutoScalingGroup.
func (s *Service) autoScalingGroup() *kind {
	return &kind{
		props:  schema("cooldown:n~ desired_capacity:n~ max_size:n!~ min_size:n!~ resource:m!~ rolling_updates:m~"),
		nested: true, attr: s.groupAttr, remove: s.removeNested,
		create: func(ctx context.Context, j job) error {
			size := j.p.number("desired_capacity", j.p.number("min_size", 0))
			return s.createNested(ctx, j.r, s.scaled(j, size, size), nil)
		},
		// also what signals have made of it goes back to the template's size
		update: func(ctx context.Context, j job, diff []string) error {
			if slices.Contains(diff, "resource") && j.r.nested != nil {
				if err := s.roll(ctx, j); err != nil {
					return err
				}
			}
			size := j.p.number("desired_capacity", 0)
			if !j.p.has("desired_capacity") && j.r.nested != nil {
				s.world.Lock()
				size = len(j.r.nested.resources)
				s.world.Unlock()
				size = min(max(size, j.p.number("min_size", 0)), j.p.number("max_size", size))
			}
			return s.updateNested(ctx, j.r, s.scaled(j, size, 0), nil)
		},
		check: func(_ rest.Caller, r *Resource, p props) error {
			lo, hi := p.number("min_size", 0), p.number("max_size", 0)
			if lo > hi {
				return hot.Invalid("MinSize can not be greater than MaxSize")
			}
			if n := p.number("desired_capacity", lo); n < lo || n > hi {
				return hot.Invalid("DesiredCapacity must be between MinSize and MaxSize")
			}
			return nil
		},
	}
}

// roll gives the members of a scaling group their new definition, a batch of them at a time.
func (s *Service) roll(ctx context.Context, j job) error {
	policy := j.p.mapping("rolling_updates")
	atOnce, inService := policy.number("max_batch_size", 1), policy.number("min_in_service", 0)
	s.world.Lock()
	size := len(j.r.nested.resources)
	s.world.Unlock()
	want := min(j.p.number("desired_capacity", size), size)
	for done := 0; done < size || size != want; {
		batch := min(atOnce, max(want-done, 0))
		size = batch + max(min(size, want-batch), min(inService, want, size))
		if err := s.updateNested(ctx, j.r, s.scaled(j, size, batch), nil); err != nil {
			return err
		}
		done += batch
	}
	return nil
}

// scaled is the template of a scaling group with size members: those that exist are kept, the oldest (and before them
// the failed) go first, additional ones get random names. fresh is how many members get the definition that the group
// has now, those that are added among them; the others keep theirs, also one with which they have failed.
func (s *Service) scaled(j job, size, fresh int) *hot.Template {
	s.world.Lock()
	defer s.world.Unlock()
	now := definitionOf(j.p.mapping("resource"))
	var all []member
	if j.r.nested != nil {
		have := ordered(j.r.nested)
		slices.SortStableFunc(have, func(a, b *Resource) int {
			return btoi(b.Status == statusFailed) - btoi(a.Status == statusFailed)
		})
		for _, m := range have {
			if def := j.r.nested.tmpl.Resources[m.Name]; def != nil {
				all = append(all, member{m.Name, definition{def.Type, def.Properties, def.Metadata}})
			}
		}
		all = all[max(len(all)-size, 0):]
	}
	replace := fresh - (size - len(all))
	for i := range all {
		if replace > 0 && !reflect.DeepEqual(all[i].definition, now) {
			all[i].definition = now
			replace--
		}
	}
	for len(all) < size {
		all = append(all, member{sim.ShortID(), now})
	}
	return template(j.r.stack, all)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// scalingPolicy is OS::Heat::ScalingPolicy; a signal to it scales its group.
func (s *Service) scalingPolicy() *kind {
	url := func(r *Resource) string {
		return s.world.BaseURL + "/orchestration-cfn/v1/signal/" + r.stack.ID + "/" + r.Name
	}
	signal := func(r *Resource) string { return s.stackURL(r.stack) + "/resources/" + r.Name + "/signal" }
	return &kind{
		props: schema(
			"adjustment_type:s!~ auto_scaling_group_id:s! cooldown:n~ min_adjustment_step:n~ scaling_adjustment:n!~",
		),
		create: func(_ context.Context, j job) error {
			s.locked(func() { j.r.ID = url(j.r) })
			return nil
		},
		show: func(r *Resource) map[string]any {
			return map[string]any{"alarm_url": url(r), "signal_url": signal(r)}
		},
		update: func(context.Context, job, []string) error { return nil },
	}
}

// locked runs f with the world locked.
func (s *Service) locked(f func()) {
	s.world.Lock()
	defer s.world.Unlock()
	f()
}

func (s *Service) withLock(f func() error) error {
	s.world.Lock()
	defer s.world.Unlock()
	return f()
}

// adjusted is the size that a policy wants for a group of size now.
func adjusted(policy props, now int) int {
	n := policy.number("scaling_adjustment", 0)
	switch policy.text("adjustment_type") {
	case "exact_capacity":
		return n
	case "percent_change_in_capacity":
		const all = 100
		if by := now * n / all; by != 0 {
			return now + by
		}
		return now + min(max(n, -1), 1) // at least one
	}
	return now + n
}

// Signal delivers a signal to a resource; a scaling policy then resizes its group in the background. Lock held.
func (s *Service) Signal(r *Resource) error {
	if r.Type != "OS::Heat::ScalingPolicy" {
		const format = "Resource %s does not support receiving signals"
		return rest.Errorf(http.StatusBadRequest, "ResourceActionNotSupported", format, r.Name)
	}
	for _, g := range r.stack.resources {
		if g.Type != "OS::Heat::AutoScalingGroup" || g.ID != r.props.text("auto_scaling_group_id") || g.nested == nil {
			continue
		}
		child := g.nested
		if child.Status == statusProgress || g.Status == statusProgress || s.world.Now().Before(g.quiet) {
			return nil // lost without a report
		}
		now := 0 // those that have failed do not count, but go first
		for _, m := range child.resources {
			now += 1 - btoi(m.Status == statusFailed)
		}
		size := adjusted(r.props, now)
		size = min(max(size, g.props.number("min_size", 0)), g.props.number("max_size", size))
		if size == now {
			return nil
		}
		g.quiet = s.world.Now().Add(time.Duration(r.props.number("cooldown", 0)) * time.Second)
		s.start(child, "UPDATE", func(ctx context.Context) error {
			next := snapshot(child)
			next.parent, next.tmpl = child.parent, s.scaled(job{s, child.Caller, g, g.props}, size, 0)
			return s.runUpdate(ctx, child, next)
		}, func(err error) { s.finish(child, "UPDATE", err) })
		return nil
	}
	const format = "The AutoScalingGroup (%s) could not be found."
	return rest.Errorf(http.StatusNotFound, "EntityNotFound", format, r.props.text("auto_scaling_group_id"))
}
