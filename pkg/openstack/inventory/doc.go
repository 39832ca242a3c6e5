// Package inventory turns what was read from the VIM into the record of a VNF instance: InstantiatedVnfInfo, the list
// of resources, and what has changed since the record before. Its functions are pure; package openstack reads the
// Snapshot.
package inventory
