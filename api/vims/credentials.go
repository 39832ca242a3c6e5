package vims

import (
	"maps"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// credentials is a kind of credentials: its members in auth_cred.
type credentials struct {
	// marks are the members that only this kind has, or none for the kind that has no such members.
	marks []string
	// members are all members; those of needed must not be missing.
	members, needed []string
	// secret proves who the user is.
	secret string
}

// The members of auth_cred.
const (
	cloud       = "cloud"
	appID       = "application_credential_id"
	appSecret   = "application_credential_secret"
	username    = "username"
	password    = "password"
	userDomain  = "user_domain_name"
	bearerToken = "bearer_token"
	certificate = "client_certificate"
	clientKey   = "client_key"
	providerURL = "oidc_token_url"
	clientID    = "client_id"
	oidcSecret  = "client_secret"
	kubeconfig  = "kubeconfig"

	caCert     = "ssl_ca_cert"
	certVerify = "cert_verify"
)

// kinds are the kinds of credentials for a type of VIM. The last one has user name and password.
var kinds = map[string][]credentials{
	openstack: {
		{marks: []string{cloud}, members: []string{cloud}, secret: cloud},
		{
			marks: []string{appID, appSecret}, members: []string{appID, appSecret}, needed: []string{appID, appSecret},
			secret: appSecret,
		},
		{members: []string{username, password, userDomain}, needed: []string{username, password}, secret: password},
	},
	kubernetes: {
		{marks: []string{bearerToken}, members: []string{bearerToken}, secret: bearerToken},
		{
			marks: []string{certificate, clientKey}, members: []string{certificate, clientKey},
			needed: []string{certificate, clientKey}, secret: certificate,
		},
		{
			marks:   []string{providerURL, clientID, oidcSecret},
			members: []string{providerURL, clientID, oidcSecret, username, password},
			needed:  []string{providerURL, clientID, username, password}, secret: password,
		},
		{members: []string{username, password}, needed: []string{username, password}, secret: password},
	},
}

// common are the members that credentials of all kinds can have, except for cloud.
var common = []string{caCert, certVerify}

// kindOf finds the kind of credentials that auth_cred has. Without any of their members it is the last one, with user
// name and password.
func kindOf(vimType string, cred sol.KeyValuePairs) credentials {
	all := kinds[vimType]
	for _, k := range all {
		if slices.ContainsFunc(k.marks, func(name string) bool { return has(cred, name) }) {
			return k
		}
	}
	return all[len(all)-1]
}

func has(m sol.KeyValuePairs, name string) bool { return m[name] != nil && m[name] != "" }

// several reports members of other kinds than k, so that it is clear which credentials are used.
func (k credentials) several(vimType string, cred sol.KeyValuePairs) []lcm.InvalidParam {
	var bad []lcm.InvalidParam
	for _, name := range slices.Sorted(maps.Keys(cred)) {
		other := slices.ContainsFunc(kinds[vimType], func(o credentials) bool {
			return slices.Contains(o.members, name)
		})
		if other && has(cred, name) && !slices.Contains(k.members, name) {
			bad = append(bad, lcm.InvalidParam{
				Pointer: "/vim/auth_cred/" + name,
				Detail:  "cannot be given together with " + k.members[0] + ": give credentials of one kind",
			})
		}
	}
	return bad
}

// hidden stands for a secret in answers. In a request it is no secret.
const hidden = "***"

// placeholders reports secrets that are the text of an answer.
func placeholders(cred sol.KeyValuePairs) []lcm.InvalidParam {
	var bad []lcm.InvalidParam
	for _, name := range slices.Sorted(maps.Keys(cred)) {
		if cred[name] == hidden {
			bad = append(bad, lcm.InvalidParam{
				Pointer: "/vim/auth_cred/" + lcm.Escape(name), Detail: "is what answers have in place of a secret",
			})
		}
	}
	return bad
}
