package helm

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Inventory implements lcm.Infra. The pods of a VDU are its VNFCs: a pod that a workload has made in the place of
// another one is the same VNFC.
func (d *Driver) Inventory(ctx context.Context, w *lcm.Execution) error {
	k, err := d.begin(w)
	if err != nil {
		return err
	}
	s, err := k.session(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	is, err := k.observe(ctx, s)
	if err != nil {
		return err
	}
	var before *lcm.Instance
	if w.Op.Before != nil {
		before = w.Op.Before
	}
	if len(is.releases) == 0 && before == nil {
		w.Instance.Instantiated, w.Instance.Inventory = nil, nil
		return nil
	}
	w.Instance.Instantiated, w.Instance.Inventory = k.record(is)
	w.Op.ResourceChanges = changes(before, w.Instance)
	return nil
}

// record makes the record of what was seen.
func (k *work) record(is *seen) (*sol.InstantiatedVnfInfo, []lcm.Resource) {
	info := &sol.InstantiatedVnfInfo{FlavourID: k.Flavour.ID}
	if was := k.Instance.Instantiated; was != nil {
		info.ExtCpInfo, info.LocalizationLanguage = was.ExtCpInfo, was.LocalizationLanguage
	}
	var inventory []lcm.Resource
	for _, r := range is.releases {
		inventory = append(inventory, lcm.Resource{
			Name: r.GetName(), Kind: lcm.KindOther, Type: typeRelease, ID: r.GetNamespace() + "/" + r.GetName(),
			Status: r.GetLabels()["status"],
		})
	}
	for _, o := range is.objects {
		if o.absent || o.vdu != "" && o.GetKind() == "Pod" {
			continue
		}
		r := resource(o.Unstructured)
		r.VDU = ""
		inventory = append(inventory, r)
	}
	for n := range k.Flavour.VDUs {
		vdu := k.Flavour.VDUs[n].Name
		places := k.vnfcs(is, vdu)
		if k.stops() {
			places = k.withoutPods(vdu)
		}
		for _, c := range places {
			r, state := c.last, sol.VnfOperationalStateStopped
			if c.pod != nil {
				r, state = resource(c.pod), sol.VnfOperationalStateStarted
			}
			r.VDU, r.VNFC, r.Index = vdu, c.id, c.index
			inventory = append(inventory, r)
			info.VnfcInfo = append(info.VnfcInfo, sol.VnfcInfo{
				ID: c.id, VduID: vdu, VnfcResourceInfoID: vdu + "-" + r.ID, VnfcState: state,
			})
			info.VnfcResourceInfo = append(info.VnfcResourceInfo, sol.VnfcResourceInfo{
				ID: vdu + "-" + r.ID, VduID: vdu, VnfdID: k.VNFD.ID, ComputeResource: handle(k.key, r),
				Metadata: sol.KeyValuePairs{"pod": r.Name},
			})
		}
	}
	return info, inventory
}

func handle(key string, r lcm.Resource) sol.ResourceHandle {
	return sol.ResourceHandle{VimConnectionID: key, ResourceID: r.ID, VimLevelResourceType: r.Type}
}

// resource is the inventory's entry of an object.
func resource(o *unstructured.Unstructured) lcm.Resource {
	r := lcm.Resource{
		Name: o.GetName(), Kind: kindOf(o.GetKind()), Type: o.GetKind(), ID: string(o.GetUID()),
		Created: o.GetCreationTimestamp().UTC(),
	}
	r.Status, _, _ = unstructured.NestedString(o.Object, "status", "phase")
	r.Host, _, _ = unstructured.NestedString(o.Object, "spec", "nodeName")
	if ip, _, _ := unstructured.NestedString(o.Object, "status", "podIP"); ip != "" {
		r.Addresses = []lcm.Address{{IP: ip}}
	}
	return r
}

func kindOf(kind string) lcm.Kind {
	switch kind {
	case "Pod":
		return lcm.KindContainer
	case "PersistentVolumeClaim":
		return lcm.KindStorage
	case "Service", "Ingress", "NetworkPolicy":
		return lcm.KindNetwork
	}
	return lcm.KindOther
}

// vnfc is a VNFC with its pod.
type vnfc struct {
	id    string
	index int
	pod   *unstructured.Unstructured // nil while the CNF is stopped
	last  lcm.Resource               // the pod that it had, if pod is nil
}

// vnfcs are the VNFCs of a VDU, the highest index first. A VNFC keeps its pod; one that has lost it gets the oldest pod
// that no VNFC has, and VNFCs that stay before those that the operation removes.
func (k *work) vnfcs(is *seen, vdu string) []vnfc {
	var pods []*unstructured.Unstructured
	for _, p := range is.pods {
		if p.vdu == vdu && p.GetDeletionTimestamp() == nil {
			pods = append(pods, p.Unstructured)
		}
	}
	slices.SortFunc(pods, func(a, b *unstructured.Unstructured) int {
		at, bt := a.GetCreationTimestamp(), b.GetCreationTimestamp()
		return cmp.Or(at.Compare(bt.Time), cmp.Compare(a.GetName(), b.GetName()))
	})
	known := k.known(vdu)
	var out []vnfc
	take := func(match func(k vnfc, id string, p *unstructured.Unstructured) bool) {
		for _, id := range slices.SortedFunc(maps.Keys(known), func(a, b string) int {
			return cmp.Or(cmp.Compare(known[a].rank, known[b].rank), cmp.Compare(known[a].index, known[b].index))
		}) {
			c := vnfc{id: id, index: known[id].index}
			n := slices.IndexFunc(pods, func(p *unstructured.Unstructured) bool { return match(c, id, p) })
			if n < 0 {
				continue
			}
			c.pod = pods[n]
			out = append(out, c)
			pods = slices.Delete(pods, n, n+1)
			delete(known, id)
		}
	}
	take(func(_ vnfc, id string, p *unstructured.Unstructured) bool { return known[id].uid == string(p.GetUID()) })
	take(func(c vnfc, _ string, p *unstructured.Unstructured) bool { return ordinal(p) == c.index })
	take(func(vnfc, string, *unstructured.Unstructured) bool { return true })
	used := map[int]bool{}
	for _, c := range out {
		used[c.index] = true
	}
	index := 0
	for _, p := range pods {
		c := vnfc{id: vdu + "-" + string(p.GetUID()), pod: p, index: ordinal(p)}
		if c.index < 0 || used[c.index] {
			for used[index] {
				index++
			}
			c.index = index
		}
		used[c.index] = true
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b vnfc) int { return cmp.Compare(b.index, a.index) })
	return out
}

// withoutPods are the VNFCs of a VDU of a stopped CNF, the highest index first.
func (k *work) withoutPods(vdu string) []vnfc {
	var out []vnfc
	if k.Op.Before == nil {
		return nil
	}
	for _, r := range k.Op.Before.Inventory {
		if r.VDU == vdu && r.VNFC != "" {
			r.Status, r.Host, r.Addresses = lcm.StatusNotFound, "", nil
			out = append(out, vnfc{id: r.VNFC, index: r.Index, last: r})
		}
	}
	slices.SortFunc(out, func(a, b vnfc) int { return cmp.Compare(b.index, a.index) })
	return out
}

// ordinal is the number of a pod of a StatefulSet; -1 for any other pod.
func ordinal(p *unstructured.Unstructured) int {
	for _, ref := range p.GetOwnerReferences() {
		if ref.Kind == "StatefulSet" {
			if n, err := strconv.Atoi(strings.TrimPrefix(p.GetName(), ref.Name+"-")); err == nil {
				return n
			}
		}
	}
	return -1
}

// knownVNFC is a VNFC of the record.
type knownVNFC struct {
	uid   string // of its pod
	index int
	rank  int // those that the operation removes come last
}

// known are the VNFCs of a VDU that the instance has, or had before the operation.
func (k *work) known(vdu string) map[string]knownVNFC {
	out := map[string]knownVNFC{}
	add := func(i *lcm.Instance) {
		if i == nil || i.Instantiated == nil {
			return
		}
		for _, r := range i.Inventory {
			if r.VDU == vdu && r.VNFC != "" {
				rank := 0
				if k.Op.Scope != nil && slices.Contains(k.Op.Scope.Remove, r.VNFC) {
					rank = 1
				}
				out[r.VNFC] = knownVNFC{uid: r.ID, index: r.Index, rank: rank}
			}
		}
	}
	add(k.Op.Before)
	if k.Op.State != sol.LcmOperationStateRollingBack {
		add(k.Instance)
	}
	return out
}

// changes are the differences of the VNFCs between two records (SOL003 clause 5.5.3.13).
func changes(before, after *lcm.Instance) *sol.ResourceChanges {
	old, now := machines(before), machines(after)
	var out []sol.AffectedVnfc
	add := func(typ sol.ChangeType, id string, a sol.AffectedVnfc) {
		a.ID, a.ChangeType = fmt.Sprintf("%s-%s", strings.ToLower(string(typ)), id), typ
		out = append(out, a)
	}
	for _, id := range slices.Sorted(maps.Keys(now)) {
		was, had := old[id]
		switch {
		case !had:
			add(sol.ChangeTypeAdded, id, now[id])
		case was.ComputeResource.ResourceID != now[id].ComputeResource.ResourceID:
			add(sol.ChangeTypeModified, id, now[id])
		}
	}
	for _, id := range slices.Sorted(maps.Keys(old)) {
		if _, has := now[id]; !has {
			add(sol.ChangeTypeRemoved, id, old[id])
		}
	}
	if len(out) == 0 {
		return nil
	}
	return &sol.ResourceChanges{AffectedVnfcs: out}
}

// machines are the VNFCs of an instance by their ids.
func machines(i *lcm.Instance) map[string]sol.AffectedVnfc {
	out := map[string]sol.AffectedVnfc{}
	if i == nil || i.Instantiated == nil {
		return out
	}
	for _, c := range i.Instantiated.VnfcInfo {
		if _, r, ok := i.VNFC(c.ID); ok {
			out[c.ID] = sol.AffectedVnfc{VduID: c.VduID, VnfdID: r.VnfdID, ComputeResource: r.ComputeResource}
		}
	}
	return out
}
