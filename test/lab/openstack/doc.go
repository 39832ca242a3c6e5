// Package openstack holds a real OpenStack without a hypervisor (README.md), and the tests that do every lifecycle
// operation on it through Gybe's public API.
package openstack
