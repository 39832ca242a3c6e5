package vims

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// change applies a request to a VIM of a project. connects says that the connection has changed.
func change(old lcm.Vim, in gybeapi.VimChange, project string) (v lcm.Vim, connects bool, err error) {
	v = old
	if in.Name != nil {
		v.Name = *in.Name
	}
	if in.Description != nil {
		v.Description = *in.Description
	}
	if in.IsDefault != nil {
		v.Default = *in.IsDefault
	}
	form := registration(&old)
	bad := foreign(in.TenantID, project)
	if in.Type != "" && in.Type != form.Type {
		bad = append(bad, lcm.InvalidParam{Pointer: "/vim/type", Detail: "cannot be changed: register another VIM"})
	}
	cred, within := given(in.AuthCred), given(in.VimProject)
	connects = in.AuthURL != "" || len(cred)+len(within)+len(in.PlacementAttr)+len(in.Extra) > 0
	if !connects || len(bad) > 0 {
		return v, false, lcm.Unprocessable(bad...)
	}
	form.AuthURL = cmp.Or(in.AuthURL, form.AuthURL)
	if kind := kindOf(form.Type, cred); replaces(form, kind, cred) {
		form.AuthCred = only(form.AuthCred, common)
		if kind.secret == cloud {
			form.AuthURL, form.AuthCred, form.VimProject = in.AuthURL, nil, nil
		}
	}
	if has(cred, kubeconfig) {
		form.AuthURL, form.AuthCred = in.AuthURL, nil
	}
	form.AuthCred = merged(form.AuthCred, cred)
	form.VimProject = merged(form.VimProject, within)
	form.PlacementAttr = merged(form.PlacementAttr, in.PlacementAttr)
	form.Extra = merged(form.Extra, in.Extra)
	c, wrong := connection(form)
	c.VimID = old.ID
	if len(c.Extra) == 0 {
		c.Extra = nil
	}
	v.Reconnect(c)
	return v, true, lcm.Unprocessable(wrong...)
}

// replaces says that new credentials are of another kind than those of a VIM.
func replaces(form gybeapi.Vim, kind credentials, cred sol.KeyValuePairs) bool {
	old := kindOf(form.Type, form.AuthCred)
	for name := range cred {
		if slices.Contains(kind.members, name) && !slices.Contains(old.members, name) {
			return true
		}
	}
	return false
}

// given are the members of a merge patch that stand for something new.
func given(patch sol.KeyValuePairs) sol.KeyValuePairs {
	out := sol.KeyValuePairs{}
	for name, value := range patch {
		if value != hidden && value != "" {
			out[name] = value
		}
	}
	return out
}

func only(m sol.KeyValuePairs, names []string) sol.KeyValuePairs {
	out := sol.KeyValuePairs{}
	for _, name := range names {
		if value, ok := m[name]; ok {
			out[name] = value
		}
	}
	return out
}

func merged(old, patch sol.KeyValuePairs) sol.KeyValuePairs {
	out, _ := lcm.MergePatch(map[string]any(old), map[string]any(patch)).(map[string]any)
	return out
}

// inRequest says where the members of a VimConnectionInfo come from in a registration. Members of accessInfo that are
// not here have the same name in auth_cred.
var inRequest = map[string]string{
	"/interfaceInfo/endpoint":            "/vim/auth_url",
	"/interfaceInfo/trustedCertificates": "/vim/auth_cred/ssl_ca_cert",
	"/interfaceInfo/ssl_ca_cert":         "/vim/auth_cred/ssl_ca_cert",
	"/accessInfo/region":                 "/vim/placement_attr/regions",
}

// located points an error about the connection of a VIM, whose key is the VIM's name, into the request. Credentials
// that the VIM does not accept are those of the member that proves who the user is. If the credentials of the request
// are a kubeconfig file, everything comes from it.
func located(err error, v *lcm.Vim, cred sol.KeyValuePairs) error {
	e, ok := errors.AsType[*lcm.Error](err)
	if !ok || len(e.Params) == 0 {
		return err
	}
	form := registration(v)
	out := *e
	out.Params = slices.Clone(e.Params)
	file := has(cred, kubeconfig)
	if file {
		out.Hint = "correct the file: kubectl --kubeconfig FILE cluster-info shows whether its current context works"
	}
	for i, p := range out.Params {
		member, of := strings.CutPrefix(p.Pointer, "/vimConnectionInfo/"+lcm.Escape(v.Name))
		if !of {
			continue
		}
		at, known := inRequest[member]
		name, access := strings.CutPrefix(member, "/accessInfo/")
		switch {
		case file:
			out.Params[i].Pointer = "/vim/auth_cred/" + kubeconfig
		case known:
			out.Params[i].Pointer = at
		case member == "/accessInfo":
			out.Params[i].Pointer = "/vim/auth_cred/" + kindOf(form.Type, form.AuthCred).secret
		case access:
			out.Params[i].Pointer = "/vim/auth_cred/" + name
		}
	}
	return &out
}
