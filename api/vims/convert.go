package vims

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/redact"
)

// The kinds of VIM and their vimType in SOL003.
const (
	openstack      = "openstack"
	kubernetes     = "kubernetes"
	openstackType  = "ETSINFV.OPENSTACK_KEYSTONE.V_3"
	kubernetesType = "ETSINFV.KUBERNETES.V_1"
)

// hidden stands for a secret.
const hidden = "***"

// read makes a VIM with a new id from a request.
func read(in gybeapi.Vim) (lcm.Vim, error) {
	id := uuid.NewString()
	v := lcm.Vim{
		ID: id, Name: cmp.Or(in.Name, in.Type+"-"+id[:8]), Description: in.Description, Default: in.IsDefault,
		Connection: sol.VimConnectionInfo{
			VimID: id, InterfaceInfo: sol.KeyValuePairs{}, AccessInfo: sol.KeyValuePairs{}, Extra: in.Extra,
		},
	}
	c := &v.Connection
	set(c.InterfaceInfo, "endpoint", in.AuthURL)
	cred := texts{from: in.AuthCred, at: "/vim/auth_cred/"}
	named := ""
	if in.Type == openstack {
		named = cred.get(cloud)
	}
	if in.AuthURL == "" && named == "" {
		cred.bad = append(cred.bad, lcm.InvalidParam{Pointer: "/vim/auth_url", Detail: "is missing"})
	}
	switch in.Type {
	case openstack:
		c.VimType = openstackType
		set(c.AccessInfo, "region", region(in.PlacementAttr))
		if named != "" {
			set(c.AccessInfo, cloud, named)
			cred.bad = append(cred.bad, besideCloud(in)...)
			break
		}
		login(c, &cred, in.VimProject)
	case kubernetes:
		c.VimType = kubernetesType
		set(c.InterfaceInfo, "ssl_ca_cert", cred.get("ssl_ca_cert"))
		for _, name := range []string{
			"bearer_token", "username", "password", "client_id", "client_secret", "oidc_token_url",
		} {
			set(c.AccessInfo, name, cred.get(name))
		}
		if c.AccessInfo["bearer_token"] == nil && c.AccessInfo["username"] == nil {
			cred.bad = append(
				cred.bad, lcm.InvalidParam{Pointer: "/vim/auth_cred", Detail: "has neither bearer_token nor username"},
			)
		}
	}
	return v, lcm.Unprocessable(cred.bad...)
}

// cloud is the credential that names an entry of the operator's clouds.yaml, in place of all others.
const cloud = "cloud"

// besideCloud reports what cannot be said beside the name of a cloud.
func besideCloud(in gybeapi.Vim) []lcm.InvalidParam {
	var bad []lcm.InvalidParam
	report := func(pointer string) {
		bad = append(bad, lcm.InvalidParam{
			Pointer: pointer, Detail: "cannot be given together with cloud: it comes from the operator's clouds.yaml",
		})
	}
	if in.AuthURL != "" {
		report("/vim/auth_url")
	}
	for _, name := range slices.Sorted(maps.Keys(in.AuthCred)) {
		if name != cloud {
			report("/vim/auth_cred/" + lcm.Escape(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(in.VimProject)) {
		report("/vim/vim_project/" + lcm.Escape(name))
	}
	return bad
}

// login reads how to log in to Keystone: as a user of a project, or with an application credential, which has its own
// project.
func login(c *sol.VimConnectionInfo, cred *texts, projectOf sol.KeyValuePairs) {
	set(c.InterfaceInfo, "trustedCertificates", cred.get("ssl_ca_cert"))
	if verify := cred.get("cert_verify"); verify != "" {
		if on, err := strconv.ParseBool(verify); err == nil && !on {
			c.InterfaceInfo["skipCertificateVerification"] = true
			c.InterfaceInfo["skipCertificateHostnameCheck"] = true
		}
	}
	if id := cred.get("application_credential_id"); id != "" {
		set(c.AccessInfo, "applicationCredentialId", id)
		set(c.AccessInfo, "applicationCredentialSecret", cred.want("application_credential_secret"))
		return
	}
	project := texts{from: projectOf, at: "/vim/vim_project/"}
	set(c.AccessInfo, "username", cred.want("username"))
	set(c.AccessInfo, "password", cred.want("password"))
	set(c.AccessInfo, "userDomain", cmp.Or(cred.get("user_domain_name"), "Default"))
	set(c.AccessInfo, "project", project.want("name"))
	set(c.AccessInfo, "projectDomain", cmp.Or(project.get("project_domain_name"), "Default"))
	cred.bad = append(cred.bad, project.bad...)
}

// inRequest says where the members of a VimConnectionInfo come from in a registration.
var inRequest = map[string]string{
	"/interfaceInfo/endpoint": "/vim/auth_url", "/interfaceInfo/trustedCertificates": "/vim/auth_cred/ssl_ca_cert",
	"/accessInfo":        "/vim/auth_cred",
	"/accessInfo/cloud":  "/vim/auth_cred/cloud",
	"/accessInfo/region": "/vim/placement_attr/regions",
}

// located points an error about a connection, whose key is the VIM's name, into the registration.
func located(err error, key string) error {
	e, ok := errors.AsType[*lcm.Error](err)
	if !ok || len(e.Params) == 0 {
		return err
	}
	out := *e
	out.Params = slices.Clone(e.Params)
	for i, p := range out.Params {
		member := strings.TrimPrefix(p.Pointer, "/vimConnectionInfo/"+lcm.Escape(key))
		if at, known := inRequest[member]; known {
			out.Params[i].Pointer = at
		}
	}
	return &out
}

// present shows a VIM without its secrets; away are those that do not answer.
func present(v *lcm.Vim, away map[string]lcm.VimFault) gybeapi.Vim {
	c := &v.Connection
	text := func(m sol.KeyValuePairs, name string) string {
		s, _ := m[name].(string)
		return s
	}
	out := gybeapi.Vim{
		ID: v.ID, Name: v.Name, Description: v.Description, AuthURL: text(c.InterfaceInfo, "endpoint"),
		IsDefault: v.Default, AuthCred: sol.KeyValuePairs{}, VimProject: sol.KeyValuePairs{},
		Extra:  redact.New().Connection(*c).Extra,
		Status: "ACTIVE", CreatedAt: v.Created.Format("2006-01-02 15:04:05"),
		UpdatedAt: v.Updated.Format("2006-01-02 15:04:05"),
	}
	if f, ok := away[lcm.VimKey(*c)]; ok {
		out.Status = "UNREACHABLE"
		out.StatusReason = "does not answer since " + f.Since.Format(time.RFC3339) + ": " + f.Error
	}
	if c.VimType == kubernetesType {
		out.Type = kubernetes
		out.VimProject["name"] = "default"
		set(out.AuthCred, "ssl_ca_cert", text(c.InterfaceInfo, "ssl_ca_cert"))
		for name, value := range c.AccessInfo {
			out.AuthCred[name] = show(name, value)
		}
		return out
	}
	out.Type = openstack
	if r := text(c.AccessInfo, "region"); r != "" {
		out.PlacementAttr = sol.KeyValuePairs{"regions": []string{r}}
	}
	if name := text(c.AccessInfo, cloud); name != "" {
		out.AuthCred[cloud] = name
		return out
	}
	if id := text(c.AccessInfo, "applicationCredentialId"); id != "" {
		out.AuthCred["application_credential_id"], out.AuthCred["application_credential_secret"] = id, hidden
	} else {
		set(out.AuthCred, "username", text(c.AccessInfo, "username"))
		out.AuthCred["password"] = hidden
		set(out.AuthCred, "user_domain_name", text(c.AccessInfo, "userDomain"))
	}
	set(out.AuthCred, "ssl_ca_cert", text(c.InterfaceInfo, "trustedCertificates"))
	skip, _ := c.InterfaceInfo["skipCertificateVerification"].(bool)
	out.AuthCred["cert_verify"] = map[bool]string{true: "False", false: "True"}[skip]
	out.AuthCred["auth_url"] = out.AuthURL
	set(out.VimProject, "name", text(c.AccessInfo, "project"))
	set(out.VimProject, "project_domain_name", text(c.AccessInfo, "projectDomain"))
	return out
}

func show(name string, value any) any {
	if !redact.IsShownVimMember(name) {
		return hidden
	}
	return value
}

func set(m sol.KeyValuePairs, name, value string) {
	if value != "" {
		m[name] = value
	}
}

// region is the first of placement_attr.regions.
func region(placement sol.KeyValuePairs) string {
	if list, ok := placement["regions"].([]any); ok && len(list) > 0 {
		s, _ := list[0].(string)
		return s
	}
	return ""
}

// texts reads strings out of an open object and gathers what is wrong with it.
type texts struct {
	from sol.KeyValuePairs
	at   string
	bad  []lcm.InvalidParam
}

func (t *texts) get(name string) string {
	switch v := t.from[name].(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	default:
		t.bad = append(
			t.bad, lcm.InvalidParam{Pointer: t.at + lcm.Escape(name), Detail: fmt.Sprintf("is %T, not a string", v)},
		)
		return ""
	}
}

func (t *texts) want(name string) string {
	before := len(t.bad)
	s := t.get(name)
	if s == "" && len(t.bad) == before {
		t.bad = append(t.bad, lcm.InvalidParam{Pointer: t.at + lcm.Escape(name), Detail: "is missing"})
	}
	return s
}
