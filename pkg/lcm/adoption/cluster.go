package adoption

import (
	"maps"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

const kubernetes = "kubernetes"

// Clusters are the connections to Kubernetes clusters that the other VNFM has for the instance: those of the instance
// itself, and VIMs that its mgmt driver has registered. Credentials that it hides are left out.
func (s *Source) Clusters() []sol.VimConnectionInfo {
	var out []sol.VimConnectionInfo
	for _, key := range slices.Sorted(maps.Keys(s.connections)) {
		c := s.connections[key]
		if !c.isKubernetes() {
			continue
		}
		out = append(out, clusterConnection(c.InterfaceInfo, c.AccessInfo, ""))
	}
	for _, v := range s.vims {
		if v.Type == kubernetes {
			out = append(out, clusterConnection(v.Cred, v.Cred, v.AuthURL))
		}
	}
	return slices.DeleteFunc(out, func(c sol.VimConnectionInfo) bool { return c.InterfaceInfo["endpoint"] == nil })
}

// clusterConnection gives the members of a connection the names that they have here.
func clusterConnection(face, access sol.KeyValuePairs, endpoint string) sol.VimConnectionInfo {
	out := sol.VimConnectionInfo{
		VimType: "ETSINFV.KUBERNETES.V_1", InterfaceInfo: sol.KeyValuePairs{}, AccessInfo: sol.KeyValuePairs{},
	}
	take := func(to sol.KeyValuePairs, name string, values ...any) {
		for _, v := range values {
			if text, _ := v.(string); text != "" && text != hidden {
				to[name] = text
				return
			}
		}
	}
	take(out.InterfaceInfo, "endpoint", endpoint, face["endpoint"], access["authUrl"], access["auth_url"])
	take(out.InterfaceInfo, "ssl_ca_cert", face["ssl_ca_cert"], access["ssl_ca_cert"], access["sslCaCert"])
	take(out.AccessInfo, "bearer_token", access["bearer_token"], access["bearerToken"])
	take(out.AccessInfo, "username", access["username"])
	take(out.AccessInfo, "password", access["password"])
	return out
}
