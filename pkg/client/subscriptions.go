package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

const (
	subscriptions = "/vnflcm/v2/subscriptions"
	subscribers   = "/gybe/v1/subscriptions"
)

// Subscribe creates a subscription to notifications of VNF lifecycle management.
func (c *Client) Subscribe(ctx context.Context, body any) (*sol.LccnSubscription, error) {
	var out sol.LccnSubscription
	_, err := c.call(ctx, request{method: http.MethodPost, path: subscriptions, body: body}, &out)
	return &out, err
}

// Subscription reads a subscription to notifications of VNF lifecycle management.
func (c *Client) Subscription(ctx context.Context, id string) (*sol.LccnSubscription, error) {
	var out sol.LccnSubscription
	_, err := c.call(ctx, request{method: http.MethodGet, path: subscriptions + "/" + url.PathEscape(id)}, &out)
	return &out, err
}

// DeleteSubscription deletes a subscription to notifications of VNF lifecycle management.
func (c *Client) DeleteSubscription(ctx context.Context, id string) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: subscriptions + "/" + url.PathEscape(id)}, nil)
	return err
}

// Subscribers lists all subscriptions of the project, with the state of their delivery.
func (c *Client) Subscribers(ctx context.Context) ([]gybeapi.Subscriber, error) {
	out := []gybeapi.Subscriber{}
	q := url.Values{"limit": {"1000"}}
	for {
		var page gybeapi.SubscriberPage
		_, err := c.call(ctx, request{method: http.MethodGet, path: subscribers, query: q}, &page)
		if err != nil {
			return nil, err
		}
		out = append(out, page.Subscriptions...)
		if page.Next == "" {
			return out, nil
		}
		q.Set("after", page.Next)
	}
}

// Subscriber reads the state of the delivery to a subscriber.
func (c *Client) Subscriber(ctx context.Context, id string) (*gybeapi.Subscriber, error) {
	var out gybeapi.Subscriber
	_, err := c.call(ctx, request{method: http.MethodGet, path: subscribers + "/" + url.PathEscape(id)}, &out)
	return &out, err
}

// Deliveries reads a page of the notifications to a subscriber. q has the query parameters of the resource; for the
// next page, set after to the page's Next.
func (c *Client) Deliveries(ctx context.Context, id string, q url.Values) (*gybeapi.DeliveryPage, error) {
	var out gybeapi.DeliveryPage
	_, err := c.call(ctx, request{
		method: http.MethodGet, path: subscribers + "/" + url.PathEscape(id) + "/deliveries", query: q,
	}, &out)
	return &out, err
}

// Replay sends notifications again, and returns how many.
func (c *Client) Replay(ctx context.Context, id string, r gybeapi.Replay) (int64, error) {
	var out gybeapi.Replayed
	_, err := c.call(ctx, request{
		method: http.MethodPost, path: subscribers + "/" + url.PathEscape(id) + "/replay", body: r,
	}, &out)
	return out.Replayed, err
}
