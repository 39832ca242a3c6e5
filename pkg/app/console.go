package app

import (
	"net/url"

	"github.com/gybe-nfv/gybe/api/gybe"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/secret"
	"github.com/gybe-nfv/gybe/web"
	"github.com/gybe-nfv/gybe/web/session"
)

// mountConsole adds the console. api serves what the console takes over from it.
func (a *App) mountConsole(api *gybe.API, feeds Feeds, ring *secret.Ring) error {
	login, err := a.consoleLogin(ring)
	if err != nil {
		return err
	}
	web.Mount(a.frame, web.Deps{
		In: func(p lcm.Principal) web.Project {
			records := a.services.In(p)
			return web.Project{
				Instances: records, Operations: records, Packages: a.packages.In(p), Feed: feeds.In(p),
				Subscriptions: a.subscriptions.In(p),
			}
		},
		Nodes: nodes(a.store), Unavailable: a.store.UnavailableVims,
		Login: login, Kubeconfig: api.ServeKubeconfig, Log: a.log,
		Streams: a.cfg.Limits.ConsoleStreams, Stopping: a.stopping,
	})
	return nil
}

// consoleLogin is nil when requests need no authentication.
func (a *App) consoleLogin(ring *secret.Ring) (*web.Login, error) {
	if a.cfg.Open() {
		return nil, nil
	}
	public, err := url.Parse(a.publicURL)
	if err != nil {
		return nil, err
	}
	login := &web.Login{
		Sessions: &session.Keeper{
			Access: a.auth, Sealer: ring, Path: public.Path + web.Path, Secure: public.Scheme == "https",
			Clock: lcm.SystemClock{},
		},
		Token: a.cfg.Auth.Tokens.File != "", Revoke: a.auth.Revoke,
	}
	if set := a.cfg.Auth.Keystone; set.URL != "" || set.Cloud != "" {
		login.Keystone = a.auth.LoginKeystone
	}
	if set := a.cfg.Auth.OIDC; set.Issuer != "" && set.ClientID != "" {
		login.Provider = a.auth
	}
	return login, nil
}
