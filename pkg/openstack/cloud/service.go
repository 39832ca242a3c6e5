package cloud

import (
	"path"
	"regexp"
	"strings"
)

// Service is one OpenStack service, by the name its users know.
type Service string

// The services this package calls. Keystone is not in the catalogue: the connection names it.
const (
	keystone Service = "Keystone"
	Heat     Service = "Heat"
	Nova     Service = "Nova"
	Neutron  Service = "Neutron"
	Glance   Service = "Glance"
	Cinder   Service = "Cinder"
)

// Coordination stands in metrics for the coordination servers of VNFs, which are no part of the VIM.
const Coordination Service = "coordination"

// serviceTypes maps the types of a catalogue, official and historical, to services.
var serviceTypes = map[string]Service{
	"orchestration": Heat,
	"compute":       Nova,
	"network":       Neutron,
	"image":         Glance,
	"block-storage": Cinder,
	"volumev3":      Cinder,
}

var versioned = regexp.MustCompile(`^v\d+(\.\d+)?$`)

// base completes a catalogue's URL with the version that the calls of this package are made for.
func (s Service) base(url, projectID string) string {
	switch s {
	case Neutron, Glance: // the catalogue has the root, older ones the version
		if versioned.MatchString(path.Base(url)) {
			url = url[:strings.LastIndexByte(url, '/')]
		}
		if s == Neutron {
			return url + "/v2.0"
		}
		return url + "/v2"
	case Heat:
		if !versioned.MatchString(path.Base(url)) && !versioned.MatchString(path.Base(path.Dir(url))) {
			return url + "/v1/" + projectID
		}
	case Cinder:
		if !versioned.MatchString(path.Base(url)) && !versioned.MatchString(path.Base(path.Dir(url))) {
			return url + "/v3/" + projectID
		}
	case keystone, Coordination: // others say where these are
	case Nova:
		if !versioned.MatchString(path.Base(url)) && !versioned.MatchString(path.Base(path.Dir(url))) {
			return url + "/v2.1"
		}
	}
	return url
}
