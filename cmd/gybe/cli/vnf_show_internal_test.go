package cli

import (
	"strings"
	"testing"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// cnf is an instance with one pod, as the drivers of containers report it.
func cnf(vimType string) *sol.VnfInstance {
	return &sol.VnfInstance{
		ID:                "b5cc6ac6-34ca-4594-9bd2-45b6399a9be3",
		VimConnectionInfo: map[string]sol.VimConnectionInfo{"vim1": {VimType: vimType}},
		InstantiatedVnfInfo: &sol.InstantiatedVnfInfo{
			VnfcResourceInfo: []sol.VnfcResourceInfo{{
				ID: "r1", VduID: "VDU1", ComputeResource: sol.ResourceHandle{ResourceID: "web-5cb4b4ffc9-89zoe"},
			}},
			VnfcInfo: []sol.VnfcInfo{{ID: "VDU1-0", VduID: "VDU1", VnfcResourceInfoID: "r1", VnfcState: "STARTED"}},
		},
	}
}

func TestVNFCsOfContainersAreShownAsPods(t *testing.T) {
	for _, c := range []struct{ vimType, head string }{
		{"ETSINFV.KUBERNETES.V_1", "VNFC    VDU   STATE    POD\n"},
		{"ETSINFV.HELM.V_3", "VNFC    VDU   STATE    POD\n"},
		{"ETSINFV.OPENSTACK_KEYSTONE.V_3", "VNFC    VDU   STATE    SERVER\n"},
	} {
		var out strings.Builder
		a := &app{env: &Env{}}
		i := cnf(c.vimType)
		a.instanceTable(&out, i, nil)
		if !strings.Contains(out.String(), c.head) {
			t.Errorf("%s: no line %q in\n%s", c.vimType, c.head, &out)
		}
	}
}

func TestASummaryCallsPodsPods(t *testing.T) {
	p := &gybeapi.Preview{
		Operation: sol.LcmOperationTerminate,
		Remove:    []gybeapi.PlannedResource{{Kind: gybeapi.ResourceContainer, Name: "VDU1 0", VNFC: "VDU1-0"}},
	}
	var out strings.Builder
	s := summarize(p, cnf("ETSINFV.KUBERNETES.V_1"))
	s.write(&out)
	if got := out.String(); !strings.Contains(got, "1 pod (VDU1 0)") || strings.Contains(got, "machine") {
		t.Errorf("got\n%s", got)
	}
}
