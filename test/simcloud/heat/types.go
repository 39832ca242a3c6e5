package heat

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/hot"
	"github.com/gybe-nfv/gybe/test/simcloud/rest"
	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

// allKinds are the resource types by name.
func (s *Service) allKinds() map[string]*kind {
	return map[string]*kind{
		"OS::Heat::ResourceGroup":            s.resourceGroup(),
		"OS::Heat::AutoScalingGroup":         s.autoScalingGroup(),
		"OS::Heat::ScalingPolicy":            s.scalingPolicy(),
		"OS::Heat::RandomString":             s.randomString(),
		"OS::Heat::Value":                    s.value(),
		"OS::Heat::None":                     s.none(),
		"OS::Heat::TestResource":             s.testResource(),
		"OS::Nova::Server":                   s.server(),
		"OS::Nova::ServerGroup":              s.serverGroup(),
		"OS::Neutron::Net":                   s.network(),
		"OS::Neutron::Subnet":                s.subnet(),
		"OS::Neutron::Port":                  s.port(),
		"OS::Neutron::FloatingIP":            s.floatingIP(),
		"OS::Neutron::FloatingIPAssociation": s.floatingIPAssociation(),
		"OS::Neutron::Router":                s.router(),
		"OS::Neutron::RouterInterface":       s.routerInterface(),
		"OS::Neutron::SecurityGroup":         s.securityGroup(),
		"OS::Cinder::Volume":                 s.volume(),
		"OS::Cinder::VolumeAttachment":       s.volumeAttachment(),
	}
}

// gone turns the error of a deletion into success when there was nothing to delete.
func gone(err error) error {
	if e, ok := errors.AsType[*rest.Error](err); ok && e.Status == http.StatusNotFound {
		return nil
	}
	return err
}

// physicalName is what a resource is called in the other services unless its template names it.
func physicalName(r *Resource) string {
	return cmp.Or(r.props.text("name"), r.stack.Name+"-"+r.Name+"-"+sim.ShortID())
}

// shorten keeps the first two characters and as many of the last as fit, joined by a dash.
func shorten(name string, limit int) string {
	if len(name) <= limit {
		return name
	}
	return name[:2] + "-" + name[len(name)-(limit-3):]
}

func wait(ctx context.Context, ch <-chan struct{}) error {
	select {
	case <-ch:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Service) randomString() *kind {
	return &kind{
		props: schema("length:n sequence:s character_classes:l character_sequences:l salt:s"),
		create: func(_ context.Context, j job) error {
			alphabet := cmp.Or(map[string]string{
				"letters":   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
				"lowercase": "abcdefghijklmnopqrstuvwxyz", "uppercase": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
				"digits": "0123456789", "hexdigits": "0123456789abcdef", "octdigits": "01234567",
			}[j.p.text("sequence")], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
			b := make([]byte, max(j.p.number("length", 32), 1))
			_, _ = rand.Read(b) // never fails
			for i := range b {
				b[i] = alphabet[int(b[i])%len(alphabet)]
			}
			s.locked(func() { j.r.data["value"], j.r.ID = string(b), physicalName(j.r) })
			return nil
		},
		ref:  func(r *Resource) any { return r.data["value"] },
		show: func(r *Resource) map[string]any { return map[string]any{"value": r.data["value"]} },
	}
}

func (s *Service) value() *kind {
	return &kind{
		props: schema("type:s value:*!~"), create: s.createNamed,
		show: func(r *Resource) map[string]any { return map[string]any{"value": r.props["value"]} },
	}
}

func (s *Service) none() *kind {
	return &kind{
		create: s.createNamed,
		attr:   func(*Resource, string, []any) (any, []any, bool) { return nil, nil, true },
	}
}

// effort waits as long as a test resource says that an action takes.
func effort(ctx context.Context, j job, action string) error {
	seconds := j.p.number("wait_secs", 0)
	if m := j.p.mapping("action_wait_secs"); m.has(action) {
		seconds = m.number(action, 0)
	}
	const perMinute = 60
	return sim.Sleep(ctx, time.Duration(seconds)*j.s.Minute/perMinute)
}

// createNamed makes a resource that exists in Heat only.
func (s *Service) createNamed(_ context.Context, j job) error {
	s.locked(func() { j.r.ID = physicalName(j.r) })
	return nil
}

// testResource is the service's own resource for tests: it waits, fails and replaces as told.
func (s *Service) testResource() *kind {
	work := func(ctx context.Context, j job, action string) error {
		if err := effort(ctx, j, action); err != nil {
			return err
		}
		if j.p.flag("fail", false) {
			return failf("ValueError", "Test Resource failed %s", j.r.Name)
		}
		return nil
	}
	return &kind{
		props: schema(`value:s~ fail:b~ update_replace:b~ wait_secs:n~ action_wait_secs:m~ constraint_prop_secs:n~
			attr_wait_secs:n~ client_name:s entity_name:s`),
		create: func(ctx context.Context, j job) error {
			if err := work(ctx, j, "create"); err != nil {
				return err
			}
			return s.createNamed(ctx, j)
		},
		update: func(ctx context.Context, j job, diff []string) error {
			if !slices.Contains(diff, "value") {
				return nil
			}
			return work(ctx, j, "update")
		},
		remove: func(ctx context.Context, j job) error { return effort(ctx, j, "delete") },
		attr: func(r *Resource, name string, path []any) (any, []any, bool) {
			return hot.Text(r.props["value"]), path, name == "output"
		},
		show: func(r *Resource) map[string]any { return map[string]any{"output": r.props["value"]} },
	}
}
