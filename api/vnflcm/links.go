package vnflcm

import (
	"context"
	"strings"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// offers returns the kinds of operations that a VNF of a package has, for each of its flavours and for any; nil when
// the VNFD cannot be read now.
func (a *API) offers(ctx context.Context, vnfPkgID string) offers {
	if known, ok := a.known.Load(vnfPkgID); ok {
		o, _ := known.(offers)
		return o
	}
	model, err := a.Services.Packages.ModelOf(ctx, vnfPkgID)
	if err != nil {
		return nil
	}
	o := offersOf(model)
	a.known.Store(vnfPkgID, o) // the content of a package never changes
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

// kinds returns the kinds of operations that the VNFD of the instance allows. known is false when the VNFD cannot be
// read now; then it returns all.
func (a *API) kinds(ctx context.Context, d *lcm.InstanceDocument) (kinds []*lcm.OperationKind, known bool) {
	o := a.offers(ctx, d.VnfPkgID)
	if o == nil {
		return lcm.OperationKinds(), false
	}
	if of, ok := o[d.FlavourID]; ok {
		return of, true
	}
	return o[""], true
}

// linksKey is what the links of an instance depend on, besides its id.
type linksKey struct {
	vnfPkgID, flavourID string
	state               sol.InstantiationState
	protected           bool
}

// instanceLinks names the tasks that are possible in the instance's state. The place of the parent is that of
// the instance in our own interface.
func (a *edition) instanceLinks(ctx context.Context, d *lcm.InstanceDocument) frame.LinkTemplate {
	key := linksKey{d.VnfPkgID, d.FlavourID, d.State, d.Protected}
	a.linksLock.RLock()
	out, ok := a.links[key]
	a.linksLock.RUnlock()
	if ok {
		return out
	}
	links := &sol.VnfInstanceLinks{Self: sol.Link{Href: frame.SelfPlace}}
	kinds, known := a.kinds(ctx, d)
	if d.Protected {
		links.Protection = &sol.Link{Href: frame.ParentPlace + "/protection"}
	}
	for _, k := range kinds {
		if d.Protected && k.Deletes != lcm.DeletesNone {
			continue
		}
		if a.has(k) && k.Link != nil && (k.Requires == "" || k.Requires == d.State) {
			k.Link(links, &sol.Link{Href: frame.SelfPlace + "/" + k.Path})
		}
	}
	out = frame.NewLinkTemplate(links)
	if known {
		a.linksLock.Lock()
		a.links[key] = out
		a.linksLock.Unlock()
	}
	return out
}

// operationLinks names the tasks that are possible in the operation's state.
func (a *edition) operationLinks(d *lcm.OperationDocument) frame.LinkTemplate {
	a.linksLock.RLock()
	out, ok := a.taskLinks[d.Events]
	a.linksLock.RUnlock()
	if ok && d.GrantHref == "" && d.SnapshotID == "" {
		return out
	}
	links := &sol.VnfLcmOpOccLinks{
		Self: sol.Link{Href: frame.SelfPlace}, VnfInstance: sol.Link{Href: frame.ParentPlace},
	}
	for name := range strings.FieldsSeq(d.Events) {
		link := &sol.Link{Href: frame.SelfPlace + "/" + name}
		switch lcm.Event(name) { //nolint:exhaustive // the others are not the user's
		case lcm.EventRetry:
			links.Retry = link
		case lcm.EventRollback:
			links.Rollback = link
		case lcm.EventFail:
			links.Fail = link
		case lcm.EventCancel:
			links.Cancel = link
		}
	}
	if d.GrantHref != "" {
		links.Grant = &sol.Link{Href: d.GrantHref}
	}
	if d.SnapshotID != "" {
		links.VnfSnapshot = &sol.Link{Href: a.url(Prefix + snapshotsPart + "/" + d.SnapshotID)}
	}
	if d.GrantHref != "" || d.SnapshotID != "" { // they differ for every operation
		return frame.NewLinkTemplate(links)
	}
	out = frame.NewLinkTemplate(links)
	a.linksLock.Lock()
	a.taskLinks[d.Events] = out
	a.linksLock.Unlock()
	return out
}
