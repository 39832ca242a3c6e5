// Package telemetry creates the logger and the metrics of a node, and serves /metrics and pprof to its operator on a
// separate listener.
package telemetry
