// Package telemetry makes the logger and the metrics of a node, and serves what only its operator may
// see: /metrics and pprof, on a listener of their own.
package telemetry
