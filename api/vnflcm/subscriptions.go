package vnflcm

import (
	"encoding/json"
	"net/http"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/api/subscriptions"
	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/notify/lifecycle"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/selector"
	"github.com/gybe-nfv/gybe/pkg/sol/version"
)

// subscriptions are those to notifications of lifecycle changes.
func (a *API) subscriptions() *subscriptions.Resource[sol.LccnSubscription] {
	return &subscriptions.Resource[sol.LccnSubscription]{
		API: &lifecycle.API, Services: a.Subscriptions, Path: Prefix + "/subscriptions",
		Selectors: selector.LccnSubscriptions, Read: readSubscription, Show: showSubscription,
		Filter: func(s *sol.LccnSubscription) any { return &s.Filter },
		ID:     func(s *sol.LccnSubscription) string { return s.ID },
	}
}

func readSubscription(
	w http.ResponseWriter, r *frame.Request, filter json.RawMessage,
) (notify.Request, error) {
	body, err := frame.Decode[sol.LccnSubscriptionRequest](r)
	if err != nil {
		return notify.Request{}, err
	}
	if body.Verbosity == "" {
		body.Verbosity = sol.VerbosityFull
	}
	return notify.Request{
		Version: w.Header().Get(version.Header), Callback: body.CallbackURI, Filter: filter,
		Auth: body.Authentication, Verbosity: body.Verbosity,
	}, nil
}

func showSubscription(s *notify.Subscription, self string) sol.LccnSubscription {
	return sol.LccnSubscription{
		ID: s.ID, CallbackURI: s.Callback, Verbosity: s.Verbosity, Links: sol.SelfLinks{Self: sol.Link{Href: self}},
	}
}
