package preview

import (
	"context"
	"maps"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
)

const quotaHint = "raise the project's quota in the VIM or free resources"

// compareQuota compares what is needed with a quota; a limit below zero is none.
func (c *checker) compareQuota(name string, needed, used, limit int, unit string) {
	if needed <= 0 {
		return
	}
	subject := "quota of " + name
	switch {
	case limit < 0:
		c.add(lcm.CheckOK, subject, "", "%d%s needed, there is no limit", needed, unit)
	case used+needed > limit:
		c.add(
			lcm.CheckFailed, subject, quotaHint, "%d%s needed, %d of %d%s are in use", needed, unit, used, limit, unit,
		)
	default:
		c.add(lcm.CheckOK, subject, "", "%d%s needed, %d of %d%s are in use", needed, unit, used, limit, unit)
	}
}

// compute looks for the flavours and compares what servers of them take with Nova's limits.
func (c *checker) compute(ctx context.Context) error {
	var all []cloud.Flavour
	var a map[string]int
	err := lcm.Each(ctx, 0, []func(context.Context) error{
		func(ctx context.Context) (err error) {
			all, err = c.cloud.ListFlavours(ctx)
			return err
		},
		func(ctx context.Context) (err error) {
			a, err = c.cloud.ComputeLimits(ctx)
			return err
		},
	}, func(ctx context.Context, call func(context.Context) error) error { return call(ctx) })
	if err != nil {
		return err
	}
	known := map[string]cloud.Flavour{}
	var cores, ram, servers int
	old := map[string]element{}
	for _, p := range c.plan.changed {
		old[p.New.key()] = *p.Old
	}
	for _, e := range c.need.servers {
		name := e.text("flavor")
		if name == "" {
			continue
		}
		if _, seen := known[name]; !seen {
			f, ok := resolveName(c, "flavour", name, all, func(f cloud.Flavour) cloud.Named {
				return f.Named
			}, cloud.Hint("No Flavor matching"))
			known[name] = f
			if ok {
				c.add(lcm.CheckOK, "flavour "+name, "", "%d cores, %d MiB", f.VCPUs, f.RAM)
			}
		}
		cores, ram = cores+known[name].VCPUs, ram+known[name].RAM
		if was, resized := old[e.key()]; resized {
			at := slices.IndexFunc(
				all, func(f cloud.Flavour) bool { return f.Name == was.text("flavor") || f.ID == was.text("flavor") },
			)
			if at >= 0 {
				cores, ram = cores-all[at].VCPUs, ram-all[at].RAM
			}
		} else {
			servers++
		}
	}
	limit := func(name string) int {
		if n, ok := a[name]; ok {
			return n
		}
		return -1
	}
	c.compareQuota("servers", servers, a["totalInstancesUsed"], limit("maxTotalInstances"), "")
	c.compareQuota("cores", cores, a["totalCoresUsed"], limit("maxTotalCores"), "")
	c.compareQuota("memory", ram, a["totalRAMUsed"], limit("maxTotalRAMSize"), " MiB")
	c.compareQuota("server groups", c.need.newGroups, a["totalServerGroupsUsed"], limit("maxServerGroups"), "")
	for _, g := range slices.Sorted(maps.Keys(c.need.groups)) {
		c.compareQuota("members of server group "+g, c.need.groups[g], 0, limit("maxServerGroupMembers"), "")
	}
	return nil
}

// networkQuota compares with Neutron's quota and what it says is in use.
func (c *checker) networkQuota(ctx context.Context) error {
	quota, err := c.cloud.NetworkQuota(ctx)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.need.networking)) {
		if q, ok := quota[name]; ok {
			c.compareQuota(name+"s", c.need.networking[name], q.Used, q.Limit, "")
		}
	}
	return nil
}

// volumeQuota compares with Cinder's limits.
func (c *checker) volumeQuota(ctx context.Context) error {
	number, space, err := c.cloud.VolumeLimits(ctx)
	if err != nil {
		return err
	}
	c.compareQuota("volumes", c.need.volumes, number.Used, number.Limit, "")
	c.compareQuota("volume space", c.need.gigabytes, space.Used, space.Limit, " GiB")
	return nil
}

// CheckVolumes compares new volumes, and their space in GiB, with Cinder's limits.
func CheckVolumes(ctx context.Context, c *cloud.Client, volumes, gigabytes int) ([]lcm.Check, error) {
	if volumes == 0 {
		return nil, nil
	}
	k := &checker{cloud: c}
	k.need.volumes, k.need.gigabytes = volumes, gigabytes
	err := k.volumeQuota(ctx)
	return k.checks, err
}
