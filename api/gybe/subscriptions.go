package gybe

import (
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/notify"
)

// subscriptionRoutes are the routes about subscriptions to all interfaces.
func (a *API) subscriptionRoutes() []frame.Route {
	return []frame.Route{
		{
			Method: http.MethodGet, Path: "/subscriptions", Handle: a.subscribers, Produces: frame.JSON,
			Query: []string{"after", "limit"},
		},
		{
			Method: http.MethodGet, Path: "/subscriptions/{subscriptionId}", Handle: a.subscriber, Produces: frame.JSON,
			Query: []string{},
		},
		{
			Method: http.MethodGet, Path: "/subscriptions/{subscriptionId}/deliveries", Handle: a.deliveries,
			Produces: frame.JSON, Query: []string{"state", "after", "limit"},
		},
		{
			Method: http.MethodPost, Path: "/subscriptions/{subscriptionId}/replay", Handle: a.replay,
			Consumes: frame.JSON, Produces: frame.JSON, Query: []string{},
		},
	}
}

func subscriptionID(r *frame.Request) (string, error) {
	id, err := r.Identifier("subscriptionId", "subscription")
	r.Note(slog.String("subscription_id", id))
	return id, err
}

// pageSize reads the query parameter limit.
func pageSize(r *frame.Request) (int, error) {
	text := r.QueryValues().Get("limit")
	if text == "" {
		return defaultEntries, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxEntries {
		return 0, lcm.Errorf(lcm.CodeInvalid, "limit is %.20q; it is a number from 1 to %d", text, maxEntries)
	}
	return n, nil
}

func (a *API) subscribers(w http.ResponseWriter, r *frame.Request) error {
	size, err := pageSize(r)
	if err != nil {
		return err
	}
	after := r.QueryValues().Get("after")
	if after != "" && uuid.Validate(after) != nil {
		return lcm.Errorf(lcm.CodeInvalid, "after is %.80q; it is next of an earlier answer", after)
	}
	list, err := a.Subscriptions.In(r.Principal).Statuses(r.Context(), after, size+1)
	if err != nil {
		return err
	}
	page := gybeapi.SubscriberPage{}
	if len(list) > size {
		list = list[:size]
		page.Next = list[size-1].Subscription.ID
	}
	page.Subscriptions = each(list, subscriberOf)
	return frame.WriteJSON(w, http.StatusOK, page)
}

func (a *API) subscriber(w http.ResponseWriter, r *frame.Request) error {
	id, err := subscriptionID(r)
	if err != nil {
		return err
	}
	s, err := a.Subscriptions.In(r.Principal).Status(r.Context(), id)
	if err != nil {
		return err
	}
	return frame.WriteJSON(w, http.StatusOK, subscriberOf(*s))
}

func (a *API) deliveries(w http.ResponseWriter, r *frame.Request) error {
	id, err := subscriptionID(r)
	if err != nil {
		return err
	}
	size, err := pageSize(r)
	if err != nil {
		return err
	}
	q := notify.DeliveryQuery{State: notify.State(r.QueryValues().Get("state")), Limit: size + 1}
	switch q.State {
	case "", notify.Pending, notify.Delivered, notify.Dead:
	default:
		return lcm.Errorf(lcm.CodeInvalid, "state is %.20q; it is PENDING, DELIVERED or DEAD", string(q.State))
	}
	if text := r.QueryValues().Get("after"); text != "" {
		if q.After, err = strconv.ParseInt(text, 10, 64); err != nil {
			return lcm.Errorf(lcm.CodeInvalid, "after is %.40q; it is next of an earlier answer", text)
		}
	}
	service := a.Subscriptions.In(r.Principal)
	status, err := service.Status(r.Context(), id)
	if err != nil {
		return err
	}
	list, err := service.Deliveries(r.Context(), id, q)
	if err != nil {
		return err
	}
	page := gybeapi.DeliveryPage{}
	if len(list) > size {
		list = list[:size]
		page.Next = strconv.FormatInt(list[size-1].Seq, 10)
	}
	page.Deliveries = each(list, func(d notify.Delivery) gybeapi.Delivery {
		out := deliveryOf(d)
		if d.State == notify.Pending {
			out.NextAttempt = timeOrNil(status.Next)
		}
		return out
	})
	return frame.WriteJSON(w, http.StatusOK, page)
}

func (a *API) replay(w http.ResponseWriter, r *frame.Request) error {
	id, err := subscriptionID(r)
	if err != nil {
		return err
	}
	body, err := frame.Decode[gybeapi.Replay](r)
	if err != nil {
		return err
	}
	again := notify.Replay{Message: body.NotificationID, State: notify.State(body.State)}
	if body.Since != nil {
		again.Since = *body.Since
	}
	if body.Until != nil {
		again.Until = *body.Until
	}
	n, err := a.Subscriptions.In(r.Principal).Again(r.Context(), id, again)
	if err != nil {
		return err
	}
	return frame.WriteJSON(w, http.StatusOK, gybeapi.Replayed{Replayed: n})
}

func subscriberOf(s notify.Status) gybeapi.Subscriber {
	out := gybeapi.Subscriber{
		ID: s.Subscription.ID, API: s.Subscription.API, CallbackURI: s.Subscription.Callback,
		Created: s.Subscription.Created, State: gybeapi.SubscriberOK, Pending: s.Pending, Dead: s.Dead,
		Failures: s.Failures, FailingSince: timeOrNil(s.FailingSince), NextAttempt: timeOrNil(s.Next),
		LastError: s.Error,
	}
	if !s.FailingSince.IsZero() {
		out.State = gybeapi.SubscriberFailing
	}
	return out
}

func deliveryOf(d notify.Delivery) gybeapi.Delivery {
	return gybeapi.Delivery{
		Seq: strconv.FormatInt(d.Seq, 10), NotificationID: d.Message, NotificationType: d.Kind,
		Operation: d.Operation, OperationState: d.OperationState, ResourceID: d.Subject,
		State: string(d.State), Created: d.Created, Deadline: timeOrNil(d.Deadline), Attempts: d.Attempts,
		LastAttempt: timeOrNil(d.Attempted), Ended: timeOrNil(d.Ended), LastError: d.Error,
	}
}

// timeOrNil is nil for the zero time.
func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
