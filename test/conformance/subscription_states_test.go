package conformance_test

import (
	"context"
	"fmt"
	"net/http"

	"github.com/google/uuid"
)

const (
	lcmSubscriptions     = "/vnflcm/v2/subscriptions"
	packageSubscriptions = "/vnfpkgm/v1/subscriptions"
)

// redirected is a state with a subscription: a request for the same one is answered with 303. The node needs a setting
// for that.
const redirected = "duplicate, redirected"

// subscribe creates a subscription with a body.
func (n *node) subscribe(ctx context.Context, path, body string, v values) error {
	if v["name"] == "" {
		v["name"] = uuid.NewString()
	}
	a, err := n.exchange(ctx, exchange{
		method: http.MethodPost, path: path, body: body, header: map[string]string{}, values: v,
	})
	if err != nil {
		return err
	}
	if a.status != http.StatusCreated {
		return fmt.Errorf("the subscription is answered with %d: %s", a.status, a.body)
	}
	s, err := decode[struct {
		ID string `json:"id"`
	}](a)
	v["subscription"] = s.ID
	return err
}

func (n *node) subscription(ctx context.Context) (values, error) {
	v, err := n.onboarded(ctx)
	if err != nil {
		return nil, err
	}
	return v, n.subscribe(ctx, lcmSubscriptions, "subscription", v)
}

// subscriptions are more than a page of them.
func (n *node) subscriptions(ctx context.Context) (values, error) {
	return n.once("subscriptions", func() (v values, err error) {
		for range pageSize + 1 {
			if v, err = n.subscription(context.WithoutCancel(ctx)); err != nil {
				return nil, err
			}
		}
		return v, nil
	})
}

func (n *node) packageSubscription(ctx context.Context) (values, error) {
	v, err := n.onboarded(ctx)
	if err != nil {
		return nil, err
	}
	return v, n.subscribe(ctx, packageSubscriptions, "package_subscription", v)
}

func (n *node) packageSubscriptions(ctx context.Context) (values, error) {
	return n.once("package subscriptions", func() (v values, err error) {
		for range pageSize + 1 {
			if v, err = n.packageSubscription(context.WithoutCancel(ctx)); err != nil {
				return nil, err
			}
		}
		return v, nil
	})
}
