package openstack_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// vim is the connection to the lab, as its project's user.
func (l *lab) vim() map[string]sol.VimConnectionInfo {
	return map[string]sol.VimConnectionInfo{"vim1": {
		VimType:       "ETSINFV.OPENSTACK_KEYSTONE.V_3",
		InterfaceInfo: sol.KeyValuePairs{"endpoint": l.vars["OS_AUTH_URL"]},
		AccessInfo: sol.KeyValuePairs{
			"username": l.vars["OS_USERNAME"], "password": l.vars["OS_PASSWORD"], "region": l.vars["OS_REGION_NAME"],
			"project": l.vars["OS_PROJECT_NAME"], "projectDomain": "Default", "userDomain": "Default",
		},
	}}
}

// userData chooses StandardUserData, as users of packages that were made for another system do.
func userData() sol.KeyValuePairs {
	return sol.KeyValuePairs{
		"lcm-operation-user-data":       "./UserData/userdata_standard.py",
		"lcm-operation-user-data-class": "StandardUserData",
	}
}

// dynamic asks for one address that the VIM chooses, in a subnet when one is given.
func dynamic(subnet string) sol.IpAddressData {
	return sol.IpAddressData{Type: sol.IPAddressTypeIPv4, NumDynamicAddresses: 1, SubnetID: subnet}
}

// fixed asks for one address.
func fixed(address, subnet string) sol.IpAddressData {
	return sol.IpAddressData{Type: sol.IPAddressTypeIPv4, FixedAddresses: []string{address}, SubnetID: subnet}
}

// link connects CPs of the VNFD to a network, each with one cpConfig.
func link(id, network string, cps map[string]sol.IpAddressData) sol.ExtVirtualLinkData {
	l := sol.ExtVirtualLinkData{ID: id, ResourceID: network}
	for _, cpd := range slices.Sorted(maps.Keys(cps)) {
		l.ExtCps = append(l.ExtCps, sol.VnfExtCpData{CpdID: cpd, CpConfig: map[string]sol.VnfExtCpConfig{cpd: {
			CpProtocolData: []sol.CpProtocolData{{
				LayerProtocol:  sol.LayerProtocolIPOverEthernet,
				IpOverEthernet: &sol.IpOverEthernetAddressData{IpAddresses: []sol.IpAddressData{cps[cpd]}},
			}},
		}}})
	}
	return l
}

// plain is the request for one virtual machine with one port: the smallest there is.
func (w *world) plain() sol.InstantiateVnfRequest {
	return sol.InstantiateVnfRequest{
		FlavourID: "default", VimConnectionInfo: w.lab.vim(), AdditionalParams: userData(),
		ExtVirtualLinks: []sol.ExtVirtualLinkData{
			link("net1", w.cloud.network(w.t, "net1"), map[string]sol.IpAddressData{"VDU1_CP1": dynamic("")}),
		},
	}
}

// standard is the request for flavour simple of the package standard, with an address of its own for VDU2.
func (w *world) standard(level string) sol.InstantiateVnfRequest {
	net0, net1 := w.cloud.network(w.t, "net0"), w.cloud.network(w.t, "net1")
	return sol.InstantiateVnfRequest{
		FlavourID: "simple", InstantiationLevelID: level, VimConnectionInfo: w.lab.vim(), AdditionalParams: userData(),
		ExtVirtualLinks: []sol.ExtVirtualLinkData{
			link("link1", net0, map[string]sol.IpAddressData{"VDU1_CP1": dynamic("")}),
			link("link2", net1, map[string]sol.IpAddressData{
				"VDU2_CP1": fixed("10.10.1.77", w.cloud.subnet(w.t, "subnet1")),
			}),
		},
	}
}

// groups is the request for a flavour of the package groups.
func (w *world) groups(flavour, level string) sol.InstantiateVnfRequest {
	net0, net1 := w.cloud.network(w.t, "net0"), w.cloud.network(w.t, "net1")
	return sol.InstantiateVnfRequest{
		FlavourID: flavour, InstantiationLevelID: level, VimConnectionInfo: w.lab.vim(),
		ExtVirtualLinks: []sol.ExtVirtualLinkData{
			link("link1", net0, map[string]sol.IpAddressData{"VDU1_CP1": dynamic("")}),
			link("link2", net1, map[string]sol.IpAddressData{"VDU2_CP1": dynamic("")}),
		},
	}
}

// ok accepts the answers of services that change something.
var ok = &gophercloud.RequestOpts{OkCodes: []int{http.StatusOK, http.StatusCreated, http.StatusAccepted}}

func encode(t *testing.T, v any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return raw
}
