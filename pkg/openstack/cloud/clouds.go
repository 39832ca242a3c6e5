package cloud

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// memberCloud names a cloud of the operator's clouds.yaml, in accessInfo or interfaceInfo of a VIM connection.
const memberCloud = "cloud"

// cloud is one entry of a clouds.yaml, as far as it is read.
type cloud struct {
	AuthType string `yaml:"auth_type"`
	Auth     struct {
		URL               string `yaml:"auth_url"`
		Username          string `yaml:"username"`
		UserID            string `yaml:"user_id"`
		Password          string `yaml:"password"`
		UserDomain        string `yaml:"user_domain_name"`
		UserDomainID      string `yaml:"user_domain_id"`
		Project           string `yaml:"project_name"`
		ProjectID         string `yaml:"project_id"`
		ProjectDomain     string `yaml:"project_domain_name"`
		ProjectDomainID   string `yaml:"project_domain_id"`
		Domain            string `yaml:"domain_name"`
		DomainID          string `yaml:"domain_id"`
		AppCredential     string `yaml:"application_credential_id"`
		AppCredentialName string `yaml:"application_credential_name"`
		AppSecret         string `yaml:"application_credential_secret"`
	} `yaml:"auth"`
	Region string `yaml:"region_name"`
	Verify *bool  `yaml:"verify"`
	CACert string `yaml:"cacert"` // a file
}

// cloudsFile is a clouds.yaml or the secure.yaml beside it.
type cloudsFile struct {
	Clouds map[string]map[string]any `yaml:"clouds"`
}

// connection reads a VIM connection; one that names a cloud is taken from the operator's file, for which the file has
// to be configured. The region is the only thing that can be said beside the name: a user that may name a cloud uses it
// as the operator has set it up.
func (p *Pool) connection(key string, v sol.VimConnectionInfo) (connection, []lcm.InvalidParam) {
	at := "/accessInfo/" + memberCloud
	name, named := v.AccessInfo[memberCloud]
	if !named {
		at = "/interfaceInfo/" + memberCloud
		name, named = v.InterfaceInfo[memberCloud]
	}
	if !named {
		return parseConnection(key, v)
	}
	parser := connParser{at: "/vimConnectionInfo/" + lcm.Escape(key)}
	for _, m := range []struct {
		member string
		info   sol.KeyValuePairs
	}{{"/accessInfo/", v.AccessInfo}, {"/interfaceInfo/", v.InterfaceInfo}} {
		for _, k := range slices.Sorted(maps.Keys(m.info)) {
			if k != memberCloud && k != "region" && k != "regionName" {
				parser.report(m.member+k, "cannot be combined with cloud: it comes from the operator's clouds.yaml")
			}
		}
	}
	s, _ := name.(string)
	from, err := p.cloud(s)
	if err != nil {
		parser.report(at, err.Error())
	}
	if len(parser.bad) > 0 {
		return connection{}, parser.bad
	}
	for _, k := range []string{"region", "regionName"} {
		if r, ok := v.AccessInfo[k]; ok {
			from.AccessInfo["region"] = r
		}
	}
	c, bad := parseConnection(key, from)
	for _, b := range bad {
		parser.report(at, fmt.Sprintf(
			"the cloud %s of clouds.yaml: %s %s", s, strings.TrimPrefix(b.Pointer, parser.at+"/"), b.Detail,
		))
	}
	return c, parser.bad
}

// cloud reads an entry of the configured clouds.yaml as a VIM connection. Its errors are for users: they do not tell
// where the file is.
func (p *Pool) cloud(name string) (sol.VimConnectionInfo, error) {
	if p.cfg.CloudsFile == "" {
		return sol.VimConnectionInfo{}, errors.New("no clouds.yaml is configured (openstack.clouds_file)")
	}
	c, err := p.readCloud(name)
	if err != nil {
		return sol.VimConnectionInfo{}, err
	}
	if c.AuthType != "" && !slices.Contains([]string{"password", "v3password", "v3applicationcredential"}, c.AuthType) {
		return sol.VimConnectionInfo{}, fmt.Errorf(
			"the cloud %s has auth_type %s; password and v3applicationcredential are possible", name, c.AuthType,
		)
	}
	v := sol.VimConnectionInfo{VimType: VimType, InterfaceInfo: sol.KeyValuePairs{}, AccessInfo: sol.KeyValuePairs{}}
	set := func(m sol.KeyValuePairs, k string, values ...string) {
		for _, s := range values {
			if s != "" {
				m[k] = s
				return
			}
		}
	}
	a := c.Auth
	set(v.InterfaceInfo, "endpoint", a.URL)
	set(v.AccessInfo, "username", a.Username)
	set(v.AccessInfo, "userId", a.UserID)
	set(v.AccessInfo, "password", a.Password)
	set(v.AccessInfo, "userDomain", a.UserDomain, a.Domain)
	set(v.AccessInfo, "userDomainId", a.UserDomainID, a.DomainID)
	set(v.AccessInfo, "project", a.Project)
	set(v.AccessInfo, "projectId", a.ProjectID)
	set(v.AccessInfo, "projectDomain", a.ProjectDomain, a.Domain)
	set(v.AccessInfo, "projectDomainId", a.ProjectDomainID, a.DomainID)
	set(v.AccessInfo, "applicationCredentialId", a.AppCredential)
	set(v.AccessInfo, "applicationCredentialName", a.AppCredentialName)
	set(v.AccessInfo, "applicationCredentialSecret", a.AppSecret)
	set(v.AccessInfo, "region", c.Region)
	if c.Verify != nil && !*c.Verify {
		v.InterfaceInfo["skipCertificateVerification"] = true
	}
	if c.CACert != "" {
		file := c.CACert
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(p.cfg.CloudsFile), file)
		}
		pem, err := os.ReadFile(file)
		if err != nil {
			return v, fmt.Errorf("the cacert of the cloud %s cannot be read", name)
		}
		v.InterfaceInfo["caCert"] = string(pem)
	}
	return v, nil
}

// readCloud reads an entry, with that of a secure.yaml beside the file over it.
func (p *Pool) readCloud(name string) (cloud, error) {
	path := p.cfg.CloudsFile
	var c cloud
	var entry any
	for _, file := range []string{path, filepath.Join(filepath.Dir(path), "secure.yaml")} {
		raw, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) && file != path {
			continue
		}
		if err != nil {
			p.log.Warn("clouds.yaml cannot be read", "file", file, "error", err)
			return c, errors.New("the configured clouds.yaml cannot be read; the node's log says why")
		}
		var f cloudsFile
		if err := yaml.Unmarshal(raw, &f); err != nil { // the error may have a secret
			return c, fmt.Errorf("%s is not a clouds.yaml", filepath.Base(file))
		}
		if e, ok := f.Clouds[name]; ok {
			entry = lcm.MergePatch(entry, e)
		}
	}
	if entry == nil {
		return c, fmt.Errorf("there is no cloud %q in clouds.yaml", name)
	}
	raw, err := yaml.Marshal(entry)
	if err == nil {
		err = yaml.Unmarshal(raw, &c)
	}
	if err != nil {
		return c, fmt.Errorf("the entry of the cloud %s in clouds.yaml cannot be read", name)
	}
	return c, nil
}
