package app

import (
	"fmt"

	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/notify/callback"
	"github.com/gybe-nfv/gybe/pkg/notify/delivery"
	"github.com/gybe-nfv/gybe/pkg/notify/lifecycle"
	"github.com/gybe-nfv/gybe/pkg/notify/packages"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/store"
)

// interfaces are those that clients subscribe to.
var interfaces = map[string]*notify.API{lifecycle.API.Name: &lifecycle.API, packages.API.Name: &packages.API}

// openNotify makes subscriptions and their delivery.
func (a *App) openNotify() error {
	set := a.cfg.Notify
	var err error
	a.callbacks, err = callback.New(callback.Options{
		Timeout: set.Timeout, Outbound: outboundPolicy(&a.cfg), Log: a.log,
		Identity: callback.Files{Cert: set.CertFile, Key: set.KeyFile, CA: set.CAFile},
	})
	if err != nil {
		return fmt.Errorf("%w", err)
	}
	a.subscriptions = &notify.Services{
		Stores: a.store, Tester: a.callbacks, Clock: lcm.SystemClock{},
		Options: notify.Options{
			TestCallback: set.TestCallback, RejectDuplicates: set.Duplicates == config.DuplicatesRedirect,
			Limit: set.Subscriptions, Patience: set.RetryFor,
		},
	}
	a.delivery = &delivery.Runner{
		Ledger: &store.Deliveries{Store: a.store}, Sender: a.callbacks, APIs: interfaces, Node: a.engine.ID(),
		Hold: a.engine.Hold,
		Link: func(path string) sol.Link { return sol.Link{Href: a.publicURL + path} }, Log: a.log,
		Observe: a.metrics, Changed: a.store.Changed(),
		Options: delivery.Options{
			Patience: set.RetryFor, RetryBase: set.RetryBase, RetryMax: set.RetryMax, Subscribers: set.Subscribers,
			Concurrency: set.Concurrency,
		},
	}
	return nil
}
