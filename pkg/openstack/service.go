package openstack

import (
	"path"
	"regexp"
	"strings"
)

// service is one OpenStack service, by the name its users know.
type service string

// The services this package calls. Keystone is not in the catalogue: the connection names it.
const (
	keystone service = "Keystone"
	heat     service = "Heat"
	nova     service = "Nova"
	neutron  service = "Neutron"
	glance   service = "Glance"
	cinder   service = "Cinder"
)

// coordinating stands in metrics for the coordination servers of VNFs, which are no part of the VIM.
const coordinating service = "coordination"

// serviceTypes maps the types of a catalogue, official and historical, to services.
var serviceTypes = map[string]service{
	"orchestration": heat,
	"compute":       nova,
	"network":       neutron,
	"image":         glance,
	"block-storage": cinder,
	"volumev3":      cinder,
}

var versioned = regexp.MustCompile(`^v\d+(\.\d+)?$`)

// base completes a catalogue's URL with the version that the calls of this package are made for.
func (s service) base(url, projectID string) string {
	switch s {
	case neutron, glance: // the catalogue has the root, older ones the version
		if versioned.MatchString(path.Base(url)) {
			url = url[:strings.LastIndexByte(url, '/')]
		}
		if s == neutron {
			return url + "/v2.0"
		}
		return url + "/v2"
	case heat:
		if !versioned.MatchString(path.Base(url)) && !versioned.MatchString(path.Base(path.Dir(url))) {
			return url + "/v1/" + projectID
		}
	case cinder:
		if !versioned.MatchString(path.Base(url)) && !versioned.MatchString(path.Base(path.Dir(url))) {
			return url + "/v3/" + projectID
		}
	case keystone, coordinating: // others say where these are
	case nova:
		if !versioned.MatchString(path.Base(url)) && !versioned.MatchString(path.Base(path.Dir(url))) {
			return url + "/v2.1"
		}
	}
	return url
}
