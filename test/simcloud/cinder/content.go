package cinder

import "github.com/gybe-nfv/gybe/test/simcloud/fleet"

// fill gives a new volume what it begins with.
func (s *Service) fill(v *Volume) {
	if f, ok := s.world.Fleet.(fleet.DiskMachines); ok && v.content != nil {
		f.FillVolume(v.ID, v.content)
	}
	v.content = nil // the fleet has it
}

// copyVolume gives a volume what is on another one now.
func (s *Service) copyVolume(from, to string) {
	if f, ok := s.world.Fleet.(fleet.DiskMachines); ok {
		f.FillVolume(to, f.CopyVolume(from))
	}
}

// content is what is on a volume now.
func (s *Service) content(v *Volume) fleet.Content {
	if f, ok := s.world.Fleet.(fleet.DiskMachines); ok {
		return f.CopyVolume(v.ID)
	}
	return nil
}

// drop forgets what is on a volume.
func (s *Service) drop(v *Volume) {
	if f, ok := s.world.Fleet.(fleet.DiskMachines); ok {
		f.DropVolume(v.ID)
	}
}
