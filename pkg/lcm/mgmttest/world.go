package mgmttest

import (
	"context"
	"io/fs"
	"maps"
	"sync"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// stores has the operation for the request side. Only Steer is implemented.
type stores struct {
	lcm.Records

	task *Task
}

// In implements lcm.Stores.
func (s stores) In(lcm.Principal) lcm.Records { return s }

// Steer implements lcm.Records.
func (s stores) Steer(
	_ context.Context, _ string, change func(*lcm.Operation, *lcm.Protection) ([]lcm.Message, error),
) (*lcm.Operation, error) {
	s.task.mu.Lock()
	defer s.task.mu.Unlock()
	op := s.task.op
	if _, err := change(&op, nil); err != nil {
		return nil, err
	}
	op.Epoch++
	s.task.op = op
	return &op, nil
}

// Model implements lcm.Packages.
func (v VNF) Model(context.Context, lcm.Principal, string) (*vnfd.VNFD, string, error) {
	return v.VNFD, "pkg", nil
}

// VnfdID implements lcm.Packages.
func (v VNF) VnfdID(context.Context, lcm.Principal, string) (string, error) { return v.VNFD.ID, nil }

// ModelOf implements lcm.Packages.
func (v VNF) ModelOf(context.Context, string) (*vnfd.VNFD, error) { return v.VNFD, nil }

// Files implements lcm.Packages.
func (v VNF) Files(context.Context, string) (fs.FS, error) { return v.Package, nil }

// infras has one driver for all VIMs.
type infras struct{ own lcm.Infra }

// Infra returns the test's driver.
func (i infras) Infra(string) (lcm.Infra, bool) {
	if i.own == nil {
		return infra{}, true
	}
	return i.own, true
}

// infra changes nothing. The methods that are not here are not called.
type infra struct{ unused }

type unused = interface{ lcm.Infra }

func (infra) Options(lcm.Request) (lcm.Options, error)           { return lcm.Options{}, nil }
func (infra) Replaces(lcm.Request) ([]string, error)             { return nil, nil }
func (infra) Lasting(params sol.KeyValuePairs) sol.KeyValuePairs { return params }
func (infra) Validate(context.Context, lcm.Request) error        { return nil }
func (infra) Instantiate(context.Context, *lcm.Execution) error  { return nil }
func (infra) Inventory(context.Context, *lcm.Execution) error    { return nil }
func (infra) Change(context.Context, *lcm.Execution) error       { return nil }
func (infra) Restore(context.Context, *lcm.Execution) error      { return nil }
func (infra) Terminate(context.Context, *lcm.Execution) error    { return nil }

// Grant implements lcm.Grantor.
func (infra) Grant(context.Context, *lcm.Execution) (*lcm.Grant, error) {
	return &lcm.Grant{ID: "granted"}, nil
}

// HostKeys keeps the host keys of machines in memory. Its zero value is empty.
type HostKeys struct {
	mu   sync.Mutex
	keys map[remote.Machine]remote.HostKey
}

var _ remote.HostKeyStore = (*HostKeys)(nil)

// Lookup implements remote.HostKeyStore.
func (h *HostKeys) Lookup(_ context.Context, m remote.Machine) (*remote.HostKey, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if k, ok := h.keys[m]; ok {
		return &k, nil
	}
	return nil, nil //nolint:nilnil // the contract
}

// Pin implements remote.HostKeyStore.
func (h *HostKeys) Pin(_ context.Context, m remote.Machine, k remote.HostKey) (remote.HostKey, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if old, ok := h.keys[m]; ok {
		return old, nil
	}
	h.set(m, k)
	return k, nil
}

// Set replaces the key of a machine.
func (h *HostKeys) Set(m remote.Machine, k remote.HostKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.set(m, k)
}

// set stores a key; the lock is held.
func (h *HostKeys) set(m remote.Machine, k remote.HostKey) {
	if h.keys == nil {
		h.keys = map[remote.Machine]remote.HostKey{}
	}
	h.keys[m] = k
}

// All are the keys by machine.
func (h *HostKeys) All() map[remote.Machine]remote.HostKey {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.keys)
}
