// Package outbound limits the addresses that a node connects to. Many of its peers are named by requests, packages and
// answers of VIMs: without limits, a client of the API could reach services that only the node can reach.
package outbound
