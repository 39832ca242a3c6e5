package k8scluster

import (
	"cmp"
	"context"
	"maps"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

const titleAccount = "make account"

// ensureAccount makes the service account by which the cluster is used from outside.
func (c *Cluster) ensureAccount(ctx context.Context, api *kubernetes.Client) error {
	return c.w.Step(ctx, titleAccount, "", func(ctx context.Context, s *lcm.Step) error {
		s.Detail("service account " + kubernetes.ServiceAccount + " at " + c.t.url())
		return api.EnsureAccount(ctx)
	})
}

// publish registers the cluster as a VIM and adds it to the instance's connections, with the service account's token.
// Both are committed with the end of the phase, so every tick does it again.
func (c *Cluster) publish(ctx context.Context, api *kubernetes.Client) error {
	token, ca, err := api.AccountToken(ctx)
	if err != nil {
		return err
	}
	vim, key := c.vim(c.w.Instance, kubernetes.Access{
		Endpoint: c.t.url(), CA: ca, Token: token, ServerName: c.serverName,
	})
	now := c.w.Clock.Now()
	vim.Created, vim.Updated = now, now
	c.w.RegisterVim(vim)
	i := c.w.Instance
	conns := maps.Clone(i.VimConnections)
	if conns == nil {
		conns = map[string]sol.VimConnectionInfo{}
	}
	conns[key] = vim.Connection
	i.VimConnections = conns
	return nil
}

// vim is the VIM that a cluster is, and its key in the instance's vimConnectionInfo.
func (c *Cluster) vim(i *lcm.Instance, access kubernetes.Access) (lcm.Vim, string) {
	conn := access.Vim()
	conn.VimID = VimID(i.ID)
	conn.Extra = sol.KeyValuePairs{lcm.ExtraOwner: i.ID}
	c.addHelm(&conn)
	name := vimName(c.p, i.ID)
	return lcm.Vim{
		ID: conn.VimID, Name: name, Description: "Kubernetes cluster of VNF instance " + i.ID, Owner: i.ID,
		Connection: conn,
	}, connectionKey(name, i.VimConnections)
}

// vimName is the name of the VIM that the cluster of an instance is registered as.
func vimName(p params, instance string) string { return cmp.Or(p.vimName, "kubernetes_vim_"+instance) }

// connectionKey is the key of the cluster in vimConnectionInfo: its name, with the characters that the standard allows.
// A key that the request uses for another VIM is not taken.
func connectionKey(name string, conns map[string]sol.VimConnectionInfo) string {
	key := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_:. /", r) {
			return r
		}
		return '_'
	}, name)
	for {
		other, taken := conns[key]
		if _, own := other.Extra[lcm.ExtraOwner]; !taken || own {
			return key
		}
		key += "_"
	}
}
