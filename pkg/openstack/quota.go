package openstack

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

const quotaHint = "raise the project's quota in the VIM or free resources"

// room compares what is needed with a quota; a limit below zero is none.
func (c *checker) room(name string, needed, used, limit int, unit string) {
	if needed <= 0 {
		return
	}
	subject := "quota of " + name
	switch {
	case limit < 0:
		c.add(lcm.CheckOK, subject, "", "%d%s needed, there is no limit", needed, unit)
	case used+needed > limit:
		c.add(lcm.CheckFailed, subject, quotaHint, "%d%s needed, %d of %d%s are in use", needed, unit, used, limit, unit)
	default:
		c.add(lcm.CheckOK, subject, "", "%d%s needed, %d of %d%s are in use", needed, unit, used, limit, unit)
	}
}

// flavourSize is what Nova says about a flavour.
type flavourSize struct {
	thing
	VCPUs int `json:"vcpus"`
	RAM   int `json:"ram"` // MiB
}

// compute looks for the flavours and compares what servers of them take with Nova's limits.
func (c *checker) compute(ctx context.Context) error {
	var all []flavourSize
	var limits struct {
		Limits struct {
			Absolute map[string]int `json:"absolute"`
		} `json:"limits"`
	}
	err := parallel(ctx,
		func(ctx context.Context) error {
			return eachPage(ctx, c.session, nova, "flavors", "/flavors/detail", url.Values{}, surveyPages, func(f flavourSize) (string, bool) {
				all = append(all, f)
				return f.ID, true
			})
		},
		func(ctx context.Context) error {
			return c.do(ctx, call{what: "read the limits of compute", service: nova, method: http.MethodGet, path: "/limits", out: &limits})
		})
	if err != nil {
		return err
	}
	known := map[string]flavourSize{}
	var cores, ram, servers int
	old := map[string]element{}
	for _, p := range c.plan.changed {
		old[p.new.key()] = *p.old
	}
	for _, e := range c.need.servers {
		name := e.text("flavor")
		if name == "" {
			continue
		}
		if _, seen := known[name]; !seen {
			f, ok := pick(c, "flavour", name, all, func(f flavourSize) thing { return f.thing }, hint("No Flavor matching"))
			known[name] = f
			if ok {
				c.add(lcm.CheckOK, "flavour "+name, "", "%d cores, %d MiB", f.VCPUs, f.RAM)
			}
		}
		cores, ram = cores+known[name].VCPUs, ram+known[name].RAM
		if was, resized := old[e.key()]; resized {
			at := slices.IndexFunc(all, func(f flavourSize) bool { return f.Name == was.text("flavor") || f.ID == was.text("flavor") })
			if at >= 0 {
				cores, ram = cores-all[at].VCPUs, ram-all[at].RAM
			}
		} else {
			servers++
		}
	}
	a := limits.Limits.Absolute
	limit := func(name string) int {
		if n, ok := a[name]; ok {
			return n
		}
		return -1
	}
	c.room("servers", servers, a["totalInstancesUsed"], limit("maxTotalInstances"), "")
	c.room("cores", cores, a["totalCoresUsed"], limit("maxTotalCores"), "")
	c.room("memory", ram, a["totalRAMUsed"], limit("maxTotalRAMSize"), " MiB")
	c.room("server groups", c.need.newGroups, a["totalServerGroupsUsed"], limit("maxServerGroups"), "")
	for _, g := range slices.Sorted(maps.Keys(c.need.groups)) {
		c.room("members of server group "+g, c.need.groups[g], 0, limit("maxServerGroupMembers"), "")
	}
	return nil
}

// networkQuota compares with Neutron's quota and what it says is in use.
func (c *checker) networkQuota(ctx context.Context) error {
	var out struct {
		Quota map[string]struct {
			Limit    int `json:"limit"`
			Used     int `json:"used"`
			Reserved int `json:"reserved"`
		} `json:"quota"`
	}
	err := c.do(ctx, call{
		what: "read the quota of networking", service: neutron, method: http.MethodGet, path: "/quotas/" + segment(c.projectID) + "/details.json", out: &out,
	})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.need.networking)) {
		if q, ok := out.Quota[name]; ok {
			c.room(name+"s", c.need.networking[name], q.Used+q.Reserved, q.Limit, "")
		}
	}
	return nil
}

// volumeQuota compares with Cinder's limits.
func (c *checker) volumeQuota(ctx context.Context) error {
	var out struct {
		Limits struct {
			Absolute struct {
				MaxVolumes   int `json:"maxTotalVolumes"`
				MaxGigabytes int `json:"maxTotalVolumeGigabytes"`
				Volumes      int `json:"totalVolumesUsed"`
				Gigabytes    int `json:"totalGigabytesUsed"`
			} `json:"absolute"`
		} `json:"limits"`
	}
	if err := c.do(ctx, call{what: "read the limits of volumes", service: cinder, method: http.MethodGet, path: "/limits", out: &out}); err != nil {
		return err
	}
	a := out.Limits.Absolute
	c.room("volumes", c.need.volumes, a.Volumes, a.MaxVolumes, "")
	c.room("volume space", c.need.gigabytes, a.Gigabytes, a.MaxGigabytes, " GiB")
	return nil
}
