package tacker

import (
	"encoding/json"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// hiddenSecret is a secret of a VIM as Tacker shows it: masked, or encrypted with a key that only Tacker has.
const hiddenSecret = "***"

// Cluster presents a Kubernetes cluster that a node of Gybe has made, with its instance id, as an instance of version 2
// of Tacker. params is the request by which it was instantiated, as JSON. Everything else is read from the stack.
func (v *VIM) Cluster(p *Package, id, name string, params json.RawMessage) *VNF {
	v.s.tb.Helper()
	var req sol.InstantiateVnfRequest
	v.s.must(json.Unmarshal(params, &req))
	n := v.newVNF(p, 2, req)
	n.ID, n.StackName = id, "vnf-"+id
	n.StackID = v.settled(n.StackName).ID
	for _, a := range n.flavour.Aspects { // the cluster may have been scaled since
		n.levels[a.ID] = n.levelOf(a.ID)
	}
	doc := n.base(name)
	doc["vimConnectionInfo"] = obj{key: v.connection()}
	doc["instantiatedVnfInfo"] = n.instantiated2()
	doc["_links"] = n.links()
	n.put(doc)
	n.AddOperation("INSTANTIATE", "COMPLETED", req)
	return n
}

// levelOf is the scale level of an aspect at which the VDUs have as many VNFCs as the stack has servers.
func (n *VNF) levelOf(aspect string) int {
	n.s.tb.Helper()
	have := map[string]int{}
	for _, server := range n.inventory().servers {
		have[server.Name]++
	}
	a := n.flavour.Aspect(aspect)
	for level := range a.MaxScaleLevel + 1 {
		n.levels[aspect] = level
		fits := true
		for vdu := range a.Steps[0] {
			fits = fits && n.count(vdu) == have[vdu]
		}
		if fits {
			return level
		}
	}
	n.s.tb.Fatalf("no level of aspect %s fits the servers %v", aspect, have)
	return 0
}

// RegisterCluster registers the cluster of the instance as a VIM, as the mgmt driver of version 1 does under the name
// kubernetes_vim_<id>, and returns the id of the VIM. Members of authCred, such as bearer_token and ssl_ca_cert, are
// shown as they are; without any, the secrets are hidden.
func (n *VNF) RegisterCluster(endpoint string, authCred map[string]any) string {
	n.s.tb.Helper()
	if authCred == nil {
		authCred = obj{"bearer_token": hiddenSecret, "ssl_ca_cert": hiddenSecret}
	}
	id := uuid.NewString()
	n.s.AddVim(obj{
		"id": id, "name": "kubernetes_vim_" + n.ID, "description": "Kubernetes VIM", "type": "kubernetes",
		"status": "REACHABLE", "is_default": false, "auth_url": endpoint, "auth_cred": authCred,
		"tenant_id": uuid.NewString(), "vim_project": obj{"name": "default"},
		"placement_attr": obj{"regions": []string{"default"}}, "extra": obj{},
		"created_at": "2024-04-16 05:00:00", "updated_at": nil,
	})
	n.Change(func(doc map[string]any) {
		switch connections := doc["vimConnectionInfo"].(type) {
		case []any:
			doc["vimConnectionInfo"] = append(connections, obj{
				"id": uuid.NewString(), "vimId": id, "vimType": "kubernetes", "interfaceInfo": nil,
				"accessInfo": obj{"authUrl": endpoint},
			})
		case obj:
			connections["kubernetes"] = obj{
				"vimId": id, "vimType": typeKubernetes, "interfaceInfo": obj{"endpoint": endpoint}, "accessInfo": obj{},
			}
		}
	})
	return id
}
