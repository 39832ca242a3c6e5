package machine

import (
	"slices"

	"golang.org/x/crypto/ssh"

	"github.com/gybe-nfv/gybe/test/simcloud/fleet"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/kube"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/ubuntu"
)

// image is what was on the root disk of a machine at one moment. It does not change.
type image struct {
	server string // id of the server
	system *ubuntu.Content
	etcd   *kube.Data // nil without a member of etcd
	keys   []ssh.Signer
}

// volume is what is on a volume: blocks of a data disk, or the root disk that a machine has left there.
type volume struct {
	blocks *ubuntu.Volume
	root   *image
}

// image copies the root disk, which is what it was made from as long as no user has logged in to the machine.
func (m *Machine) image() *image {
	m.mu.Lock()
	o, keys := m.os, slices.Clone(m.keys)
	m.mu.Unlock()
	if o == nil {
		return m.from()
	}
	return &image{server: m.spec.ID, system: o.Content(), etcd: m.f.world.etcd(m), keys: keys}
}

// from is the disk that the machine starts with, nil for a fresh one.
func (m *Machine) from() *image {
	if id := m.spec.RootVolume; id != "" {
		m.f.mu.Lock()
		defer m.f.mu.Unlock()
		if v := m.f.volumes[id]; v.root != nil {
			return v.root
		}
	}
	i, _ := m.spec.Content.(*image)
	return i
}

// leaveRoot keeps the disk of a machine that is off in the volume that it has booted from.
func (f *Fleet) leaveRoot(m *Machine) {
	if m.spec.RootVolume == "" {
		return
	}
	i := m.image()
	f.mu.Lock()
	defer f.mu.Unlock()
	v := f.volumes[m.spec.RootVolume]
	v.root = i
	f.volumes[m.spec.RootVolume] = v
}

// disk is a volume as a machine sees it, with what other machines have left on it.
func (f *Fleet) disk(d Disk) ubuntu.Disk {
	f.mu.Lock()
	defer f.mu.Unlock()
	v := f.volumes[d.VolumeID]
	if v.blocks == nil {
		v.blocks = &ubuntu.Volume{ID: d.VolumeID}
		if d.VolumeID != "" {
			f.volumes[d.VolumeID] = v
		}
	}
	return ubuntu.Disk{Device: d.Device, Volume: v.blocks}
}

// CopyDisk implements fleet.DiskMachines. As with a real snapshot of a running machine, what programs hold in memory is
// not in it.
func (f *Fleet) CopyDisk(id string) fleet.Content {
	if m := f.Machine(id); m != nil {
		if i := m.image(); i != nil {
			return i
		}
	}
	return nil
}

// CopyVolume implements fleet.DiskMachines.
func (f *Fleet) CopyVolume(volumeID string) fleet.Content {
	f.mu.Lock()
	v := f.volumes[volumeID]
	var user *Machine
	for _, m := range f.machines {
		if volumeID != "" && m.spec.RootVolume == volumeID {
			user = m
		}
	}
	f.mu.Unlock()
	if v.blocks != nil {
		v.blocks = v.blocks.Copy("")
	}
	if user != nil {
		v.root = user.image()
	}
	if v == (volume{}) {
		return nil
	}
	return v
}

// FillVolume implements fleet.DiskMachines.
func (f *Fleet) FillVolume(volumeID string, c fleet.Content) {
	v, _ := c.(volume)
	if i, ok := c.(*image); ok {
		v.root = i
	}
	if v.blocks != nil {
		v.blocks = v.blocks.Copy(volumeID)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if v != (volume{}) {
		f.volumes[volumeID] = v
	}
}

// DropVolume implements fleet.DiskMachines.
func (f *Fleet) DropVolume(volumeID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.volumes, volumeID)
}
