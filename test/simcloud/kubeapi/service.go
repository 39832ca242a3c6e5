package kubeapi

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// portRange has the ports from first to last.
type portRange struct{ first, last int64 }

// usualPorts are the node ports of an API server without the option service-node-port-range.
var usualPorts = portRange{30000, 32767}

// SetNodePorts sets the option service-node-port-range of the API servers, for Services that are written from now on.
func (c *Cluster) SetNodePorts(first, last int64) {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	c.store.nodePorts = portRange{first, last}
}

// fillService gives a service its address and its node ports.
func (s *Store) fillService(r Resource, o Object) error {
	if String(o, "spec", "type") == "" {
		Set(o, "ClusterIP", "spec", "type")
	}
	kind := String(o, "spec", "type")
	if kind != "ExternalName" && String(o, "spec", "clusterIP") == "" {
		n := s.Rev()
		ip := fmt.Sprintf("10.%d.%d.%d", 97+n>>16&0xff, n>>8&0xff, n&0xff)
		Set(o, ip, "spec", "clusterIP")
		Set(o, []any{ip}, "spec", "clusterIPs")
	}
	return s.fillPorts(r, o, nil)
}

// fillPorts completes the ports of a service; cur is the service as it was, or nil. Ports that were chosen stay.
func (s *Store) fillPorts(r Resource, o, cur Object) error {
	var used []int64
	all, _ := s.List(r, "")
	s.mu.RLock()
	valid := s.nodePorts
	s.mu.RUnlock()
	for _, other := range all {
		if key(Namespace(other), Name(other)) == key(Namespace(o), Name(o)) {
			continue
		}
		for _, p := range objectsAt(other, "spec", "ports") {
			used = append(used, Int(p, "nodePort"))
		}
	}
	kind := String(o, "spec", "type")
	before := objectsAt(cur, "spec", "ports")
	for n, p := range objectsAt(o, "spec", "ports") {
		if p["protocol"] == nil {
			p["protocol"] = "TCP"
		}
		if p["targetPort"] == nil {
			p["targetPort"] = p["port"]
		}
		if kind != "NodePort" && kind != "LoadBalancer" {
			continue
		}
		path := field.NewPath("spec", "ports").Index(n).Child("nodePort")
		switch port := Int(p, "nodePort"); {
		case port == 0:
			port = valid.first
			i := slices.IndexFunc(before, func(b Object) bool {
				return b["port"] == p["port"] && Int(b, "nodePort") > 0
			})
			if i >= 0 {
				port = Int(before[i], "nodePort")
			}
			for slices.Contains(used, port) {
				port++
			}
			p["nodePort"] = port
		case port < valid.first || port > valid.last:
			return r.invalid(Name(o), field.Invalid(path, port, fmt.Sprintf(
				"provided port is not in the valid range. The range of valid ports is %d-%d",
				valid.first, valid.last)))
		case slices.Contains(used, port):
			return r.invalid(Name(o), field.Invalid(path, port, "provided port is already allocated"))
		}
		used = append(used, Int(p, "nodePort"))
	}
	return nil
}
