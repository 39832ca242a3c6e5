package k8scluster_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// sprayCloud is the infra driver of the machines. What it has done for an operation it does not do again. The methods
// that are not here are not called.
type sprayCloud struct {
	infra
	m *sprayed
}

func (c sprayCloud) Instantiate(ctx context.Context, w *lcm.Execution) error {
	if err := w.Hold(ctx); err != nil {
		return err
	}
	for _, v := range []struct {
		vdu  string
		want int
	}{{"masterNode", c.m.masters}, {"workerNode", c.m.workers}, {"externalLB", 1}} {
		if err := c.grow(v.vdu, v.want); err != nil {
			return err
		}
	}
	return nil
}

// grow boots machines until there are that many of a VDU.
func (c sprayCloud) grow(vdu string, want int) error {
	for range want - len(c.m.vnfcs(vdu)) {
		if err := c.m.boot(vdu, ""); err != nil {
			return err
		}
	}
	return nil
}

func (c sprayCloud) Change(_ context.Context, w *lcm.Execution) error {
	for _, id := range w.Op.Scope.Remove {
		c.remove(id)
	}
	for _, id := range w.Op.Scope.VNFCs {
		vnfc, had, _ := w.Op.Before.VNFC(id)
		if _, now, ok := c.m.there.VNFC(id); !ok || now.ID != had.ID {
			continue
		}
		c.m.switchOff(id)
		if err := c.m.boot(vnfc.VduID, id); err != nil {
			return err
		}
	}
	for vdu, n := range w.Op.Scope.Add {
		before := 0
		for _, v := range w.Op.Before.Instantiated.VnfcInfo {
			if v.VduID == vdu {
				before++
			}
		}
		if err := c.grow(vdu, before+n); err != nil {
			return err
		}
	}
	return nil
}

// Restore removes what the operation has added.
func (c sprayCloud) Restore(_ context.Context, w *lcm.Execution) error {
	for _, v := range slices.Clone(c.m.there.Instantiated.VnfcInfo) {
		if _, _, had := w.Op.Before.VNFC(v.ID); !had {
			c.remove(v.ID)
		}
	}
	return nil
}

func (c sprayCloud) Terminate(_ context.Context, w *lcm.Execution) error {
	for _, v := range slices.Clone(c.m.there.Instantiated.VnfcInfo) {
		c.remove(v.ID)
	}
	w.Instance.HoldsResources = false
	return nil
}

func (c sprayCloud) Inventory(_ context.Context, w *lcm.Execution) error {
	raw, err := json.Marshal(c.m.there)
	if err != nil {
		return err
	}
	var now lcm.Instance
	if err := json.Unmarshal(raw, &now); err != nil {
		return err
	}
	w.Instance.Inventory, w.Instance.Instantiated = now.Inventory, now.Instantiated
	return nil
}

func (c sprayCloud) remove(vnfc string) {
	c.m.switchOff(vnfc)
	c.m.forget(vnfc)
}

// switchOff deletes the machine of a VNFC, and the key that was remembered of it.
func (m *sprayed) switchOff(vnfc string) {
	m.fleet.Delete(m.machine(vnfc))
	m.keys.mu.Lock()
	defer m.keys.mu.Unlock()
	maps.DeleteFunc(m.keys.keys, func(k remote.Machine, _ remote.HostKey) bool {
		return k.Instance == m.id && k.VNFC == vnfc
	})
}

// forget takes a VNFC out of what the VIM has.
func (m *sprayed) forget(vnfc string) {
	info, server := m.there.Instantiated, ""
	info.VnfcInfo = slices.DeleteFunc(info.VnfcInfo, func(c sol.VnfcInfo) bool {
		if c.ID == vnfc {
			server = c.VnfcResourceInfoID
		}
		return c.ID == vnfc
	})
	info.VnfcResourceInfo = slices.DeleteFunc(info.VnfcResourceInfo, func(r sol.VnfcResourceInfo) bool {
		return r.ID == server
	})
	m.there.Inventory = slices.DeleteFunc(m.there.Inventory, func(r lcm.Resource) bool { return r.VNFC == vnfc })
}
