// Package openid tests a node of Gybe, its console and its command with an OpenID provider that is not ours: the one of
// github.com/zitadel/oidc, which is certified by the OpenID Foundation. Providers that break the rules, and what they
// must not achieve, are tested in pkg/auth.
package openid
