// Package nfvo talks to an external NFVO: it asks for the grants of operations (SOL003 clause 9).
//
// An NFVO is another system, which may be away, slow or wrong. Requests and answers have limits, redirects are not
// followed, and credentials go to the configured server only.
package nfvo
