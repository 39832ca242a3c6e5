package vims

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	kube "github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// The kinds of VIM and their vimType in SOL003.
const (
	openstack      = "openstack"
	kubernetes     = "kubernetes"
	openstackType  = "ETSINFV.OPENSTACK_KEYSTONE.V_3"
	kubernetesType = "ETSINFV.KUBERNETES.V_1"
)

// regionMember is the member of accessInfo with the region.
const regionMember = "region"

// read makes a VIM with a new id from a registration in a project.
func read(in gybeapi.Vim, project string) (lcm.Vim, error) {
	id := uuid.NewString()
	v := lcm.Vim{
		ID: id, Name: cmp.Or(in.Name, in.Type+"-"+id[:8]), Description: in.Description, Default: in.IsDefault,
	}
	bad := append(placeholders(in.AuthCred), foreign(in.TenantID, project)...)
	c, wrong := connection(in)
	c.VimID = id
	v.Connection = c
	return v, lcm.Unprocessable(append(bad, wrong...)...)
}

// foreign reports a tenant_id that is not the project of the user.
func foreign(tenant, project string) []lcm.InvalidParam {
	if tenant == "" || tenant == project {
		return nil
	}
	return []lcm.InvalidParam{{
		Pointer: "/vim/tenant_id", Detail: fmt.Sprintf("is not the project of the request, which is %q", project),
	}}
}

// connection reads how to connect to a VIM.
func connection(in gybeapi.Vim) (sol.VimConnectionInfo, []lcm.InvalidParam) {
	c := sol.VimConnectionInfo{InterfaceInfo: sol.KeyValuePairs{}, AccessInfo: sol.KeyValuePairs{}, Extra: in.Extra}
	if in.Type == kubernetes && has(in.AuthCred, kubeconfig) {
		return fromKubeconfig(in)
	}
	kind := kindOf(in.Type, in.AuthCred)
	cred := texts{from: in.AuthCred, at: "/vim/auth_cred/"}
	set(c.InterfaceInfo, "endpoint", in.AuthURL)
	if in.AuthURL == "" && kind.secret != cloud {
		cred.bad = append(cred.bad, lcm.InvalidParam{Pointer: "/vim/auth_url", Detail: "is missing"})
	}
	if in.Type == kubernetes {
		c.VimType = kubernetesType
		cred.bad = append(cred.bad, kind.several(in.Type, in.AuthCred)...)
		set(c.InterfaceInfo, kube.InterfaceCA, authority(&cred))
		if isUnverified(&cred) {
			c.InterfaceInfo[kube.InterfaceInsecure] = true
		}
		cluster(&c, &cred, kind)
		project := texts{from: in.VimProject, at: "/vim/vim_project/"}
		set(c.AccessInfo, kube.AccessNamespace, project.get("name"))
		return c, append(cred.bad, project.bad...)
	}
	c.VimType = openstackType
	set(c.AccessInfo, regionMember, region(in.PlacementAttr))
	if kind.secret == cloud {
		set(c.AccessInfo, cloud, cred.get(cloud))
		return c, append(cred.bad, besideCloud(in)...)
	}
	cred.bad = append(cred.bad, kind.several(in.Type, in.AuthCred)...)
	login(&c, &cred, kind, in.VimProject)
	return c, cred.bad
}

// fromKubeconfig reads how to connect to a cluster from a kubeconfig file. Nothing of the file is kept but the address,
// the authority, the credentials and the namespace of its current context.
func fromKubeconfig(in gybeapi.Vim) (sol.VimConnectionInfo, []lcm.InvalidParam) {
	cred := texts{from: in.AuthCred, at: "/vim/auth_cred/"}
	for _, name := range slices.Sorted(maps.Keys(in.AuthCred)) {
		if name != kubeconfig {
			cred.bad = append(cred.bad, lcm.InvalidParam{
				Pointer: "/vim/auth_cred/" + lcm.Escape(name), Detail: "cannot be given together with kubeconfig",
			})
		}
	}
	project := texts{from: in.VimProject, at: "/vim/vim_project/"}
	given := project.get("name")
	raw := cred.get(kubeconfig)
	bad := slices.Concat(cred.bad, project.bad)
	if raw == "" {
		return sol.VimConnectionInfo{}, bad
	}
	access, namespace, err := kube.FromKubeconfig([]byte(raw))
	if err != nil {
		return sol.VimConnectionInfo{}, append(bad, lcm.InvalidParam{
			Pointer: "/vim/auth_cred/" + kubeconfig, Detail: err.Error(),
		})
	}
	if in.AuthURL != "" && in.AuthURL != access.Endpoint {
		bad = append(bad, lcm.InvalidParam{
			Pointer: "/vim/auth_url", Detail: "is not the server of the kubeconfig file: leave it away",
		})
	}
	c := access.Vim()
	c.Extra = in.Extra
	set(c.AccessInfo, kube.AccessNamespace, cmp.Or(given, namespace))
	return c, bad
}

// authority is the certificate authority of the VIM. Files of clients have the word None for none.
func authority(cred *texts) string {
	if pem := cred.get(caCert); pem != "None" {
		return pem
	}
	return ""
}

// isUnverified says that the VIM's certificate is not to be verified.
func isUnverified(cred *texts) bool {
	on, err := strconv.ParseBool(cmp.Or(cred.get(certVerify), "true"))
	return err == nil && !on
}

// cluster reads how to log in to a Kubernetes cluster.
func cluster(c *sol.VimConnectionInfo, cred *texts, kind credentials) {
	given := slices.ContainsFunc(kind.members, func(name string) bool { return has(cred.from, name) })
	if !given {
		cred.bad = append(cred.bad, lcm.InvalidParam{
			Pointer: "/vim/auth_cred",
			Detail: "has no credentials: give bearer_token; client_certificate and client_key; oidc_token_url, " +
				"client_id, username and password; username and password; or kubeconfig",
		})
		return
	}
	for _, name := range kind.members {
		if slices.Contains(kind.needed, name) {
			set(c.AccessInfo, name, cred.want(name))
		} else {
			set(c.AccessInfo, name, cred.get(name))
		}
	}
}

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
func login(c *sol.VimConnectionInfo, cred *texts, kind credentials, projectOf sol.KeyValuePairs) {
	set(c.InterfaceInfo, "trustedCertificates", authority(cred))
	if isUnverified(cred) {
		c.InterfaceInfo["skipCertificateVerification"] = true
		c.InterfaceInfo["skipCertificateHostnameCheck"] = true
	}
	if kind.secret == appSecret {
		set(c.AccessInfo, "applicationCredentialId", cred.want(appID))
		set(c.AccessInfo, "applicationCredentialSecret", cred.want(appSecret))
		return
	}
	project := texts{from: projectOf, at: "/vim/vim_project/"}
	set(c.AccessInfo, username, cred.want(username))
	set(c.AccessInfo, password, cred.want(password))
	set(c.AccessInfo, "userDomain", cmp.Or(cred.get(userDomain), "Default"))
	set(c.AccessInfo, "project", project.want("name"))
	set(c.AccessInfo, "projectDomain", cmp.Or(project.get("project_domain_name"), "Default"))
	cred.bad = append(cred.bad, project.bad...)
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
