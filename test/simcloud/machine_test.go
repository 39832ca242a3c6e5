package simcloud

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stackresources"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stacks"
	"github.com/stretchr/testify/require"
)

// plainFleet binds one port on every fixed and floating address, as a fleet does, and notes the calls that it receives.
type plainFleet struct {
	mu       sync.Mutex
	machines map[string]*plainMachine
	notes    []string
	refuse   error
}

type plainMachine struct {
	m         Machine
	listeners map[netip.Addr]net.Listener
	extra     map[Address]bool
}

const fleetPort = 22022

func newPlainFleet() *plainFleet { return &plainFleet{machines: map[string]*plainMachine{}} }

func (f *plainFleet) note(format string, args ...any) {
	f.notes = append(f.notes, fmt.Sprintf(format, args...))
}

func (f *plainFleet) Boot(ctx context.Context, m Machine) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse != nil {
		return f.refuse
	}
	p := &plainMachine{m: m, listeners: map[netip.Addr]net.Listener{}, extra: map[Address]bool{}}
	for _, a := range append(append([]netip.Addr{}, m.FixedIPs...), m.FloatingIPs...) {
		if err := p.listen(ctx, a); err != nil {
			p.close()
			return err
		}
	}
	f.machines[m.ID] = p
	f.note("boot %s", m.Name)
	return nil
}

func (p *plainMachine) listen(ctx context.Context, a netip.Addr) error {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", netip.AddrPortFrom(a, fleetPort).String())
	if err == nil {
		p.listeners[a] = ln
	}
	return err
}

func (p *plainMachine) close() {
	for a, ln := range p.listeners {
		_ = ln.Close()
		delete(p.listeners, a)
	}
}

func (f *plainFleet) with(id, what string, do func(p *plainMachine)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.machines[id]; p != nil {
		do(p)
		f.note("%s %s", what, p.m.Name)
	}
}

func (f *plainFleet) Delete(id string) {
	f.with(id, "delete", func(p *plainMachine) { p.close(); delete(f.machines, id) })
}
func (f *plainFleet) PowerOff(id string) { f.with(id, "off", (*plainMachine).close) }
func (f *plainFleet) PowerOn(id string)  { f.with(id, "on", func(*plainMachine) {}) }
func (f *plainFleet) Reboot(id string)   { f.with(id, "reboot", func(*plainMachine) {}) }

func (f *plainFleet) AddAddress(id string, a Address) (err error) {
	f.with(id, "add "+string(a.Kind)+" "+a.IP.String(), func(p *plainMachine) {
		if a.Kind == Fixed || a.Kind == Floating {
			err = p.listen(context.Background(), a.IP)
		}
		p.extra[a] = err == nil
	})
	return err
}

func (f *plainFleet) RemoveAddress(id string, a Address) {
	f.with(id, "remove "+string(a.Kind)+" "+a.IP.String(), func(p *plainMachine) {
		if ln := p.listeners[a.IP]; ln != nil {
			_ = ln.Close()
			delete(p.listeners, a.IP)
		}
		delete(p.extra, a)
	})
}

func (f *plainFleet) all() []*plainMachine {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []*plainMachine
	for _, p := range f.machines {
		out = append(out, p)
	}
	return out
}

func reachable(addr string) bool {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(addr, fmt.Sprint(fleetPort)), time.Minute)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

const haTop = `
heat_template_version: 2013-05-23
resources:
  vip_CP:
    type: OS::Neutron::Port
    properties: {network: net0}
  vip_CP_floating_ip:
    type: OS::Neutron::FloatingIP
    properties: {floating_network: public, port_id: {get_resource: vip_CP}}
  master-0: &m
    type: master.yaml
    properties: {vip: {get_attr: [vip_CP, fixed_ips, 0, ip_address]}}
  master-1: *m
outputs:
  vip: {value: {get_attr: [vip_CP, fixed_ips, 0, ip_address]}}
  public: {value: {get_attr: [vip_CP_floating_ip, floating_ip_address]}}
`

const masterFile = `
heat_template_version: 2013-05-23
parameters: {vip: {type: string}}
resources:
  master:
    type: OS::Nova::Server
    properties:
      name: Master_Node
      flavor: m1.medium
      image: ubuntu-22.04-server-cloudimg-amd64
      user_data: {str_replace: {template: "vip=$vip", params: {$vip: {get_param: vip}}}}
      user_data_format: RAW
      networks: [{port: {get_resource: master_CP1}}]
  master_CP1:
    type: OS::Neutron::Port
    properties:
      network: net0
      allowed_address_pairs: [{ip_address: {get_param: vip}}]
  master_CP1_floating_ip:
    type: OS::Neutron::FloatingIP
    properties: {floating_network: public, port_id: {get_resource: master_CP1}}
`

func TestServersAreMachinesOnTheirAddresses(t *testing.T) {
	t.Parallel()
	f := newPlainFleet()
	c := StartTest(t, Options{Machines: f})
	u := login(t, c)
	id := createStack(t, u, "ha", haTop, map[string]string{"master.yaml": masterFile}, nil)
	st := waitStack(t, u, id, "CREATE_COMPLETE")
	out := map[string]string{}
	for _, o := range st.Outputs {
		out[o["output_key"].(string)] = o["output_value"].(string)
	}
	vip, public := netip.MustParseAddr(out["vip"]), netip.MustParseAddr(out["public"])
	require.True(t, c.Block().Net0().Contains(vip))
	require.True(t, c.Block().Public().Contains(public))
	require.Len(t, f.all(), 2)
	for _, p := range f.all() {
		require.Equal(t, "Master_Node", p.m.Name)
		require.Equal(t, "master-node", p.m.Hostname)
		require.Equal(t, "ubuntu", p.m.AdminUser)
		require.Equal(t, "m1.medium", p.m.Flavor)
		require.Equal(t, "vip="+vip.String(), string(p.m.UserData))
		require.Equal(t, []netip.Addr{vip}, p.m.AllowedAddressPairs)
		require.True(t, reachable(p.m.FixedIPs[0].String()))
		eventually(t, "it knows the public address of the virtual one", func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return p.m.VIPFloatingIPs[public] == vip || p.extra[Address{IP: public, Kind: VIPFloating, Target: vip}]
		})
	}
	for _, r := range resources(t, u, "ha", id, 2) {
		if strings.HasSuffix(r.Name, "_floating_ip") && r.ParentResource != "" {
			fip, err := floatingips.Get(t.Context(), u.neutron, r.PhysicalID).Extract()
			require.NoError(t, err)
			eventually(t, "its floating address answers", func() bool { return reachable(fip.FloatingIP) })
		}
	}
	require.NoError(t, stacks.Delete(t.Context(), u.heat, "ha", id).ExtractErr())
	eventually(t, "machines go", func() bool { return len(f.all()) == 0 })
}

func TestHealedServerTakesOverTheAddress(t *testing.T) {
	t.Parallel()
	f := newPlainFleet()
	c := StartTest(t, Options{Machines: f})
	u := login(t, c)
	id := createStack(t, u, "vnf", workersTop, map[string]string{"worker.yaml": workerFile}, nfv())
	waitStack(t, u, id, "CREATE_COMPLETE")
	nested := resources(t, u, "vnf", id, 1)["worker-0"].PhysicalID
	st, err := stacks.Find(t.Context(), u.heat, nested).Extract()
	require.NoError(t, err)
	require.NoError(t, stackresources.MarkUnhealthy(t.Context(), u.heat, st.Name, nested, "worker",
		stackresources.MarkUnhealthyOpts{MarkUnhealthy: true}).ExtractErr())
	change(t, u, "PATCH", "vnf", id, map[string]any{}, "UPDATE_COMPLETE")
	srv := waitServer(t, u, resources(t, u, "vnf", id, 2)["worker-0/worker"].PhysicalID, "ACTIVE")
	for _, a := range srv.Addresses[Net0].([]any) {
		addr := a.(map[string]any)["addr"].(string)
		eventually(t, "the new machine answers at "+addr, func() bool { return reachable(addr) })
	}
	require.Len(t, f.all(), 2)
}

func TestMachineThatDoesNotBoot(t *testing.T) {
	t.Parallel()
	f := newPlainFleet()
	f.refuse = errors.New("qemu: no such file")
	c := StartTest(t, Options{Machines: f})
	u := login(t, c)
	srv := waitServer(t, u, bootServer(t, u, "s", nil, nil), "ERROR")
	require.Equal(t, "qemu: no such file", srv.Fault.Message)
}

func TestAddressesFollowARunningMachine(t *testing.T) {
	t.Parallel()
	f := newPlainFleet()
	c := StartTest(t, Options{Machines: f})
	u := login(t, c)
	one, two := bootServer(t, u, "one", nil, nil), bootServer(t, u, "two", nil, nil)
	waitServer(t, u, one, "ACTIVE")
	waitServer(t, u, two, "ACTIVE")
	portOf := func(server string) string {
		page, err := ports.List(u.neutron, ports.ListOpts{DeviceID: server}).AllPages(t.Context())
		require.NoError(t, err)
		list, err := ports.ExtractPorts(page)
		require.NoError(t, err)
		return list[0].ID
	}
	p1, p2 := portOf(one), portOf(two)
	fip, err := floatingips.Create(t.Context(), u.neutron, floatingips.CreateOpts{
		FloatingNetworkID: c.PublicID(), PortID: p1,
	}).Extract()
	require.NoError(t, err)
	holds := func(server string) func() bool {
		return func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.machines[server].listeners[netip.MustParseAddr(fip.FloatingIP)] != nil
		}
	}
	eventually(t, "the first has it", holds(one))
	_, err = floatingips.Update(t.Context(), u.neutron, fip.ID, floatingips.UpdateOpts{PortID: &p2}).Extract()
	require.NoError(t, err)
	eventually(t, "the second has it", holds(two))
	require.False(t, holds(one)())
	require.NoError(t, servers.Delete(t.Context(), u.nova, two).ExtractErr())
	eventually(t, "it is free", func() bool { return !reachable(fip.FloatingIP) })
}

func TestBlocksDoNotMeet(t *testing.T) {
	t.Parallel()
	a, b := StartTest(t, Options{}), StartTest(t, Options{})
	require.NotEqual(t, a.Block().A(), b.Block().A())
	require.False(t, a.Block().Prefix().Overlaps(b.Block().Prefix()))
	require.True(t, a.Block().Prefix().Contains(a.Block().Addr(20, 9)))
}

// steps notes the delays that the cloud hands on.
type steps struct {
	Machines
	delays map[string]time.Duration
}

func (s *steps) Kill(string) error              { return nil }
func (s *steps) Unreachable(string, bool) error { return nil }
func (s *steps) Snapshot() map[string]any       { return nil }

func (s *steps) SetDelays(d map[string]time.Duration) {
	for k, v := range d {
		if s.delays[k] = v; v == 0 {
			delete(s.delays, k)
		}
	}
}

func TestStepTimesReachTheFleet(t *testing.T) {
	t.Parallel()
	f := &steps{Machines: newPlainFleet(), delays: map[string]time.Duration{}}
	c := StartTest(
		t, Options{Machines: f, Timing: Timing{Machines: map[string]Duration{"boot": Duration(time.Second)}}},
	)
	require.Equal(t, map[string]time.Duration{"boot": time.Second}, f.delays)
	status, _, _ := call(t, "PATCH", c.URL()+"/sim/timing", "", `{"machines":{"join":"2s"}}`)
	require.Equal(t, 200, status)
	require.Equal(t, map[string]time.Duration{"boot": time.Second, "join": 2 * time.Second}, f.delays)
	status, _, _ = call(t, "PUT", c.URL()+"/sim/timing", "", `{"machines":{"init":3}}`)
	require.Equal(t, 200, status)
	require.Equal(t, map[string]time.Duration{"init": 3 * time.Second}, f.delays)
	require.NoError(t, c.Reset())
	require.Equal(t, map[string]time.Duration{"boot": time.Second}, f.delays)
}
