package vnflcm

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// model returns the VNFD of an instance, nil when it cannot be read now.
func (a *API) model(ctx context.Context, i *lcm.Instance) *vnfd.VNFD {
	model, err := a.Services.Packages.ModelOf(ctx, i.VnfPkgID)
	if err != nil {
		return nil
	}
	return model
}

// offers returns the kinds of operations that a VNF of an instance's package has, for each of its flavours and for any.
func (a *API) offers(ctx context.Context, i *lcm.Instance) offers {
	if known, ok := a.known.Load(i.VnfPkgID); ok {
		o, _ := known.(offers)
		return o
	}
	model := a.model(ctx, i)
	if model == nil {
		return nil
	}
	o := offersOf(model)
	a.known.Store(i.VnfPkgID, o) // the content of a package never changes
	return o
}

// offers holds the kinds of operations of a VNF by deployment flavour; "" is any flavour.
type offers map[string][]*lcm.OperationKind

func offersOf(v *vnfd.VNFD) offers {
	out := offers{"": offered(v, v.Flavours)}
	for n, f := range v.Flavours {
		out[f.ID] = offered(v, v.Flavours[n:n+1])
	}
	return out
}

func offered(v *vnfd.VNFD, of []vnfd.Flavour) []*lcm.OperationKind {
	var out []*lcm.OperationKind
	for _, k := range lcm.OperationKinds() {
		if k.Offered == nil || k.Offered(v, of) {
			out = append(out, k)
		}
	}
	return out
}

// kinds returns the kinds of operations that the VNFD of the instance allows; all when the VNFD cannot be read now. A list does not load the
// flavour of an instance: the kinds are those of any flavour then.
func (a *API) kinds(ctx context.Context, i *lcm.Instance) []*lcm.OperationKind {
	o := a.offers(ctx, i)
	if o == nil {
		return lcm.OperationKinds()
	}
	if i.Instantiated != nil {
		if of, ok := o[i.Instantiated.FlavourID]; ok {
			return of
		}
	}
	return o[""]
}

// links names the tasks that are possible in the instance's state.
func (a *API) links(ctx context.Context, i *lcm.Instance, self string) *sol.VnfInstanceLinks {
	out := &sol.VnfInstanceLinks{Self: sol.Link{Href: self}}
	for _, k := range a.kinds(ctx, i) {
		if k.Link != nil && (k.Requires == "" || k.Requires == i.State) {
			k.Link(out, &sol.Link{Href: self + "/" + k.Path})
		}
	}
	return out
}
