package vnflcm

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// abilities are the tasks that not every VNF has: its VNFD decides.
type abilities struct {
	scale, toLevel, changeFlavour bool
	// flavours says it for one deployment flavour each; nil below the top.
	flavours map[string]abilities
}

func abilitiesOf(v *vnfd.VNFD) abilities {
	all := abilities{changeFlavour: len(v.Flavours) > 1, flavours: map[string]abilities{}}
	for _, f := range v.Flavours {
		one := abilities{scale: len(f.Aspects) > 0, toLevel: len(f.Aspects) > 0 || len(f.Levels) > 1, changeFlavour: all.changeFlavour}
		all.flavours[f.ID] = one
		all.scale, all.toLevel = all.scale || one.scale, all.toLevel || one.toLevel
	}
	return all
}

// abilitiesOf returns what the VNFD of the instance allows; everything when the VNFD cannot be read now. The flavour of an
// instance is not loaded for a list: what any flavour can is said then.
func (a *API) abilitiesOf(ctx context.Context, i *lcm.Instance) abilities {
	var of abilities
	if known, ok := a.known.Load(i.VnfPkgID); ok {
		of, _ = known.(abilities)
	} else {
		model, err := a.Service.Packages.ModelOf(ctx, i.VnfPkgID)
		if err != nil {
			return abilities{scale: true, toLevel: true, changeFlavour: true}
		}
		of = abilitiesOf(model)
		a.known.Store(i.VnfPkgID, of) // the content of a package never changes
	}
	if i.Instantiated != nil {
		if f, ok := of.flavours[i.Instantiated.FlavourID]; ok {
			return f
		}
	}
	return of
}

// links names the tasks that are possible in the instance's state.
func (a *API) links(ctx context.Context, i *lcm.Instance, self string) *sol.VnfInstanceLinks {
	task := func(name string) *sol.Link { return &sol.Link{Href: self + "/" + name} }
	out := &sol.VnfInstanceLinks{Self: sol.Link{Href: self}}
	if i.State == sol.InstantiationStateNotInstantiated {
		out.Instantiate = task("instantiate")
		return out
	}
	out.Terminate, out.Heal, out.Operate, out.ChangeExtConn = task("terminate"), task("heal"), task("operate"), task("change_ext_conn")
	can := a.abilitiesOf(ctx, i)
	if can.scale {
		out.Scale = task("scale")
	}
	if can.toLevel {
		out.ScaleToLevel = task("scale_to_level")
	}
	if can.changeFlavour {
		out.ChangeFlavour = task("change_flavour")
	}
	return out
}
