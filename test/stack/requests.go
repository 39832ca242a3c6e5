package stack

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// Requests makes the requests of every operation for the packages standard and groups of test/packages, which want two
// more networks than a new cloud has: net1 and net_mgmt.
type Requests struct {
	sim      simcloud.Info
	networks map[string]string // ids by name
	subnets  map[string]string
}

// NewRequests makes the networks that a cloud lacks.
func NewRequests(ctx context.Context, cloud *simcloud.Cloud) (Requests, error) {
	r := Requests{sim: cloud.Info(), networks: map[string]string{}, subnets: map[string]string{}}
	state := cloud.State()
	for _, o := range state["networks"] {
		r.networks[o.Name] = o.ID
	}
	for _, o := range state["subnets"] {
		r.subnets[o.Name] = o.ID
	}
	provider, err := simcloud.Login(ctx, cloud.AuthOptions())
	if err != nil {
		return r, err
	}
	defer provider.HTTPClient.CloseIdleConnections()
	neutron, err := openstack.NewNetworkV2(provider, gophercloud.EndpointOpts{Region: simcloud.Region})
	if err != nil {
		return r, err
	}
	for network, cidr := range map[string]string{"net1": "10.10.1.0/24", "net_mgmt": "192.168.120.0/24"} {
		if r.networks[network] != "" {
			continue
		}
		n, err := networks.Create(ctx, neutron, networks.CreateOpts{Name: network}).Extract()
		if err != nil {
			return r, err
		}
		name := strings.Replace(network, "net", "subnet", 1)
		s, err := subnets.Create(ctx, neutron, subnets.CreateOpts{
			Name: name, NetworkID: n.ID, CIDR: cidr, IPVersion: gophercloud.IPv4,
		}).Extract()
		if err != nil {
			return r, err
		}
		r.networks[network], r.subnets[name] = n.ID, s.ID
	}
	return r, nil
}

// UserData chooses StandardUserData.
func UserData() sol.KeyValuePairs {
	return sol.KeyValuePairs{
		"lcm-operation-user-data":       "./UserData/userdata_standard.py",
		"lcm-operation-user-data-class": "StandardUserData",
	}
}

// link connects CPs of the VNFD to a network, each with one cpConfig.
func (r Requests) link(id, network string, cps map[string]sol.IpAddressData) sol.ExtVirtualLinkData {
	l := sol.ExtVirtualLinkData{ID: id, ResourceID: r.networks[network]}
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

// dynamic asks for an address that the VIM chooses.
func dynamic() sol.IpAddressData {
	return sol.IpAddressData{Type: sol.IPAddressTypeIPv4, NumDynamicAddresses: 1}
}

// fixed asks for an address of net1.
func (r Requests) fixed(address string) sol.IpAddressData {
	return sol.IpAddressData{
		Type: sol.IPAddressTypeIPv4, FixedAddresses: []string{address}, SubnetID: r.subnets["subnet1"],
	}
}

// StandardAddress is what VDU2 of an instance of the package standard has in net1.
const StandardAddress = "10.10.1.77"

// Standard instantiates flavour simple of the package standard: at level smallest one VDU1, at volumes also VDU2, at
// largest three VDU1 and VDU2.
func (r Requests) Standard(level string) sol.InstantiateVnfRequest {
	return sol.InstantiateVnfRequest{
		FlavourID: "simple", InstantiationLevelID: level,
		VimConnectionInfo: map[string]sol.VimConnectionInfo{"vim1": VimConnection(r.sim)},
		AdditionalParams:  UserData(),
		ExtVirtualLinks: []sol.ExtVirtualLinkData{
			r.link("link1", "net0", map[string]sol.IpAddressData{"VDU1_CP1": dynamic()}),
			r.link("link2", "net1", map[string]sol.IpAddressData{"VDU2_CP1": r.fixed(StandardAddress)}),
		},
	}
}

// Groups instantiates a flavour of the package groups.
func (r Requests) Groups(flavour, level string) sol.InstantiateVnfRequest {
	return sol.InstantiateVnfRequest{
		FlavourID: flavour, InstantiationLevelID: level,
		VimConnectionInfo: map[string]sol.VimConnectionInfo{"vim1": VimConnection(r.sim)},
		ExtVirtualLinks: []sol.ExtVirtualLinkData{
			r.link("link1", "net0", map[string]sol.IpAddressData{"VDU1_CP1": dynamic()}),
			r.link("link2", "net1", map[string]sol.IpAddressData{"VDU2_CP1": dynamic()}),
		},
	}
}

// Scale asks for steps of VDU1, which both packages can scale.
func Scale(t sol.ScaleType, steps int) sol.ScaleVnfRequest {
	return sol.ScaleVnfRequest{Type: t, AspectID: "VDU1_scale", NumberOfSteps: steps}
}

// Readdressed gives VDU2 of the package standard another address in net1.
func (r Requests) Readdressed(address string) sol.ChangeExtVnfConnectivityRequest {
	return sol.ChangeExtVnfConnectivityRequest{AdditionalParams: UserData(), ExtVirtualLinks: []sol.ExtVirtualLinkData{
		r.link("link2", "net1", map[string]sol.IpAddressData{"VDU2_CP1": r.fixed(address)}),
	}}
}

// Reconnected puts VDU2 of the package standard on a new external link in another network.
func (r Requests) Reconnected(network string) sol.ChangeExtVnfConnectivityRequest {
	return sol.ChangeExtVnfConnectivityRequest{AdditionalParams: UserData(), ExtVirtualLinks: []sol.ExtVirtualLinkData{
		r.link("link3", network, map[string]sol.IpAddressData{"VDU2_CP1": dynamic()}),
	}}
}

// Large asks for the other flavour of the package standard.
func Large() sol.ChangeVnfFlavourRequest {
	return sol.ChangeVnfFlavourRequest{
		NewFlavourID: "large", InstantiationLevelID: "smallest", AdditionalParams: UserData(),
	}
}

// NextVersion moves an instance of the package standard to another version of it, one VNFC after the other.
func NextVersion(vnfd string) sol.ChangeCurrentVnfPkgRequest {
	p := UserData()
	p["upgrade_type"] = "RollingUpdate"
	p["vdu_params"] = []any{map[string]any{"vdu_id": "VDU1"}, map[string]any{"vdu_id": "VDU2"}}
	return sol.ChangeCurrentVnfPkgRequest{VnfdID: vnfd, AdditionalParams: p}
}
