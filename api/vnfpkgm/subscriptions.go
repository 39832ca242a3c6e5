package vnfpkgm

import (
	"cmp"
	"encoding/json"
	"net/http"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/api/subscriptions"
	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/notify/packages"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/selector"
	"github.com/gybe-nfv/gybe/pkg/sol/version"
)

// subscriptions are those to notifications about packages. Both versions show all of them; the notifications of a
// subscription have the links of the version that it was made with.
func (m *major) subscriptions() *subscriptions.Resource[sol.PkgmSubscription] {
	return &subscriptions.Resource[sol.PkgmSubscription]{
		API: &packages.API, Services: m.Subscriptions, Path: m.prefix + "/subscriptions",
		Selectors: selector.PkgmSubscriptions, Read: m.readSubscription, Show: showSubscription,
		Filter: func(s *sol.PkgmSubscription) any { return &s.Filter },
		ID:     func(s *sol.PkgmSubscription) string { return s.ID },
	}
}

func (m *major) readSubscription(
	w http.ResponseWriter, r *frame.Request, filter json.RawMessage,
) (notify.Request, error) {
	body, err := frame.Decode[sol.PkgmSubscriptionRequest](r)
	if err != nil {
		return notify.Request{}, err
	}
	return notify.Request{
		Version:  cmp.Or(w.Header().Get(version.Header), m.versions[len(m.versions)-1]),
		Callback: body.CallbackURI, Filter: filter, Auth: body.Authentication,
	}, nil
}

func showSubscription(s *notify.Subscription, self string) sol.PkgmSubscription {
	return sol.PkgmSubscription{
		ID: s.ID, CallbackURI: s.Callback, Links: sol.SelfLinks{Self: sol.Link{Href: self}},
	}
}
