// Package vims serves the VIM registry under /v1.0/vims, in the shape that clients of the openstack command
// send and expect. Secrets are shown as ***.
package vims
