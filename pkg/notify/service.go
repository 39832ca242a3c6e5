package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Options are the settings of subscriptions.
type Options struct {
	// TestCallback tests a callback before the subscription is stored.
	TestCallback bool
	// RejectDuplicates answers a request for a subscription that exists with that one.
	RejectDuplicates bool
	// Limit bounds the subscriptions of a project.
	Limit int
	// Patience is how long a notification is sent until it is given up.
	Patience time.Duration
}

// Services makes the Service of each principal.
type Services struct {
	Stores  Stores
	Tester  Tester
	Clock   lcm.Clock
	Options Options
}

// In returns the service for the subscriptions of a principal's project.
func (s *Services) In(p lcm.Principal) *Service { return &Service{s, s.Stores.Subscriptions(p)} }

// Service is the request side of subscriptions of a project.
type Service struct {
	*Services
	Records
}

// Request is a request to subscribe.
type Request struct {
	Version   string // of the API, in notifications
	Callback  string
	Filter    json.RawMessage
	Auth      *sol.SubscriptionAuthentication
	Verbosity sol.LcmOpOccNotificationVerbosityType
}

// Subscribe stores a subscription. If there is the same one already and duplicates are rejected, it returns the id of
// that, and no subscription.
func (s *Service) Subscribe(ctx context.Context, api *API, r Request) (_ *Subscription, existing string, _ error) {
	filter := r.Filter
	if bytes.Equal(filter, []byte("null")) {
		filter = nil
	}
	conditions, err := api.Parse(filter)
	if err != nil {
		return nil, "", err
	}
	keys, many := conditions.Keys(api.Name)
	if many != "" {
		return nil, "", unprocessable(api.Pointer(many), "the filter has too many values").WithHint(
			"divide it between several subscriptions, or select by another attribute")
	}
	if err := s.Tester.CheckTarget(ctx, r.Callback, r.Auth); err != nil {
		return nil, "", err
	}
	made := &Subscription{
		ID: uuid.NewString(), API: api.Name, Version: r.Version, Created: s.Clock.Now(), Callback: r.Callback,
		Verbosity: r.Verbosity, Filter: filter, Conditions: conditions, Auth: r.Auth,
	}
	if api.Form != nil {
		made.Form = api.Form(r.Version)
	}
	if s.Options.TestCallback {
		if err := s.Tester.Test(ctx, made); err != nil {
			return nil, "", err
		}
	}
	existing, err = s.Insert(ctx, made, keys, s.Options.RejectDuplicates, s.Options.Limit)
	if err != nil || existing != "" {
		return nil, existing, err
	}
	return made, "", nil
}

// Again sends notifications again, and returns how many.
func (s *Service) Again(ctx context.Context, id string, r Replay) (int64, error) {
	switch {
	case r.Message == "" && r.Since.IsZero() && r.Until.IsZero():
		return 0, unprocessable("", "a replay needs notificationId, or since and until")
	case r.Message != "" && (!r.Since.IsZero() || !r.Until.IsZero()):
		return 0, unprocessable("/notificationId", "notificationId and a time range exclude each other")
	case !r.Until.IsZero() && r.Until.Before(r.Since):
		return 0, unprocessable("/until", "until is before since")
	}
	return s.Replay(ctx, id, r, s.Options.Patience)
}
