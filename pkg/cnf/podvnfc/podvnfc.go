// Package podvnfc maps pods to VNFCs. A VNFC is the place of a pod in its VDU: it has an index, and keeps its id when
// another pod takes the place.
package podvnfc

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Type is the type of a pod in an inventory.
const Type = "Pod"

func init() { lcm.RegisterKinds(map[string]lcm.Kind{Type: lcm.KindContainer}) }

// ID is the vnfcInfo id of the VNFC with this index (from 0) of a VDU.
func ID(vdu string, index int) string { return vdu + "-" + strconv.Itoa(index) }

// Workload is the observed workload of a VDU.
type Workload struct {
	VDU  string
	Kind string // of the object, such as Deployment
	// Ordered says that the pods of the workload have ordinals of their own (StatefulSet).
	Ordered bool
	// Pods are the present pods of the workload; those that are being deleted are left out.
	Pods []corev1.Pod
	// Want is the number of VNFCs that the VDU has while it is stopped. Stopped says that its pods are taken away.
	Want    int
	Stopped bool
}

// Place is a VNFC with its pod.
type Place struct {
	VDU   string
	Index int
	// Pod is nil for a VNFC that is stopped.
	Pod *corev1.Pod
}

// Places assigns the pods of a workload to VNFCs. before is the inventory from before: a pod keeps its place, and other
// pods take the free places with the lowest indexes. Places with a lower index than want are filled first.
func Places(w Workload, before []lcm.Resource) []Place {
	var out []Place
	if w.Stopped {
		for n := range w.Want {
			out = append(out, Place{VDU: w.VDU, Index: n})
		}
		return out
	}
	held := map[string]int{}
	for _, r := range before {
		if r.Type == Type && r.VDU == w.VDU {
			held[r.ID] = r.Index
		}
	}
	pods := slices.Clone(w.Pods)
	slices.SortStableFunc(pods, func(a, b corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	taken := map[int]bool{}
	var fresh []*corev1.Pod
	for n := range pods {
		p := &pods[n]
		index, ok := held[p.Name]
		if w.Ordered {
			index, ok = ordinal(p.Name)
		}
		if !ok || taken[index] {
			fresh = append(fresh, p)
			continue
		}
		taken[index] = true
		out = append(out, Place{VDU: w.VDU, Index: index, Pod: p})
	}
	next := 0
	for _, p := range fresh {
		for taken[next] {
			next++
		}
		taken[next] = true
		out = append(out, Place{VDU: w.VDU, Index: next, Pod: p})
	}
	slices.SortFunc(out, func(a, b Place) int { return cmp.Compare(b.Index, a.Index) })
	return out
}

// ordinal is the number at the end of the name of a StatefulSet's pod.
func ordinal(pod string) (int, bool) {
	n, err := strconv.Atoi(pod[strings.LastIndex(pod, "-")+1:])
	return n, err == nil && n >= 0
}

// Record adds the VNFCs of a workload to the record of an instance. Places come in the order in which scaling in takes
// them. vim is the key of the connection.
func Record(
	info *sol.InstantiatedVnfInfo, w Workload, places []Place, vim string, before *lcm.Instance,
) []lcm.Resource {
	var out []lcm.Resource
	for _, p := range places {
		id := ID(p.VDU, p.Index)
		c := sol.VnfcInfo{ID: id, VduID: p.VDU, VnfcState: sol.VnfOperationalStateStarted}
		res := sol.VnfcResourceInfo{VduID: p.VDU, StorageResourceIds: []string{}, ComputeResource: sol.ResourceHandle{
			VimConnectionID: vim, VimLevelResourceType: w.Kind,
		}}
		r := lcm.Resource{Name: p.VDU, Kind: lcm.KindContainer, Type: Type, VNFC: id, VDU: p.VDU, Index: p.Index}
		if p.Pod == nil {
			c.VnfcState = sol.VnfOperationalStateStopped
			r.ID, r.Status = stoppedPod(before, id), lcm.StatusNotFound
			res.ID = id
		} else {
			res.ID = string(p.Pod.UID)
			describe(&r, p.Pod)
			if res.Metadata = metadata(p.Pod); r.Host != "" {
				res.ZoneID = r.Zone
			}
		}
		res.ComputeResource.ResourceID = r.ID
		c.VnfcResourceInfoID = res.ID
		info.VnfcInfo = append(info.VnfcInfo, c)
		info.VnfcResourceInfo = append(info.VnfcResourceInfo, res)
		out = append(out, r)
	}
	return out
}

// stoppedPod is the id of a VNFC's last pod, or the VNFC's own id when it had none.
func stoppedPod(before *lcm.Instance, vnfc string) string {
	if before != nil {
		if _, res, ok := before.VNFC(vnfc); ok {
			return res.ComputeResource.ResourceID
		}
	}
	return vnfc
}

// describe fills the entry of a pod.
func describe(r *lcm.Resource, p *corev1.Pod) {
	r.ID, r.Status, r.Host = p.Name, string(p.Status.Phase), p.Spec.NodeName
	r.Created = p.CreationTimestamp.Time.UTC()
	for _, ip := range p.Status.PodIPs {
		r.Addresses = append(r.Addresses, lcm.Address{IP: ip.IP})
	}
	if len(p.Spec.Containers) > 0 {
		r.Image = p.Spec.Containers[0].Image
	}
}

// metadata is shown at the vnfcResourceInfo.
func metadata(p *corev1.Pod) sol.KeyValuePairs {
	return sol.KeyValuePairs{
		"namespace": p.Namespace, "uid": string(p.UID),
		"creation_time": p.CreationTimestamp.UTC().Format(time.RFC3339),
	}
}

// Changes lists the VNFCs whose pods came, went or were replaced since before.
func Changes(before *lcm.Instance, now *sol.InstantiatedVnfInfo) []sol.AffectedVnfc {
	var out []sol.AffectedVnfc
	had := map[string]sol.VnfcResourceInfo{}
	if before != nil && before.Instantiated != nil {
		for _, r := range before.Instantiated.VnfcResourceInfo {
			had[r.ID] = r
		}
	}
	list := func(r sol.VnfcResourceInfo, t sol.ChangeType) {
		out = append(out, sol.AffectedVnfc{ID: r.ID, VduID: r.VduID, ChangeType: t, ComputeResource: r.ComputeResource})
	}
	if now != nil {
		for _, r := range now.VnfcResourceInfo {
			if _, ok := had[r.ID]; !ok {
				list(r, sol.ChangeTypeAdded)
			}
			delete(had, r.ID)
		}
	}
	if before != nil && before.Instantiated != nil {
		for _, r := range before.Instantiated.VnfcResourceInfo {
			if _, gone := had[r.ID]; gone {
				list(r, sol.ChangeTypeRemoved)
			}
		}
	}
	return out
}

// Planned is the entry of a new VNFC in a plan.
func Planned(vdu string, n int, workload string) lcm.PlannedResource {
	return lcm.PlannedResource{
		Type: Type, Name: fmt.Sprintf("%s %d", vdu, n), VDU: vdu, Kind: lcm.KindContainer,
		Detail: "a pod of " + workload,
	}
}
