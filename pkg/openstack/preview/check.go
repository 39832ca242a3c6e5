package preview

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/openstack/stack"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// checker asks the VIM whether a plan is possible. It is safe for concurrent use.
type checker struct {
	cloud   *cloud.Client
	stack   Stack
	request lcm.Request
	plan    *Plan
	need    needs

	mu     sync.Mutex
	checks []lcm.Check
}

// add notes the outcome of a check.
func (c *checker) add(state lcm.CheckState, subject, hint, format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.checks = append(
		c.checks, lcm.Check{State: state, Subject: subject, Detail: fmt.Sprintf(format, args...), Hint: hint},
	)
}

// Stack is the stack of a plan.
type Stack struct {
	Name string
	// New says that an operation other than INSTANTIATE creates it.
	New bool
}

// Checked looks up what the plan of a stack needs, everything at the same time. A check that the VIM does not allow, or
// not now, is a warning.
func (p *Plan) Checked(ctx context.Context, vim *cloud.Client, s Stack, r lcm.Request) ([]lcm.Check, error) {
	c := &checker{cloud: vim, stack: s, request: r, plan: p, need: needsOf(p)}
	c.gaps()
	all := []struct {
		subject string
		needed  bool
		run     func(context.Context) error
	}{
		{"stack " + s.Name, true, c.checkStack},
		{"flavours and quota of compute", len(c.need.servers)+len(c.need.groups) > 0, c.compute},
		{"images", len(c.need.images) > 0, c.images},
		{"networks", len(c.need.networks)+len(c.need.subnets)+len(c.need.external) > 0, c.networks},
		{"link ports", len(c.need.ports) > 0, c.ports},
		{"zones", len(c.need.zones) > 0, c.zones},
		{"key pairs", len(c.need.keys) > 0, c.keys},
		{"quota of networking", len(c.need.networking) > 0, c.networkQuota},
		{"quota of volumes", c.need.volumes > 0, c.volumeQuota},
		{"volume types", len(c.need.volumeTypes) > 0, c.volumeTypes},
	}
	err := lcm.Each(ctx, 0, all, func(ctx context.Context, check struct {
		subject string
		needed  bool
		run     func(context.Context) error
	},
	) error {
		if !check.needed {
			return nil
		}
		err := check.run(ctx)
		if err == nil || ctx.Err() != nil || lcm.AsError(err).Class == lcm.Auth {
			return err
		}
		e := lcm.AsError(err)
		c.add(lcm.CheckWarning, check.subject, e.Hint, "cannot be checked: %s", e.Detail)
		return nil
	})
	slices.SortFunc(c.checks, func(a, b lcm.Check) int {
		return cmp.Or(cmp.Compare(rankOf(a.State), rankOf(b.State)), strings.Compare(a.Subject, b.Subject))
	})
	if c.checks == nil {
		c.checks = []lcm.Check{}
	}
	return c.checks, err
}

// checkStack looks whether the instance's stack can be worked on.
func (c *checker) checkStack(ctx context.Context) error {
	name := c.stack.Name
	st, err := c.cloud.FindStack(ctx, name)
	if err != nil {
		return err
	}
	subject := "stack " + name
	fresh := c.stack.New || c.plan.Operation == sol.LcmOperationInstantiate
	switch {
	case st == nil && fresh:
		c.add(lcm.CheckOK, subject, "", "no stack has this name")
	case st == nil && c.plan.Operation == sol.LcmOperationTerminate:
		c.add(lcm.CheckWarning, subject, "", "it is not in the VIM any more")
	case st == nil:
		c.add(lcm.CheckFailed, subject, "heal the whole VNF with additionalParams.all, or terminate it",
			"it is not in the VIM any more")
	case fresh && !stack.Owned(st, c.request.Instance.ID):
		e := lcm.AsError(stack.Foreign(c.cloud, st))
		c.add(lcm.CheckFailed, subject, e.Hint, "%s", e.Detail)
	case fresh:
		c.add(lcm.CheckWarning, subject, "look at the instance's leftovers",
			"there is one of this name, %s; it is deleted first", st.Status)
	case st.InProgress():
		c.add(lcm.CheckWarning, subject, "", "it is %s; the operation waits until that is over", st.Status)
	case st.Failed():
		c.add(lcm.CheckWarning, subject, "", "it is %s: %s; Heat tries to repair it with the operation", st.Status,
			cloud.Tidy(st.Reason))
	default:
		c.add(lcm.CheckOK, subject, "", "it is %s", st.Status)
	}
	return nil
}

// resolveName finds the one thing that a name or id stands for, and reports when none or more than one has it.
func resolveName[T any](c *checker, what, name string, all []T, of func(T) cloud.Named, hint string) (T, bool) {
	var found []T
	for _, t := range all {
		x := of(t)
		if x.ID == name {
			return t, true
		}
		if x.Name == name && !slices.ContainsFunc(found, func(f T) bool { return of(f).ID == x.ID }) {
			found = append(found, t)
		}
	}
	var none T
	switch len(found) {
	case 1:
		return found[0], true
	case 0:
		c.add(lcm.CheckFailed, what+" "+name, hint, "it is not in the VIM, or not visible to the project")
	default:
		c.add(lcm.CheckFailed, what+" "+name, "name it by its id", "%d of this name are in the VIM", len(found))
	}
	return none, false
}

// images looks for the images that are not in the package.
func (c *checker) images(ctx context.Context) error {
	return lcm.Each(ctx, 8, c.need.images, func(ctx context.Context, name string) error {
		if img := packagedImage(c.request.Flavour, name); img != nil {
			c.add(lcm.CheckOK, "image "+name, "", "it is uploaded from the package (%s)", img.File)
			return nil
		}
		found, err := c.cloud.FindImages(ctx, name)
		if err != nil {
			return err
		}
		img, ok := resolveName(c, "image", name, found, func(i cloud.Image) cloud.Named {
			return cloud.Named{ID: i.ID, Name: i.Name}
		}, cloud.Hint("No images matching"))
		switch {
		case !ok:
		case img.Status != cloud.ImageActive:
			c.add(lcm.CheckFailed, "image "+name, "wait until it is active, or upload it again", "it is %s", img.Status)
		default:
			c.add(lcm.CheckOK, "image "+name, "", "found: %s", img.ID)
		}
		return nil
	})
}

// zones looks whether servers can go where they shall.
func (c *checker) zones(ctx context.Context) error {
	available, err := c.cloud.ListZones(ctx)
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(available))
	for _, z := range c.need.zones {
		zone, _, _ := strings.Cut(z, ":") // zone:host
		switch ok, known := available[zone]; {
		case !known:
			c.add(lcm.CheckFailed, "zone "+z, "correct the grant's zones", "it is not in the VIM, which has: %s",
				strings.Join(names, ", "))
		case !ok:
			c.add(lcm.CheckFailed, "zone "+z, "take another zone, or bring its hosts up", "it is not available")
		default:
			c.add(lcm.CheckOK, "zone "+z, "", "it is available")
		}
	}
	return nil
}

// keys looks for the key pairs of the connection's user.
func (c *checker) keys(ctx context.Context) error {
	return lcm.Each(ctx, 4, c.need.keys, func(ctx context.Context, name string) error {
		err := c.cloud.FindKeyPair(ctx, name)
		switch {
		case err == nil:
			c.add(lcm.CheckOK, "key pair "+name, "", "found")
		case cloud.NotFound(err):
			c.add(lcm.CheckFailed, "key pair "+name, cloud.Hint("The Key (x) could not be found"),
				"the user of the VIM connection has none of this name")
		default:
			return err
		}
		return nil
	})
}

// volumeTypes looks for the types of volumes.
func (c *checker) volumeTypes(ctx context.Context) error {
	types, err := c.cloud.ListVolumeTypes(ctx)
	if err != nil {
		return err
	}
	for _, name := range c.need.volumeTypes {
		if _, ok := resolveName(c, "volume type", name, types, func(t cloud.Named) cloud.Named {
			return t
		}, cloud.Hint("The VolumeType (x) could not be found.")); ok {
			c.add(lcm.CheckOK, "volume type "+name, "", "found")
		}
	}
	return nil
}
