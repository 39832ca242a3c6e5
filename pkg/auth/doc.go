// Package auth finds out who sends a request. The modes can be combined: static tokens of a file, Keystone tokens,
// OAuth 2.0 bearer tokens of an OpenID provider, and TLS client certificates. An Authenticator selects the mode by the
// form of the credentials, and never tries a second mode: credentials that one mode rejects are rejected.
//
// A Credential has the same meaning in a request and in the session of the console. Results of Keystone and of an
// OpenID provider are cached by the hash of the token, for a limited time and never beyond the expiry of the token.
package auth
