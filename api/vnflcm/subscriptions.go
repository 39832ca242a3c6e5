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
	v1 "github.com/gybe-nfv/gybe/pkg/sol/v1"
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

// subscriptionsV1 are the same in the form of version 1. Their notifications have it, too.
func (a *API) subscriptionsV1() *subscriptions.Resource[v1.LccnSubscription] {
	return &subscriptions.Resource[v1.LccnSubscription]{
		API: &lifecycle.API, Services: a.Subscriptions, Path: PrefixV1 + "/subscriptions",
		Selectors: subscriptionsV1, Read: readSubscriptionV1, Show: showSubscriptionV1,
		Filter: func(s *v1.LccnSubscription) any { return &s.Filter },
		ID:     func(s *v1.LccnSubscription) string { return s.ID },
	}
}

var subscriptionsV1 = selector.New[v1.LccnSubscription]()

func readSubscriptionV1(
	w http.ResponseWriter, r *frame.Request, filter json.RawMessage,
) (notify.Request, error) {
	body, err := frame.Decode[v1.LccnSubscriptionRequest](r)
	return notify.Request{
		Version: w.Header().Get(version.Header), Callback: body.CallbackURI, Filter: filter,
		Auth: body.Authentication, Verbosity: sol.VerbosityFull, // version 1 has no other
	}, err
}

func showSubscriptionV1(s *notify.Subscription, self string) v1.LccnSubscription {
	return v1.LccnSubscription{
		ID: s.ID, CallbackURI: s.Callback, Links: sol.SelfLinks{Self: sol.Link{Href: self}},
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
