package stack

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// NoRoom is what Nova and Heat say when a zone cannot take a server.
var NoRoom = regexp.MustCompile(`(?i)no valid host was found|not enough hosts|exceeded max(imum number of retries| scheduling attempts)|` +
	`requested availability zone is not available`)

// Zones are the zones that were chosen because others had no room: part of the checkpoint of the step that makes or
// updates a stack. Its keys are names below nfv.VDU: "VDU1-0", or "VDU1" where all VNFCs of a VDU share their
// parameters.
type Zones struct {
	// Use holds the zones that take the place of those that were asked for.
	Use map[string]string `json:"use,omitempty"`
	// Tried holds the zones that had no room, in the order in which they were tried.
	Tried map[string][]string `json:"tried,omitempty"`
	// Rounds counts the decisions of this try of the operation.
	Rounds int `json:"rounds,omitempty"`
}

// apply puts the chosen zones into what is sent to Heat.
func (c Zones) apply(s *userdata.Stack) {
	for key, zone := range c.Use {
		if _, asked := zoneOf(s, key); asked {
			s.NFV, _ = lcm.MergePatch(s.NFV, map[string]any{
				"VDU": map[string]any{key: map[string]any{"locationConstraints": zone}},
			}).(map[string]any)
		}
	}
}

// again is the choice for another try by the user: zones that were full may have room by now.
func (c Zones) again() Zones { return Zones{Use: c.Use} }

// String tells the choice to the user; it is empty when nothing was chosen.
func (c Zones) String() string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(c.Use)) {
		text := key + " in zone " + c.Use[key]
		if tried := c.Tried[key]; len(tried) > 0 {
			text += " (no room in " + strings.Join(tried, ", ") + ")"
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// otherZones decides, when a stack has failed because zones had no room, to which zones the VNFCs without one go
// instead. ok is false when that is not why it failed, or there is nowhere to go: then failure, with the zones that
// were tried added to it, is the step's.
func (w *Worker) otherZones(
	ctx context.Context, s *lcm.Step, st *cloud.Stack, failure *lcm.Error, sent *userdata.Stack, c Zones,
) (next Zones, ok bool, err error) {
	g := w.Execution.Op.Grant
	if w.ZoneRetries < 0 || g == nil || len(g.OtherZones) == 0 || !w.NoRoom.MatchString(failure.Detail) {
		return c, false, nil
	}
	all, err := w.Cloud.ListResources(ctx, st)
	if err != nil {
		return c, false, err
	}
	unplaced := w.unplaced(all, sent)
	if len(unplaced) == 0 {
		return c, false, nil
	}
	zones, err := w.availableZones(ctx, g.OtherZones)
	if err != nil {
		return c, false, err
	}
	r := reselection{Worker: w, sent: sent, zones: zones, unplaced: unplaced}
	r.next = Zones{Use: map[string]string{}, Tried: map[string][]string{}, Rounds: c.Rounds + 1}
	maps.Copy(r.next.Use, c.Use)
	maps.Copy(r.next.Tried, c.Tried)
	limit := w.ZoneRetries
	if limit == 0 {
		limit = len(zones)
	}
	why := fmt.Sprintf("zones were chosen %d times", c.Rounds)
	if c.Rounds < limit {
		why = r.choose()
	}
	if why != "" {
		failure.Detail += "; no other zone is tried: " + why
		if tried := c.String(); tried != "" {
			failure.Detail += "; tried last: " + tried
		}
		s.Logf(ctx, "no other zone is tried: "+why)
		return c, false, nil
	}
	s.Logf(ctx, failure.Detail)
	s.Logf(ctx, "other zones: "+r.next.String())
	return r.next, true, nil
}

// unplaced are the keys of the VNFCs whose servers found no room, as far as their zone is a parameter.
func (w *Worker) unplaced(all []cloud.Resource, sent *userdata.Stack) []string {
	byID := map[string]cloud.Resource{}
	for _, r := range all {
		if r.PhysicalID != "" {
			byID[r.PhysicalID] = r
		}
	}
	var out []string
	for _, r := range all {
		// A server that was there before is not moved: only one that is being made has status CREATE_FAILED.
		if r.Type != cloud.TypeServer || r.Status != "CREATE_FAILED" || !w.NoRoom.MatchString(r.Reason) {
			continue
		}
		for at, up := r, 0; up <= cloud.NestedDepth; up++ {
			if zone, asked := zoneOf(sent, at.Name); asked && zone != "" {
				out = append(out, at.Name)
				break
			}
			parent, nested := byID[at.Owner().ID]
			if !nested {
				break
			}
			at = parent
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// zoneOf is the zone that a stack's parameters have for a key; asked says whether its template has the parameter.
func zoneOf(s *userdata.Stack, key string) (zone string, asked bool) {
	vdus, _ := s.NFV["VDU"].(map[string]any)
	leaves, _ := vdus[key].(map[string]any)
	v, asked := leaves["locationConstraints"]
	zone, _ = v.(string)
	return zone, asked
}

// availableZones are those of allowed that Nova has and that are up, in the order of allowed.
func (w *Worker) availableZones(ctx context.Context, allowed []string) ([]string, error) {
	up, err := w.Cloud.ListZones(ctx)
	return slices.DeleteFunc(slices.Clone(allowed), func(z string) bool { return !up[z] }), err
}

// reselection is one decision about zones.
type reselection struct {
	*Worker
	sent     *userdata.Stack
	zones    []string // that may be taken
	unplaced []string
	next     Zones
}

// choose finds a zone for every unplaced VNFC and says why that cannot be done, "" when it can.
func (r *reselection) choose() string {
	for _, key := range r.unplaced {
		was, _ := zoneOf(r.sent, key)
		if !slices.Contains(r.next.Tried[key], was) {
			r.next.Tried[key] = append(slices.Clone(r.next.Tried[key]), was)
		}
		delete(r.next.Use, key)
	}
	for _, key := range r.unplaced {
		if _, moved := r.next.Use[key]; moved {
			continue // with another of its affinity group
		}
		group := r.affinityGroup(key)
		for _, k := range group {
			if why := r.whyFixed(k); why != "" {
				return why
			}
		}
		at := slices.IndexFunc(r.zones, func(zone string) bool {
			return !slices.ContainsFunc(group, func(k string) bool {
				return slices.Contains(r.next.Tried[k], zone) || r.excluded(k, zone)
			})
		})
		if at < 0 {
			return fmt.Sprintf(
				"none of the zones %s is left for %s", strings.Join(r.zones, ", "), strings.Join(group, ", "),
			)
		}
		for _, k := range group {
			r.next.Use[k] = r.zones[at]
		}
	}
	return ""
}

// vduOf is the VDU of a key of nfv.VDU.
func (r *reselection) vduOf(key string) string {
	if r.Execution.Flavour.VDU(key) != nil {
		return key
	}
	node, _, _ := userdata.SplitIndex(key)
	return node
}

// affinityGroup lists the keys that have to share a zone with key, itself first: those that an affinity rule of scope
// zone names.
func (r *reselection) affinityGroup(key string) []string {
	out := []string{key}
	for _, other := range r.keys() {
		if other != key && r.hasRule(key, other, false) {
			out = append(out, other)
		}
	}
	return out
}

// excluded says whether an anti-affinity rule of scope zone keeps key out of a zone.
func (r *reselection) excluded(key, zone string) bool {
	for _, other := range r.keys() {
		if other == key || !r.hasRule(key, other, true) {
			continue
		}
		in, chosen := r.next.Use[other]
		if !chosen && !slices.Contains(r.unplaced, other) {
			in, _ = zoneOf(r.sent, other)
		}
		if in == zone {
			return true
		}
	}
	return false
}

// hasRule says whether a placement rule of scope zone names both.
func (r *reselection) hasRule(a, b string, anti bool) bool {
	return slices.ContainsFunc(r.Execution.Flavour.Placement, func(p vnfd.PlacementRule) bool {
		return p.Anti == anti && p.Scope == "zone" && slices.Contains(p.Targets, r.vduOf(a)) && slices.Contains(
			p.Targets, r.vduOf(b),
		)
	})
}

// keys lists the keys of nfv.VDU that are placed in zones.
func (r *reselection) keys() []string {
	vdus, _ := r.sent.NFV["VDU"].(map[string]any)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(vdus)), func(k string) bool {
		zone, _ := zoneOf(r.sent, k)
		return zone == ""
	})
}

// whyFixed says why the zone of a key cannot be changed, "" when it can.
func (r *reselection) whyFixed(key string) string {
	params, err := r.Execution.Params()
	if err != nil {
		return "the request cannot be read"
	}
	for _, p := range []sol.KeyValuePairs{params, r.Execution.Op.GrantParams} {
		nfv, _ := p["nfv"].(map[string]any)
		if zone, _ := zoneOf(&userdata.Stack{NFV: nfv}, key); zone != "" {
			return fmt.Sprintf("additionalParams.nfv puts %s in zone %s", key, zone)
		}
	}
	if r.isRunning(key) {
		return fmt.Sprintf("VNFCs of %s that run would have to move", key)
	}
	return ""
}

// isRunning says whether changing the zone of a key would replace a server that the operation is to leave alone.
func (r *reselection) isRunning(key string) bool {
	b, scope := r.Execution.Op.Before, r.Execution.Op.Scope
	if b == nil || b.Instantiated == nil || scope != nil && scope.Whole {
		return false
	}
	// the one VNFC of the key has no room
	single := r.Execution.Flavour.VDU(key) == nil && slices.Contains(r.unplaced, key)
	return !single && slices.ContainsFunc(b.Instantiated.VnfcInfo, func(c sol.VnfcInfo) bool {
		if c.VduID != r.vduOf(key) || scope != nil &&
			slices.Contains(scope.VNFCs, c.ID) && r.Execution.Op.Type == sol.LcmOperationHeal {
			return false
		}
		return r.Execution.Flavour.VDU(key) != nil || r.indexOf(c) == key
	})
}

// indexOf is the key of a VNFC that has its own.
func (r *reselection) indexOf(c sol.VnfcInfo) string {
	_, res, _ := r.Execution.Op.Before.VNFC(c.ID)
	idx, _ := res.Metadata["vdu_idx"].(float64)
	return fmt.Sprintf("%s-%d", c.VduID, int(idx))
}
