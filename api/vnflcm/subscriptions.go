package vnflcm

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/notify/lifecycle"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/selector"
	"github.com/gybe-nfv/gybe/pkg/sol/version"
)

// subscriptionsPath is the path of the list, below the public URL.
const subscriptionsPath = Prefix + "/subscriptions"

// subscriptionRoutes are the routes of subscriptions.
func (a *API) subscriptionRoutes() []frame.Route {
	return []frame.Route{
		{
			Method: http.MethodGet, Path: "/subscriptions", Handle: a.listSubscriptions, Produces: frame.JSON,
			Query: frame.ListParams,
		},
		{
			Method: http.MethodPost, Path: "/subscriptions", Handle: a.subscribe, Consumes: frame.JSON,
			Produces: frame.JSON, Replay: a.replaySubscribe,
		},
		{
			Method: http.MethodGet, Path: "/subscriptions/{subscriptionId}", Handle: a.subscription,
			Produces: frame.JSON,
		},
		{Method: http.MethodDelete, Path: "/subscriptions/{subscriptionId}", Handle: a.unsubscribe},
	}
}

// subscriptionID reads the subscription id of the path.
func subscriptionID(r *frame.Request) (string, error) {
	id, err := r.Identifier("subscriptionId", "subscription")
	r.Note(slog.String("subscription_id", id))
	return id, err
}

func (a *API) subscribe(w http.ResponseWriter, r *frame.Request) error {
	body, err := frame.Decode[sol.LccnSubscriptionRequest](r)
	if err != nil {
		return err
	}
	var raw struct {
		Filter json.RawMessage `json:"filter"`
	}
	if err := json.Unmarshal(r.Raw, &raw); err != nil {
		return err
	}
	if body.Verbosity == "" {
		body.Verbosity = sol.VerbosityFull
	}
	made, existing, err := a.Subscriptions.In(r.Principal).Subscribe(r.Context(), &lifecycle.API, notify.Request{
		Version: w.Header().Get(version.Header), Callback: body.CallbackURI, Filter: raw.Filter,
		Auth: body.Authentication, Verbosity: body.Verbosity,
	})
	if err != nil {
		return err
	}
	if existing != "" {
		w.Header().Set("Location", r.Public(subscriptionsPath+"/"+existing))
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(http.StatusSeeOther)
		return nil
	}
	r.Note(slog.String("subscription_id", made.ID))
	return subscribed(w, r, made)
}

func subscribed(w http.ResponseWriter, r *frame.Request, s *notify.Subscription) error {
	shown, err := presentSubscription(r, s)
	if err != nil {
		return err
	}
	w.Header().Set("Location", shown.Links.Self.Href)
	return frame.WriteJSON(w, http.StatusCreated, shown)
}

// replaySubscribe answers a repeated request to subscribe.
func (a *API) replaySubscribe(w http.ResponseWriter, r *frame.Request, id string) error {
	s, err := a.Subscriptions.In(r.Principal).Get(r.Context(), lifecycle.API.Name, id)
	if err != nil {
		return gone(err, "created", "subscription", id)
	}
	return subscribed(w, r, s)
}

func (a *API) subscription(w http.ResponseWriter, r *frame.Request) error {
	id, err := subscriptionID(r)
	if err != nil {
		return err
	}
	s, err := a.Subscriptions.In(r.Principal).Get(r.Context(), lifecycle.API.Name, id)
	if err != nil {
		return err
	}
	shown, err := presentSubscription(r, s)
	if err != nil {
		return err
	}
	return frame.WriteJSON(w, http.StatusOK, shown)
}

func (a *API) listSubscriptions(w http.ResponseWriter, r *frame.Request) error {
	return frame.List[sol.LccnSubscription]{
		Path: subscriptionsPath, Selectors: selector.LccnSubscriptions,
		ID: func(s *sol.LccnSubscription) string { return s.ID },
		Fetch: func(ctx context.Context, q frame.Fetch) ([]sol.LccnSubscription, error) {
			list, err := a.Subscriptions.In(r.Principal).List(ctx, lifecycle.API.Name, q.After, q.Limit)
			if err != nil {
				return nil, err
			}
			out := make([]sol.LccnSubscription, len(list))
			for n := range list {
				if out[n], err = presentSubscription(r, &list[n]); err != nil {
					return nil, err
				}
			}
			return out, nil
		},
	}.Serve(w, r)
}

func (a *API) unsubscribe(w http.ResponseWriter, r *frame.Request) error {
	id, err := subscriptionID(r)
	if err != nil {
		return err
	}
	if err := a.Subscriptions.In(r.Principal).Delete(r.Context(), lifecycle.API.Name, id); err != nil {
		return err
	}
	return frame.NoContent(w)
}

// presentSubscription makes the resource that clients see. It has no credentials.
func presentSubscription(r *frame.Request, s *notify.Subscription) (sol.LccnSubscription, error) {
	out := sol.LccnSubscription{
		ID: s.ID, CallbackURI: s.Callback, Verbosity: s.Verbosity,
		Links: sol.SelfLinks{Self: sol.Link{Href: r.Public(subscriptionsPath + "/" + s.ID)}},
	}
	if s.Filter == nil {
		return out, nil
	}
	return out, json.Unmarshal(s.Filter, &out.Filter)
}
