// Package client is the Go client of gybe's HTTP interfaces: SOL003 VNF lifecycle and package management,
// and what is gybe's own. The command line is built on it.
//
// An answer that is a ProblemDetails becomes an *Error, a server that cannot be reached an *Unreachable.
package client
