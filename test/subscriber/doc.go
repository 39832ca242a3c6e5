// Package subscriber is a subscriber to all notifications of a node for tests: a real HTTP server that holds each
// notification to the published documents, and a client that remembers from its requests which must arrive.
package subscriber
