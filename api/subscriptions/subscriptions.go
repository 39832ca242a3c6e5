// Package subscriptions is the resource "subscriptions", which several interfaces of SOL003 have with another filter
// each. An interface describes its own, and mounts the routes below its prefix.
package subscriptions

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/sol/selector"
)

// Resource serves the subscriptions to an interface. T is the type of the resource.
type Resource[T any] struct {
	API      *notify.API
	Services *notify.Services
	// Path of the list, e.g. /vnflcm/v2/subscriptions.
	Path      string
	Selectors selector.Spec[T]
	// Read makes a request to subscribe of a HTTP request, with the filter as it was sent.
	Read func(w http.ResponseWriter, r *frame.Request, filter json.RawMessage) (notify.Request, error)
	// Show makes the resource that clients see, which has no credentials. self is its URL.
	Show func(s *notify.Subscription, self string) T
	// Filter is the filter of a resource, to be filled.
	Filter func(*T) any
	// ID of a resource.
	ID func(*T) string
}

// Routes are the routes of the resource.
func (s *Resource[T]) Routes() []frame.Route {
	const all, one = "/subscriptions", "/subscriptions/{subscriptionId}"
	return []frame.Route{
		{Method: http.MethodGet, Path: all, Handle: s.list, Produces: frame.JSON, Query: frame.ListParams},
		{
			Method: http.MethodPost, Path: all, Handle: s.subscribe, Consumes: frame.JSON, Produces: frame.JSON,
			Replay: s.replay,
		},
		{Method: http.MethodGet, Path: one, Handle: s.get, Produces: frame.JSON},
		{Method: http.MethodDelete, Path: one, Handle: s.unsubscribe},
	}
}

// id reads the subscription id of the path.
func id(r *frame.Request) (string, error) {
	id, err := r.Identifier("subscriptionId", "subscription")
	r.Note(slog.String("subscription_id", id))
	return id, err
}

func (s *Resource[T]) self(r *frame.Request, id string) string { return r.Public(s.Path + "/" + id) }

func (s *Resource[T]) subscribe(w http.ResponseWriter, r *frame.Request) error {
	var raw struct {
		Filter json.RawMessage `json:"filter"`
	}
	if err := json.Unmarshal(r.Raw, &raw); err != nil {
		return err
	}
	request, err := s.Read(w, r, raw.Filter)
	if err != nil {
		return err
	}
	made, existing, err := s.Services.In(r.Principal).Subscribe(r.Context(), s.API, request)
	if err != nil {
		return err
	}
	if existing != "" {
		w.Header().Set("Location", s.self(r, existing))
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(http.StatusSeeOther)
		return nil
	}
	r.Note(slog.String("subscription_id", made.ID))
	return s.created(w, r, made)
}

func (s *Resource[T]) created(w http.ResponseWriter, r *frame.Request, n *notify.Subscription) error {
	shown, err := s.show(r, n)
	if err != nil {
		return err
	}
	w.Header().Set("Location", s.self(r, n.ID))
	return frame.WriteJSON(w, http.StatusCreated, shown)
}

// replay answers a repeated request to subscribe.
func (s *Resource[T]) replay(w http.ResponseWriter, r *frame.Request, id string) error {
	n, err := s.Services.In(r.Principal).Get(r.Context(), s.API.Name, id)
	if err != nil && lcm.AsError(err).Code == lcm.CodeNotFound {
		return lcm.Errorf(lcm.CodeNotFound,
			"the request with this Idempotency-Key created the subscription %s, which has been deleted since", id).
			WithHint("use a new Idempotency-Key to send the request as a new one")
	}
	if err != nil {
		return err
	}
	return s.created(w, r, n)
}

func (s *Resource[T]) get(w http.ResponseWriter, r *frame.Request) error {
	id, err := id(r)
	if err != nil {
		return err
	}
	n, err := s.Services.In(r.Principal).Get(r.Context(), s.API.Name, id)
	if err != nil {
		return err
	}
	shown, err := s.show(r, n)
	if err != nil {
		return err
	}
	return frame.WriteJSON(w, http.StatusOK, shown)
}

func (s *Resource[T]) list(w http.ResponseWriter, r *frame.Request) error {
	return frame.List[T]{
		Path: s.Path, Selectors: s.Selectors, ID: s.ID,
		Fetch: func(ctx context.Context, q frame.Fetch) ([]T, error) {
			list, err := s.Services.In(r.Principal).List(ctx, s.API.Name, q.After, q.Limit)
			if err != nil {
				return nil, err
			}
			out := make([]T, len(list))
			for n := range list {
				if out[n], err = s.show(r, &list[n]); err != nil {
					return nil, err
				}
			}
			return out, nil
		},
	}.Serve(w, r)
}

func (s *Resource[T]) unsubscribe(w http.ResponseWriter, r *frame.Request) error {
	id, err := id(r)
	if err != nil {
		return err
	}
	if err := s.Services.In(r.Principal).Delete(r.Context(), s.API.Name, id); err != nil {
		return err
	}
	return frame.NoContent(w)
}

// show makes the resource with its filter.
func (s *Resource[T]) show(r *frame.Request, n *notify.Subscription) (T, error) {
	out := s.Show(n, s.self(r, n.ID))
	if n.Filter == nil {
		return out, nil
	}
	return out, json.Unmarshal(n.Filter, s.Filter(&out))
}
