package app

import (
	"context"
	"time"
)

// keyFileEvery is how often a node reads its key file again.
const keyFileEvery = 10 * time.Second

// followKeyFile lets the node use keys that are added to its key file, without a restart.
func (a *App) followKeyFile(ctx context.Context) error {
	checked := a.ring.Primary() // when the store was opened
	for sleep(ctx, keyFileEvery) {
		if changed, err := a.ring.Refresh(); err != nil {
			a.log.WarnContext(ctx, "the key file is not usable; the keys from before are used", "error", err)
		} else if changed {
			a.log.InfoContext(ctx, "the keys have changed", "keys", a.ring.IDs())
		}
		if now := a.ring.Primary(); now != checked {
			if err := a.store.CheckKeys(ctx); err != nil {
				a.log.WarnContext(ctx, "the new key is not recorded yet", "key", now, "error", err)
				continue
			}
			checked = now
		}
	}
	return context.Cause(ctx)
}
