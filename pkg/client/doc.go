// Package client is the Go client of gybe's HTTP interfaces: SOL003 VNF lifecycle and package management,
// and what is gybe's own. The command line is built on it.
//
// A response with ProblemDetails is returned as an *Error, an unreachable server as an *Unreachable.
package client
