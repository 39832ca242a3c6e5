package apitest_test

import (
	"testing"
	"testing/fstest"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/infratest"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/apitest"
)

// contractVIM is an apitest.VIM as the contract sees it.
type contractVIM struct{ *apitest.VIM }

func (v contractVIM) Infra(node *infratest.Node) lcm.Infra { return v.Through(node.Call) }

func (v contractVIM) Connections() map[string]sol.VimConnectionInfo {
	return map[string]sol.VimConnectionInfo{"vim1": {VimType: apitest.VimType}}
}

func (v contractVIM) Second() sol.VimConnectionInfo { return v.Connections()["vim1"] }

func (v contractVIM) Contents() []infratest.Content {
	out := []infratest.Content{}
	for _, id := range v.Machines() {
		out = append(out, infratest.Content{Kind: "machines", ID: id})
	}
	for _, id := range v.Disks() {
		out = append(out, infratest.Content{Kind: "disks", ID: id})
	}
	return out
}

func (v contractVIM) Lose(machine lcm.Resource) { v.VIM.Lose(machine.ID) }

func (v contractVIM) Refuse(text string) string {
	v.VIM.Refuse(text)
	return "masterNode-0"
}

// TestVIMFulfilsTheContract: tests of the domain use this driver, so that it must behave like one.
func TestVIMFulfilsTheContract(t *testing.T) {
	t.Parallel()
	infratest.Contract(t, infratest.Harness{
		VNFD: apitest.Cluster(apitest.ClusterID, "1.0"), Files: fstest.MapFS{},
		Request: sol.InstantiateVnfRequest{FlavourID: "simple"}, Aspect: "workers", SecondVDU: "workerNode",
		New: func(*testing.T) infratest.VIM { return contractVIM{apitest.NewVIM()} },
	})
}
