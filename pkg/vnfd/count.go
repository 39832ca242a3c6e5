package vnfd

import "maps"

// Level returns the instantiation level with this id (the default one for ""), or nil.
func (f *Flavour) Level(id string) *InstantiationLevel {
	if id == "" {
		id = f.DefaultLevel
	}
	for i := range f.Levels {
		if f.Levels[i].ID == id {
			return &f.Levels[i]
		}
	}
	return nil
}

// Aspect returns the scaling aspect with this id, or nil.
func (f *Flavour) Aspect(id string) *ScalingAspect {
	for i := range f.Aspects {
		if f.Aspects[i].ID == id {
			return &f.Aspects[i]
		}
	}
	return nil
}

// VDU returns the VDU with this node name, or nil.
func (f *Flavour) VDU(name string) *VDU {
	for i := range f.VDUs {
		if f.VDUs[i].Name == name {
			return &f.VDUs[i]
		}
	}
	return nil
}

// CP returns the connection point with this node name, or nil.
func (f *Flavour) CP(name string) *CP {
	for i := range f.CPs {
		if f.CPs[i].Name == name {
			return &f.CPs[i]
		}
	}
	return nil
}

// VirtualCP returns the virtual connection point with this node name, or nil.
func (f *Flavour) VirtualCP(name string) *VirtualCP {
	for i := range f.VirtualCPs {
		if f.VirtualCPs[i].Name == name {
			return &f.VirtualCPs[i]
		}
	}
	return nil
}

// Counts returns the number of VNFCs of each VDU at an instantiation level ("" is the default level).
// VDUs that the level does not name get their VduInitialDelta, or else their minimum. The second result is
// false when there is no such level; a flavour that declares no levels accepts only "".
func (f *Flavour) Counts(level string) (map[string]int, bool) {
	l := f.Level(level)
	if l == nil && (level != "" || len(f.Levels) > 0) {
		return nil, false
	}
	counts := make(map[string]int, len(f.VDUs))
	for _, v := range f.VDUs {
		counts[v.Name] = max(v.InitialInstances, v.MinInstances)
		if v.InitialInstances > 0 {
			counts[v.Name] = v.InitialInstances
		}
	}
	if l != nil {
		maps.Copy(counts, l.VDUs)
	}
	return counts, true
}
