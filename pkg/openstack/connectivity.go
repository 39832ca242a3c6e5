package openstack

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// changeConnectivity connects the VNF as the request says. Only the CP part of nfv changes: a connection point on
// another network gets another port, one with other addresses keeps its port, and the servers stay.
func (t *tick) changeConnectivity(ctx context.Context) error {
	if err := t.assemble(ctx); err != nil {
		return err
	}
	return t.stack.Update(ctx, t.stack.Name(), t.desired, nil)
}

// reconnected adds to the leaves that an operation decides again the connection points of links that have gone to
// another network, although the request does not name them.
func reconnected(fresh userdata.Fresh, before, after []sol.ExtVirtualLinkData) userdata.Fresh {
	return func(kind, name, leaf string) bool {
		if fresh(kind, name, leaf) {
			return true
		}
		if kind != "CP" || leaf != "network" && leaf != "fixed_ips" && leaf != "port" {
			return false
		}
		node, index, _ := userdata.SplitIndex(name)
		was, had := userdata.Find(before, node, index)
		is, has := userdata.Find(after, node, index)
		return had && has && before[was.Link].ResourceID != after[is.Link].ResourceID
	}
}

// badConnectivity finds what the request asks for and would not come about.
func (d *Driver) badConnectivity(r lcm.Request, s *part) ([]lcm.InvalidParam, error) {
	g, err := d.desiredAt(s)
	if err != nil {
		return nil, nil //nolint:nilerr // the assembly of the stack reports it
	}
	if g.own != nil { // the class reads the request
		return nil, nil
	}
	b, err := d.bundle(g)
	if err != nil {
		return nil, nil //nolint:nilerr // likewise
	}
	var req connections
	if err := json.Unmarshal(r.Params, &req); err != nil {
		return nil, fmt.Errorf("decode the request: %w", err)
	}
	asked := map[string]bool{}
	for _, p := range b.Template.Params() {
		if len(p) < 3 || p[0] != "CP" {
			continue
		}
		if name, ok := p[1].(string); ok && (p[2] == "network" || p[2] == "port") {
			asked[name] = true
		}
	}
	former, err := d.previousAt(s)
	if err != nil {
		return nil, err
	}
	before := former.ext
	var bad []lcm.InvalidParam
	for n, l := range req.ExtVirtualLinks {
		for m, cp := range l.ExtCps {
			at := fmt.Sprintf("/extVirtualLinks/%d/extCps/%d", n, m)
			c := g.flavour.CP(cp.CpdID)
			if c == nil { // reported by the domain
				continue
			}
			if !asked[cp.CpdID] {
				bad = append(bad, lcm.InvalidParam{Pointer: at + "/cpdId", Detail: fmt.Sprintf(
					"%s cannot be connected to another link: the package's template does not take its network from "+
						"nfv.CP.%s",
					cp.CpdID, cp.CpdID,
				)})
			}
			bad = append(bad, badPorts(g, l, cp, at)...)
			instances := 1 // without an index all VNFCs of a VDU have the same configuration
			if g.class == userdata.Standard {
				instances = max(g.counts[c.VDU], 1)
			}
			bad = append(bad, unusedConfigs(g, cp, instances, at)...)
			bad = append(bad, splitConfigs(before, g.ext, req.ExtVirtualLinks, cp, instances, at)...)
		}
	}
	return bad, nil
}

// badPorts finds link ports that a connection point names and its link does not have.
func badPorts(g desired, l sol.ExtVirtualLinkData, cp sol.VnfExtCpData, at string) []lcm.InvalidParam {
	if i := slices.IndexFunc(g.ext, func(o sol.ExtVirtualLinkData) bool { return o.ID == l.ID }); i >= 0 {
		l = g.ext[i]
	}
	var bad []lcm.InvalidParam
	for _, key := range slices.Sorted(maps.Keys(cp.CpConfig)) {
		if port := cp.CpConfig[key].LinkPortID; port != "" && userdata.GivenPort(l, cp.CpConfig[key]) == "" {
			bad = append(bad, lcm.InvalidParam{
				Pointer: at + "/cpConfig/" + lcm.Escape(key) + "/linkPortId",
				Detail:  fmt.Sprintf("the link %s has no extLinkPorts entry with the id %q", l.ID, port),
			})
		}
	}
	return bad
}

// unusedConfigs finds configurations that the request adds to a connection point of which the VNF has no instance for
// them: a user that gives a new key for a VNFC that has one under another key means to replace it, and would wonder why
// nothing happens.
func unusedConfigs(g desired, cp sol.VnfExtCpData, instances int, at string) []lcm.InvalidParam {
	used := map[string]bool{}
	for i := range instances {
		if p, ok := userdata.Find(g.ext, cp.CpdID, i); ok {
			used[p.Key] = true
		}
	}
	var bad []lcm.InvalidParam
	for _, key := range slices.Sorted(maps.Keys(cp.CpConfig)) {
		c := cp.CpConfig[key]
		if used[key] || lcm.IsNull(c) {
			continue
		}
		bad = append(bad, lcm.InvalidParam{
			Pointer: at + "/cpConfig/" + lcm.Escape(key),
			Detail: fmt.Sprintf(
				"%s has %d instances, which have the configurations %s; give this one under one of these keys, or "+
					"set the one that it replaces to null",
				cp.CpdID, instances, strings.Join(slices.Sorted(maps.Keys(used)), ", ")),
		})
	}
	return bad
}

// splitConfigs finds configurations that a request adds for some of the VNFCs that have shared one, without naming the
// shared one: the user may mean all of them, of which the others would stay where they are.
func splitConfigs(
	before, after, given []sol.ExtVirtualLinkData, cp sol.VnfExtCpData, instances int, at string,
) []lcm.InvalidParam {
	sharing := map[string][]int{} // the VNFCs by the key of the configuration that they had
	for i := range instances {
		if p, ok := userdata.Find(before, cp.CpdID, i); ok && p.Key != "" {
			sharing[p.Key] = append(sharing[p.Key], i)
		}
	}
	var bad []lcm.InvalidParam
	for _, shared := range slices.Sorted(maps.Keys(sharing)) {
		if slices.Contains(lcm.KeysOf(given, cp.CpdID), shared) {
			continue
		}
		added, stay := "", false
		for _, i := range sharing[shared] {
			p, _ := userdata.Find(after, cp.CpdID, i)
			if _, ok := cp.CpConfig[p.Key]; ok {
				added = p.Key
			}
			stay = stay || p.Key == shared
		}
		if added == "" || !stay {
			continue
		}
		bad = append(bad, lcm.InvalidParam{
			Pointer: at + "/cpConfig/" + lcm.Escape(added),
			Detail: fmt.Sprintf("%d VNFCs share the configuration %s of %s, and not all of them would get this one; "+
				"give this one under the key %s for all of them, or give %s as well for those that keep it",
				len(sharing[shared]), shared, cp.CpdID, shared, shared),
		})
	}
	return bad
}

// inLinks is a pointer to something of a connection point of an external virtual link.
var inLinks = regexp.MustCompile(`^/extVirtualLinks/(\d+)/extCps/(\d+)(/.*)$`)

// asGiven makes pointers into the links that hold point into those of the request, or to all of them where the request
// does not have the link.
func asGiven(
	holds []sol.ExtVirtualLinkData, params json.RawMessage, bad []lcm.InvalidParam,
) ([]lcm.InvalidParam, error) {
	var req connections
	if err := json.Unmarshal(params, &req); err != nil {
		return nil, fmt.Errorf("decode the request: %w", err)
	}
	out := slices.Clone(bad)
	for i, b := range out {
		m := inLinks.FindStringSubmatch(b.Pointer)
		if m == nil {
			continue
		}
		link, _ := strconv.Atoi(m[1])
		cp, _ := strconv.Atoi(m[2])
		if link >= len(holds) || cp >= len(holds[link].ExtCps) {
			continue
		}
		out[i].Pointer = "/extVirtualLinks"
		for n, l := range req.ExtVirtualLinks {
			at := slices.IndexFunc(
				l.ExtCps, func(c sol.VnfExtCpData) bool { return c.CpdID == holds[link].ExtCps[cp].CpdID },
			)
			if l.ID == holds[link].ID && at >= 0 {
				out[i].Pointer = fmt.Sprintf("/extVirtualLinks/%d/extCps/%d%s", n, at, m[3])
			}
		}
	}
	return out, nil
}
