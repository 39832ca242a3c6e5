package main

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/stack"
)

// The packages of the tour: one virtual machine with a floating address, one with two volumes; and the next version.
const (
	standard     = "test/packages/standard"
	standardNext = "test/packages/standard-2"
)

// place is the cloud that a tour is made in.
type place struct {
	vim sol.VimConnectionInfo
	// net0 and net1 are networks; a router leads from net0 to the external one. address is a free address of net1,
	// another one for every tour.
	net0, net1 string
	address    func(tour int) string
}

// simulated is the simulated cloud, which has one network for both.
func (b *bench) simulated() (place, error) {
	block, err := netip.ParsePrefix(b.stack.Sim.Block)
	if err != nil {
		return place{}, err
	}
	bytes := block.Addr().As4()
	return place{
		vim: stack.VimConnection(b.stack.Sim), net0: b.stack.Sim.Net0ID, net1: b.stack.Sim.Net0ID,
		address: func(tour int) string {
			return netip.AddrFrom4([4]byte{bytes[0], bytes[1], 120, byte(10 + tour)}).String()
		},
	}, nil
}

// tour is one instance that goes through every operation.
type tour struct {
	*bench
	place
	number      int
	vnfd, newer string
	id          string
}

// stop is one operation of a tour.
type stop struct {
	name string
	op   sol.LcmOperationType
	body func(context.Context, *tour) (any, error)
}

// always is a body that depends on nothing.
func always(body any) func(context.Context, *tour) (any, error) {
	return func(context.Context, *tour) (any, error) { return body, nil }
}

// stops are every operation once, in an order in which each has something to do.
var stops = []stop{
	{"instantiate", sol.LcmOperationInstantiate, func(_ context.Context, t *tour) (any, error) {
		return sol.InstantiateVnfRequest{
			FlavourID: "simple", VimConnectionInfo: map[string]sol.VimConnectionInfo{"vim1": t.vim},
			AdditionalParams: userData(),
			ExtVirtualLinks: []sol.ExtVirtualLinkData{
				link(
					"link1", t.net0, "VDU1_CP1", sol.IpAddressData{Type: sol.IPAddressTypeIPv4, NumDynamicAddresses: 1},
				),
				link(
					"link2", t.net1, "VDU2_CP1", sol.IpAddressData{Type: sol.IPAddressTypeIPv4, NumDynamicAddresses: 1},
				),
			},
		}, nil
	}},
	{"modify", sol.LcmOperationModifyInfo, always(map[string]any{"vnfInstanceName": "tour"})},
	{"scale out", sol.LcmOperationScale, always(sol.ScaleVnfRequest{Type: sol.ScaleTypeOut, AspectID: "VDU1_scale"})},
	{"heal one VNFC", sol.LcmOperationHeal, func(ctx context.Context, t *tour) (any, error) {
		id, err := t.vnfc(ctx, t.id, "VDU1")
		return sol.HealVnfRequest{VnfcInstanceID: []string{id}}, err
	}},
	{"scale in", sol.LcmOperationScale, always(sol.ScaleVnfRequest{Type: sol.ScaleTypeIn, AspectID: "VDU1_scale"})},
	{
		"stop",
		sol.LcmOperationOperate,
		always(sol.OperateVnfRequest{ChangeStateTo: sol.VnfOperationalStateStopped, StopType: sol.StopTypeForceful}),
	},
	{"start", sol.LcmOperationOperate, always(sol.OperateVnfRequest{ChangeStateTo: sol.VnfOperationalStateStarted})},
	{"change_ext_conn", sol.LcmOperationChangeExtConn, func(_ context.Context, t *tour) (any, error) {
		return sol.ChangeExtVnfConnectivityRequest{ExtVirtualLinks: []sol.ExtVirtualLinkData{
			link(
				"link2",
				t.net1,
				"VDU2_CP1",
				sol.IpAddressData{Type: sol.IPAddressTypeIPv4, FixedAddresses: []string{t.address(t.number)}},
			),
		}}, nil
	}},
	{"change_vnfpkg", sol.LcmOperationChangeVnfpkg, func(_ context.Context, t *tour) (any, error) {
		return sol.ChangeCurrentVnfPkgRequest{
			VnfdID:           t.newer,
			AdditionalParams: sol.KeyValuePairs{"upgrade_type": "RollingUpdate"},
		}, nil
	}},
	{"change_flavour", sol.LcmOperationChangeFlavour, always(sol.ChangeVnfFlavourRequest{NewFlavourID: "large"})},
	{
		"terminate",
		sol.LcmOperationTerminate,
		always(sol.TerminateVnfRequest{TerminationType: sol.TerminationTypeForceful}),
	},
}

// vnfc is a VNFC of a VDU.
func (b *bench) vnfc(ctx context.Context, id, vdu string) (string, error) {
	i, err := b.api.Instance(ctx, id)
	if err != nil {
		return "", err
	}
	for _, c := range i.InstantiatedVnfInfo.VnfcInfo {
		if c.VduID == vdu {
			return c.ID, nil
		}
	}
	return "", fmt.Errorf("instance %s has no VNFC of %s", id, vdu)
}

func userData() sol.KeyValuePairs {
	return sol.KeyValuePairs{
		"lcm-operation-user-data":       "./UserData/userdata_standard.py",
		"lcm-operation-user-data-class": "StandardUserData",
	}
}

// link connects a CP to a network.
func link(id, network, cpd string, address sol.IpAddressData) sol.ExtVirtualLinkData {
	return sol.ExtVirtualLinkData{ID: id, ResourceID: network, ExtCps: []sol.VnfExtCpData{{
		CpdID: cpd, CpConfig: map[string]sol.VnfExtCpConfig{cpd: {CpProtocolData: []sol.CpProtocolData{{
			LayerProtocol:  sol.LayerProtocolIPOverEthernet,
			IpOverEthernet: &sol.IpOverEthernetAddressData{IpAddresses: []sol.IpAddressData{address}},
		}}}},
	}}}
}

// around makes one tour and calls at for every stop: at starts the operation with the function that it is given.
func (b *bench) around(
	ctx context.Context,
	dir string,
	p place,
	number int,
	at func(s stop, run func(context.Context) (time.Duration, error)) error,
) error {
	t := &tour{bench: b, place: p, number: number}
	var err error
	if t.vnfd, err = b.upload(ctx, dir, standard); err != nil {
		return err
	}
	if t.newer, err = b.upload(ctx, dir, standardNext); err != nil {
		return err
	}
	i, err := b.api.CreateInstance(ctx, sol.CreateVnfRequest{VnfdID: t.vnfd})
	if err != nil {
		return err
	}
	t.id = i.ID
	b.current = i.ID
	for _, s := range stops {
		err := at(s, func(ctx context.Context) (time.Duration, error) {
			body, err := s.body(ctx, t)
			if err != nil {
				return 0, err
			}
			op, err := b.api.Start(ctx, t.id, s.op, body)
			if err != nil {
				return 0, err
			}
			took, err := stack.Await(ctx, b.api, op)
			if err != nil {
				return 0, err
			}
			return took[0], nil
		})
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return b.api.DeleteInstance(ctx, t.id)
}

// services are those whose calls are counted.
var services = []string{"keystone", "heat", "nova", "neutron", "glance", "cinder"}

// account is what the runs of one kind of operation have cost.
type account struct {
	took  []time.Duration
	cpu   time.Duration
	calls map[string]int // by service
}

// tours measures what gybe adds to every operation when the cloud answers at once, and which calls it makes.
func (b *bench) tours(ctx context.Context, dir string) error {
	p, err := b.simulated()
	if err != nil {
		return err
	}
	const n = 8
	accounts := map[string]*account{}
	for number := range n + 1 { // the first is for caches, the token and the versions
		err := b.around(ctx, dir, p, number, func(s stop, run func(context.Context) (time.Duration, error)) error {
			if err := b.stack.Control(ctx, http.MethodDelete, "/sim/calls", nil, nil); err != nil {
				return err
			}
			before, err := b.node.Usage()
			if err != nil {
				return err
			}
			took, err := run(ctx)
			if err != nil {
				return err
			}
			after, err := b.node.Usage()
			if err != nil {
				return err
			}
			calls, err := b.calls(ctx)
			if number == 0 {
				if s.op == sol.LcmOperationInstantiate {
					b.row("calls of the first operation", "new session", counts(calls, 1),
						"later ones share its token for an hour")
				}
				return err
			}
			a := accounts[s.name]
			if a == nil {
				a = &account{calls: map[string]int{}}
				accounts[s.name] = a
			}
			a.took, a.cpu = append(a.took, took), a.cpu+after.CPU-before.CPU
			for service, c := range calls {
				a.calls[service] += c
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, s := range stops {
		a := accounts[s.name]
		slices.Sort(a.took)
		b.row(
			s.name,
			fmt.Sprintf("%d tours", n),
			fmt.Sprintf("median %s, worst %s, %s CPU", ms(a.took[n/2]), ms(a.took[n-1]), ms(a.cpu/n)),
			counts(a.calls, n),
		)
	}
	return nil
}

// calls are those made to each service since they were last forgotten.
func (b *bench) calls(ctx context.Context) (map[string]int, error) {
	var body struct {
		Calls []struct {
			Service string `json:"service"`
			Count   int    `json:"count"`
		} `json:"calls"`
	}
	if err := b.stack.Control(ctx, http.MethodGet, "/sim/calls", nil, &body); err != nil {
		return nil, err
	}
	out := map[string]int{}
	for _, c := range body.Calls {
		out[c.Service] += c.Count
	}
	return out, nil
}

// counts tells the calls to each service of one of n runs.
func counts(calls map[string]int, n int) string {
	var total int
	var parts []string
	for _, s := range services {
		total += calls[s]
		if calls[s] > 0 {
			parts = append(parts, fmt.Sprintf("%s %.3g", s, float64(calls[s])/float64(n)))
		}
	}
	return strings.TrimSuffix(fmt.Sprintf("%.3g calls: %s", float64(total)/float64(n), strings.Join(parts, ", ")), ": ")
}
