package vnfpkgm

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/notify/packages"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/selector"
	"github.com/gybe-nfv/gybe/pkg/sol/version"
)

// subscriptionRoutes are the routes of subscriptions. Both versions show all subscriptions; the notifications of a
// subscription have the links of the version that it was made with.
func (m *major) subscriptionRoutes() []frame.Route {
	const all, one = "/subscriptions", "/subscriptions/{subscriptionId}"
	return []frame.Route{
		{
			Method: http.MethodGet, Path: all, Handle: m.listSubscriptions, Produces: frame.JSON,
			Query: frame.ListParams,
		},
		{
			Method: http.MethodPost, Path: all, Handle: m.subscribe, Consumes: frame.JSON, Produces: frame.JSON,
			Replay: m.replaySubscribe,
		},
		{Method: http.MethodGet, Path: one, Handle: m.subscription, Produces: frame.JSON},
		{Method: http.MethodDelete, Path: one, Handle: m.unsubscribe},
	}
}

// subscriptionID reads the subscription id of the path.
func subscriptionID(r *frame.Request) (string, error) {
	id, err := r.Identifier("subscriptionId", "subscription")
	r.Note(slog.String("subscription_id", id))
	return id, err
}

func (m *major) subscribe(w http.ResponseWriter, r *frame.Request) error {
	body, err := frame.Decode[sol.PkgmSubscriptionRequest](r)
	if err != nil {
		return err
	}
	var raw struct {
		Filter json.RawMessage `json:"filter"`
	}
	if err := json.Unmarshal(r.Raw, &raw); err != nil {
		return err
	}
	made, existing, err := m.Subscriptions.In(r.Principal).Subscribe(r.Context(), &packages.API, notify.Request{
		Version:  cmp.Or(w.Header().Get(version.Header), m.versions[len(m.versions)-1]),
		Callback: body.CallbackURI, Filter: raw.Filter, Auth: body.Authentication,
	})
	if err != nil {
		return err
	}
	if existing != "" {
		w.Header().Set("Location", r.Public(m.subscriptionPath(existing)))
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(http.StatusSeeOther)
		return nil
	}
	r.Note(slog.String("subscription_id", made.ID))
	return m.subscribed(w, r, made)
}

func (m *major) subscribed(w http.ResponseWriter, r *frame.Request, s *notify.Subscription) error {
	shown, err := m.presentSubscription(r, s)
	if err != nil {
		return err
	}
	w.Header().Set("Location", shown.Links.Self.Href)
	return frame.WriteJSON(w, http.StatusCreated, shown)
}

// replaySubscribe answers a repeated request to subscribe.
func (m *major) replaySubscribe(w http.ResponseWriter, r *frame.Request, id string) error {
	s, err := m.Subscriptions.In(r.Principal).Get(r.Context(), packages.API.Name, id)
	if err != nil {
		return err
	}
	return m.subscribed(w, r, s)
}

func (m *major) subscription(w http.ResponseWriter, r *frame.Request) error {
	id, err := subscriptionID(r)
	if err != nil {
		return err
	}
	s, err := m.Subscriptions.In(r.Principal).Get(r.Context(), packages.API.Name, id)
	if err != nil {
		return err
	}
	shown, err := m.presentSubscription(r, s)
	if err != nil {
		return err
	}
	return frame.WriteJSON(w, http.StatusOK, shown)
}

func (m *major) listSubscriptions(w http.ResponseWriter, r *frame.Request) error {
	return frame.List[sol.PkgmSubscription]{
		Path: m.prefix + "/subscriptions", Selectors: selector.PkgmSubscriptions,
		ID: func(s *sol.PkgmSubscription) string { return s.ID },
		Fetch: func(ctx context.Context, q frame.Fetch) ([]sol.PkgmSubscription, error) {
			list, err := m.Subscriptions.In(r.Principal).List(ctx, packages.API.Name, q.After, q.Limit)
			if err != nil {
				return nil, err
			}
			out := make([]sol.PkgmSubscription, len(list))
			for n := range list {
				if out[n], err = m.presentSubscription(r, &list[n]); err != nil {
					return nil, err
				}
			}
			return out, nil
		},
	}.Serve(w, r)
}

func (m *major) unsubscribe(w http.ResponseWriter, r *frame.Request) error {
	id, err := subscriptionID(r)
	if err != nil {
		return err
	}
	if err := m.Subscriptions.In(r.Principal).Delete(r.Context(), packages.API.Name, id); err != nil {
		return err
	}
	return frame.NoContent(w)
}

func (m *major) subscriptionPath(id string) string { return m.prefix + "/subscriptions/" + id }

// presentSubscription makes the resource that clients see. It has no credentials.
func (m *major) presentSubscription(r *frame.Request, s *notify.Subscription) (sol.PkgmSubscription, error) {
	out := sol.PkgmSubscription{
		ID: s.ID, CallbackURI: s.Callback,
		Links: sol.SelfLinks{Self: sol.Link{Href: r.Public(m.subscriptionPath(s.ID))}},
	}
	if s.Filter == nil {
		return out, nil
	}
	return out, json.Unmarshal(s.Filter, &out.Filter)
}
