// Package granting is the VNFM's side of the grant exchange (SOL003 clause 9) without its transport: it makes the grant
// request of an admitted operation, and applies the grant. Both are pure: the same operation gives the same request, so
// a node that takes over after a crash asks for the same grant again.
package granting
