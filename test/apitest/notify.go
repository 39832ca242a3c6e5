package apitest

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/notify/callback"
	"github.com/gybe-nfv/gybe/pkg/notify/delivery"
	"github.com/gybe-nfv/gybe/pkg/notify/lifecycle"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/store"
)

// openNotify makes subscriptions and their delivery.
func (d *Domain) openNotify(tb testing.TB, s *store.Store) {
	tb.Helper()
	quiet := slog.New(slog.DiscardHandler)
	client, err := callback.New(callback.Options{Timeout: time.Minute, Log: quiet})
	require.NoError(tb, err)
	tb.Cleanup(client.Close)
	d.Subscriptions = &notify.Services{
		Stores: s, Tester: client, Clock: lcm.SystemClock{},
		Options: notify.Options{TestCallback: true, Limit: 1000, Patience: time.Hour},
	}
	d.delivery = &delivery.Runner{
		Ledger: &store.Deliveries{Store: s}, Sender: client, Node: "test", Log: quiet, Observe: unobserved{},
		APIs: map[string]*notify.API{lifecycle.API.Name: &lifecycle.API},
		Link: func(path string) sol.Link { return sol.Link{Href: PublicURL + path} },
		Options: delivery.Options{
			Patience: time.Hour, RetryBase: time.Millisecond, RetryMax: time.Millisecond, Subscribers: 8,
			Concurrency: 4,
		},
	}
}

// Deliver sends the notifications that are due.
func (d *Domain) Deliver(tb testing.TB) {
	tb.Helper()
	require.NoError(tb, d.delivery.Once(tb.Context()))
}

// unobserved measures nothing.
type unobserved struct{}

// Notification implements delivery.Observer.
func (unobserved) Notification(string, string, time.Duration) {}

// DeadLetters implements delivery.Observer.
func (unobserved) DeadLetters(string, int64) {}
