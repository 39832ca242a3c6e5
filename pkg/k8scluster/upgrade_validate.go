package k8scluster

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// maxBatch bounds upgrade_batch.
const maxBatch = 1000

// batch returns a whole number from 1 on, or 0 when there is none.
func (g group) batch(member string) int {
	v, ok := g.m[member]
	if !ok || v == nil {
		return 0
	}
	n, ok := v.(float64)
	if !ok || n != math.Trunc(n) || n < 1 || n > maxBatch {
		g.fail(member, fmt.Sprintf("%s is not a whole number between 1 and %d.", member, maxBatch))
		return 0
	}
	return int(n)
}

// upgrade checks a change of the package: the cluster keeps its machines, and, where the package upgrades it, gets a
// version that can be reached.
func (c *checker) upgrade(p params, version bool) {
	if c.Type != sol.LcmOperationChangeVnfpkg || c.Previous == nil || c.Previous.Flavour == nil || c.Scope == nil ||
		c.Instance.Instantiated == nil {
		return
	}
	vdus := []string{p.master.vdu, p.worker.vdu}
	if p.storage != nil {
		vdus = append(vdus, p.storage.vdu)
	}
	for _, vdu := range vdus {
		if vdu != "" {
			c.sameMachines(vdu)
		}
	}
	if version {
		c.reachable(p)
	}
}

// sameMachines refuses a package with which the machines of a VDU would be added, removed or replaced.
func (c *checker) sameMachines(vdu string) {
	refuse := func(pointer, format string, args ...any) {
		c.bad = append(c.bad, lcm.InvalidParam{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	const keep = "A cluster is upgraded on the machines that it has: keep the image, and heal VNFCs or scale to get " +
		"new machines."
	touched := false
	for _, v := range c.Instance.Instantiated.VnfcInfo {
		if v.VduID != vdu {
			continue
		}
		touched = touched || slices.Contains(c.Scope.VNFCs, v.ID)
		if slices.Contains(c.Scope.Remove, v.ID) {
			refuse("/vnfdId", "with this package the number of %s changes, which only scaling can do.", vdu)
			return
		}
	}
	if c.Scope.Add[vdu] > 0 {
		refuse("/vnfdId", "with this package the number of %s changes, which only scaling can do.", vdu)
		return
	}
	if is, had := c.Flavour.VDU(vdu), c.Previous.Flavour.VDU(vdu); touched && is != nil && had != nil {
		if !sameImage(is.Image, had.Image) {
			refuse(
				"/vnfdId", "the image of %s is another in this package: its machines would be replaced. %s", vdu, keep,
			)
		}
		for _, name := range is.Storages {
			if i, h := storageOf(c.Flavour, name), storageOf(c.Previous.Flavour, name); i != nil && (h == nil ||
				!sameImage(i.Image, h.Image)) {
				refuse("/vnfdId", "the storage %s of %s is another in this package: its machines would be replaced. %s",
					name, vdu, keep)
			}
		}
	}
	if by := c.Replaces(vdu); len(by) > 0 {
		refuse("/vnfdId", "the templates of this package give %s another %s: its machines would be replaced. %s", vdu,
			strings.Join(by, ", "), keep)
	}
	var req struct {
		Additional struct {
			NFV struct {
				VDU map[string]map[string]any `json:"VDU"`
			} `json:"nfv"`
		} `json:"additionalParams"`
	}
	_ = json.Unmarshal(c.Params, &req) // the infra driver reports it
	if _, ok := req.Additional.NFV.VDU[vdu]["vcImageId"]; ok {
		refuse("/additionalParams/nfv/VDU/"+lcm.Escape(vdu)+"/vcImageId",
			"another image replaces the machines of %s. %s", vdu, keep)
	}
}

// sameImage says whether the VIM's image stays the same. An image of the package without a checksum is another in every
// package.
func sameImage(a, b *vnfd.SwImage) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.File != "" && a.ChecksumHash == "" {
		return false
	}
	content := func(i vnfd.SwImage) vnfd.SwImage {
		i.Version, i.Provider, i.SizeBytes = "", "", 0
		if i.File != "" {
			i.File = "of the package"
		}
		return i
	}
	return content(*a) == content(*b)
}

func storageOf(f *vnfd.Flavour, name string) *vnfd.Storage {
	if i := slices.IndexFunc(f.Storages, func(s vnfd.Storage) bool { return s.Name == name }); i >= 0 {
		return &f.Storages[i]
	}
	return nil
}

// reachable refuses a version that cannot be reached from the version that the VNF should have. The versions of its
// nodes are checked when the operation begins.
func (c *checker) reachable(p params) {
	script, err := loadScript(c.Package, p.script)
	if err != nil {
		return // reported already
	}
	to, ok := targetVersion(p.kubernetesVersion, script)
	if !ok {
		c.fail(
			"kubernetes_version",
			"kubernetes_version is not defined in additionalParams, and the script %s names no version either.",
			p.script,
		)
		return
	}
	if !script.has(phaseUpgrade) {
		c.fail("script_path", "the script %s does not have the phase %s.", p.script, phaseUpgrade)
	}
	previous, _ := remembered(c.Instance, c.Previous.Flavour)
	script, _ = loadScript(c.Previous.Package, previous.script)
	from, ok := targetVersion(previous.kubernetesVersion, script)
	if why := notReachable(from, to); ok && why != "" {
		if p.kubernetesVersion != "" {
			c.fail("kubernetes_version", "the VNF has Kubernetes %s: %s.", from, why)
			return
		}
		c.bad = append(c.bad, lcm.InvalidParam{Pointer: "/vnfdId", Detail: fmt.Sprintf(
			"the VNF has Kubernetes %s, and this package's script installs %s: %s.", from, to, why,
		)})
	}
}
