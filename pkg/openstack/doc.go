// Package openstack drives OpenStack for the VNF lifecycle: package images go to Glance, one Heat stack per VNF
// instance is made from the package's base HOT, and what came of it is read back from Heat, Nova, Neutron and Cinder.
//
// The stack is named vnf-<instance id> and tagged with the instance and the operation, images are tagged with the
// instance. These names are how a successor finds what a dead predecessor made, and how nothing is left behind. Every
// call observes first and then acts; waiting is returned, never slept. An error carries its class, because only here it
// is known whether trying again can help, and the service's own words.
package openstack
