package web

import (
	"context"
	"net/url"
	"time"

	"github.com/gybe-nfv/gybe/pkg/notify"
)

// subscriptionsData is what the screen of subscriptions shows.
type subscriptionsData struct {
	// Failing are those that do not accept notifications, the longest first, on each page.
	Failing []*subscriptionData
	// MoreFailing says that there are others.
	MoreFailing bool
	Rows        []*subscriptionData
	Next        string
	Later       bool
}

// subscriptionData is a subscription with the state of its subscriber.
type subscriptionData struct {
	ID, API string
	// Server is that of the callback. The rest of the URL can hold a secret.
	Server        string
	State         string // HEALTHY, FAILING or DEAD_LETTERS
	Since, Next   time.Time
	Failures      int
	Error         string
	Pending, Dead int64
}

// subscriptionsOf are subscriptions as the screen shows them.
func subscriptionsOf(list []notify.Status) []*subscriptionData {
	out := make([]*subscriptionData, len(list))
	for n, s := range list {
		d := &subscriptionData{
			ID: s.Subscription.ID, API: s.Subscription.API, State: "HEALTHY", Since: s.FailingSince, Next: s.Next,
			Failures: s.Failures, Error: s.Error, Pending: s.Pending, Dead: s.Dead,
		}
		if u, err := url.Parse(s.Subscription.Callback); err == nil {
			d.Server = u.Scheme + "://" + u.Host
		}
		switch {
		case !s.FailingSince.IsZero():
			d.State = "FAILING"
		case s.Dead > 0:
			d.State = "DEAD_LETTERS"
		}
		out[n] = d
	}
	return out
}

// subscriptions is the screen of all subscriptions. Backlogs change without events, so it looks now and then.
func (c *console) subscriptions(ctx context.Context, a ask) (view, error) {
	failing, err := c.Subscriptions.Failing(ctx, pageSize+1)
	if err != nil {
		return view{}, err
	}
	all, err := c.Subscriptions.Statuses(ctx, a.after, pageSize+1)
	if err != nil {
		return view{}, err
	}
	d := &subscriptionsData{Later: a.after != ""}
	if len(failing) > pageSize {
		failing, d.MoreFailing = failing[:pageSize], true
	}
	if len(all) > pageSize {
		all = all[:pageSize]
		d.Next = all[pageSize-1].Subscription.ID
	}
	d.Failing, d.Rows = subscriptionsOf(failing), subscriptionsOf(all)
	return view{Title: "Subscriptions", Data: d, tick: 3 * time.Second}, nil
}

// failingSubscriptions says how many subscriptions do not accept notifications, for the first screen; "" for none.
func (c *console) failingSubscriptions(ctx context.Context) (string, error) {
	failing, err := c.Subscriptions.Failing(ctx, pageSize+1)
	switch {
	case err != nil || len(failing) == 0:
		return "", err
	case len(failing) > pageSize:
		return "More than " + plural(pageSize, "subscription does", "subscriptions do"), nil
	}
	return plural(len(failing), "subscription does", "subscriptions do"), nil
}
