package lcm

import (
	"fmt"

	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// A package is onboarded in spite of defects that concern only some operations. They are the errors of the requests
// that meet them, with the text of the package's warning.

// badLevel says why an operation cannot use an instantiation level, of which "" is the default one; "" if it can.
func badLevel(f *vnfd.Flavour, id string) string {
	if l := f.Level(id); l != nil {
		if w := f.Warning(vnfd.UnknownCounts, l.ID); w != nil {
			return w.Text
		}
		return ""
	}
	has := listed(f.Levels, func(l vnfd.InstantiationLevel) string { return l.ID })
	switch {
	case id == "" && len(f.Levels) == 0:
		return ""
	case id == "":
		text := fmt.Sprintf("flavour %s has no default instantiation level", f.ID)
		if w := f.Warning(vnfd.NoDefaultLevel, f.ID); w != nil {
			text = w.Text
		}
		return text + "; name one of " + has
	}
	return fmt.Sprintf("flavour %s has no instantiation level %q; it has %s", f.ID, id, has)
}

// badAspect says why an aspect cannot be scaled; "" if it can.
func badAspect(f *vnfd.Flavour, id string) string {
	if f.Aspect(id) == nil {
		return fmt.Sprintf("flavour %s has no scaling aspect %q; it has %s", f.ID, id,
			listed(f.Aspects, func(a vnfd.ScalingAspect) string { return a.ID }))
	}
	if w := f.Warning(vnfd.UnknownDelta, id); w != nil {
		return w.Text
	}
	return ""
}

// noFlavour says that a VNFD does not have a flavour.
func noFlavour(m *vnfd.VNFD, id string) string {
	text := fmt.Sprintf("the VNFD has no flavour %q; it has %s", id, flavourIDs(m))
	if w := m.Warning(vnfd.UnusableFlavour, id); w != nil {
		text += "; " + w.Text
	}
	return text
}

// noConnectionPoint says that a flavour does not have a connection point.
func noConnectionPoint(f *vnfd.Flavour, id string) string {
	if f.VirtualCP(id) != nil {
		return fmt.Sprintf(
			"%q is a virtual connection point, which the objects of the VNF make; requests cannot connect it", id,
		)
	}
	text := fmt.Sprintf("flavour %s has no connection point %q", f.ID, id)
	if w := f.Warning(vnfd.UnknownNode, id); w != nil {
		text += "; " + w.Text
	}
	return text
}
