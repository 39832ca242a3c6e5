package vnfd

import "slices"

// Part returns the flavour without the VDUs that keep rejects, and without their connection points and storages.
// Connection points of the whole VNF stay when whole is set. Policies stay as they are: they may name VDUs that the
// part does not have.
func (f *Flavour) Part(keep func(vdu string) bool, whole bool) *Flavour {
	out := *f
	out.VDUs = slices.DeleteFunc(slices.Clone(f.VDUs), func(v VDU) bool { return !keep(v.Name) })
	out.CPs = slices.DeleteFunc(
		slices.Clone(f.CPs), func(c CP) bool { return c.VDU == "" && !whole || c.VDU != "" && !keep(c.VDU) },
	)
	out.Storages = slices.DeleteFunc(slices.Clone(f.Storages), func(s Storage) bool {
		used := slices.ContainsFunc(f.VDUs, func(v VDU) bool { return slices.Contains(v.Storages, s.Name) })
		own := slices.ContainsFunc(out.VDUs, func(v VDU) bool { return slices.Contains(v.Storages, s.Name) })
		return used && !own || !used && !whole
	})
	return &out
}
