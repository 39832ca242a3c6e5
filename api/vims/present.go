package vims

import (
	"cmp"
	"time"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	kube "github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/redact"
)

// instant is the form of times in answers.
const instant = "2006-01-02 15:04:05"

// present shows a VIM of a project without its secrets; away are those that do not answer. It leaves no member out: the
// openstack command prints a row for each that it gets.
func present(v *lcm.Vim, project string, away map[string]lcm.VimFault) gybeapi.Vim {
	out := registration(v)
	for name, value := range out.AuthCred {
		if !redact.IsShownVimMember(name) {
			value = hidden
		}
		out.AuthCred[name] = value
	}
	out.Extra = redact.New().Connection(v.Connection).Extra
	if out.Extra == nil {
		out.Extra = sol.KeyValuePairs{}
	}
	out.TenantID, out.Status = project, "ACTIVE"
	out.CreatedAt, out.UpdatedAt = v.Created.Format(instant), v.Updated.Format(instant)
	if f, ok := away[lcm.VimKey(v.Connection)]; ok {
		out.Status = "UNREACHABLE"
		out.StatusReason = "does not answer since " + f.Since.Format(time.RFC3339) + ": " + f.Error
	}
	return out
}

// registration is a VIM in the form of a request that registers it, with its secrets. It is the reverse of connection.
func registration(v *lcm.Vim) gybeapi.Vim {
	c := &v.Connection
	text := func(m sol.KeyValuePairs, name string) string {
		s, _ := m[name].(string)
		return s
	}
	out := gybeapi.Vim{
		ID: v.ID, Name: v.Name, Description: v.Description, AuthURL: text(c.InterfaceInfo, "endpoint"),
		IsDefault: v.Default, AuthCred: sol.KeyValuePairs{}, VimProject: sol.KeyValuePairs{},
		PlacementAttr: sol.KeyValuePairs{}, Extra: c.Extra,
	}
	skip, _ := c.InterfaceInfo["skipCertificateVerification"].(bool)
	verified := map[bool]string{true: "False", false: "True"}[skip]
	if c.VimType == kubernetesType {
		out.Type = kubernetes
		out.VimProject["name"] = cmp.Or(text(c.AccessInfo, kube.AccessNamespace), "default")
		set(out.AuthCred, caCert, text(c.InterfaceInfo, kube.InterfaceCA))
		if skip {
			out.AuthCred[certVerify] = verified
		}
		for name, value := range c.AccessInfo {
			if name != kube.AccessNamespace {
				out.AuthCred[name] = value
			}
		}
		return out
	}
	out.Type = openstack
	if r := text(c.AccessInfo, regionMember); r != "" {
		out.PlacementAttr["regions"] = []any{r}
	}
	if name := text(c.AccessInfo, cloud); name != "" {
		out.AuthCred[cloud] = name
		return out
	}
	if id := text(c.AccessInfo, "applicationCredentialId"); id != "" {
		out.AuthCred[appID], out.AuthCred[appSecret] = id, text(c.AccessInfo, "applicationCredentialSecret")
	} else {
		set(out.AuthCred, username, text(c.AccessInfo, username))
		out.AuthCred[password] = text(c.AccessInfo, password)
		set(out.AuthCred, userDomain, text(c.AccessInfo, "userDomain"))
	}
	set(out.AuthCred, caCert, text(c.InterfaceInfo, "trustedCertificates"))
	out.AuthCred[certVerify] = verified
	out.AuthCred["auth_url"] = out.AuthURL
	set(out.VimProject, "name", text(c.AccessInfo, "project"))
	set(out.VimProject, "project_domain_name", text(c.AccessInfo, "projectDomain"))
	return out
}
