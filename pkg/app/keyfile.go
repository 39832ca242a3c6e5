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
	warned := map[string]bool{}
	a.warnOfExposures(ctx, warned)
	for sleep(ctx, keyFileEvery) {
		if changed, err := a.ring.Refresh(); err != nil {
			a.log.WarnContext(ctx, "the key file is not usable; the keys from before are used", "error", err)
		} else if changed {
			a.log.InfoContext(ctx, "the keys have changed", "keys", a.ring.IDs())
		}
		a.warnOfExposures(ctx, warned)
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

// warnOfExposures logs which keys all users of a machine could read, once for each.
func (a *App) warnOfExposures(ctx context.Context, warned map[string]bool) {
	for _, e := range a.ring.Exposures() {
		if warned[e.Key] {
			continue
		}
		warned[e.Key] = true
		a.log.WarnContext(ctx, "all users of a machine could read a key of the key file; rotate it: "+
			"gybe secrets rotate, activate, reencrypt, and remove",
			"key", e.Key, "found", e.Found, "mode", e.Mode, "file", a.cfg.SecretKeyFile())
	}
}
