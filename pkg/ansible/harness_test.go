package ansible_test

import (
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/ansible"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/mgmttest"
	"github.com/gybe-nfv/gybe/pkg/remote"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/test/simcloud"
	simmachine "github.com/gybe-nfv/gybe/test/simcloud/machine"
)

const (
	instanceID = "14c5406b-f627-4391-b91b-440f242623ac"
	password   = "s3cret-password" // of all machines
)

// world is an instance with simulated machines, and its last operation.
type world struct {
	*mgmttest.Task

	t     *testing.T
	fleet *simmachine.Fleet
	keys  *mgmttest.HostKeys
	inst  *lcm.Instance
	o     ansible.Options
	vnf   mgmttest.VNF
}

// newWorld boots VDU1-0, VDU1-1 and VDU2-0.
func newWorld(t *testing.T) *world {
	t.Helper()
	block, err := simcloud.ReserveBlock(t.Context())
	require.NoError(t, err)
	f := simmachine.NewFleet(t.Context(), simmachine.Options{Speed: 20})
	t.Cleanup(func() {
		f.Close()
		_ = block.Close()
	})
	w := &world{t: t, fleet: f, keys: &mgmttest.HostKeys{}}
	w.vnf = mgmttest.VNF{Name: ansible.Name, VNFD: model(), Driver: func() lcm.MgmtDriver { return w.driver() }}
	w.inst = &lcm.Instance{
		ID: instanceID, VnfdID: "vnfd", VnfPkgID: "pkg", Instantiated: &sol.InstantiatedVnfInfo{FlavourID: "default"},
		VimConnections: map[string]sol.VimConnectionInfo{
			"vim1": {VimID: "d82ee798-a1d2-4854-8f74-4892ad706751", VimType: "ETSINFV.OPENSTACK_KEYSTONE.V_3"},
		},
	}
	for n, vdu := range []string{"VDU1", "VDU1", "VDU2"} {
		id := fmt.Sprintf("%s-%d", vdu, n%2)
		at := block.Addr(10, byte(11+n))
		require.NoError(t, f.Boot(t.Context(), simmachine.Spec{
			ID: id, Name: vdu, Hostname: strings.ToLower(id), VCPUs: 1, MemoryMB: 512, AdminPassword: password,
			FixedIPs: []netip.Addr{at},
		}))
		w.inst.Inventory = append(w.inst.Inventory,
			lcm.Resource{Name: vdu, Kind: lcm.KindCompute, Type: "OS::Nova::Server", VNFC: id, VDU: vdu, Index: n % 2},
			lcm.Resource{
				Name: vdu + "_CP1", VNFC: id, VDU: vdu, Index: n % 2, Addresses: []lcm.Address{{IP: at.String()}},
			})
		w.inst.Instantiated.VnfcInfo = append(w.inst.Instantiated.VnfcInfo, sol.VnfcInfo{
			ID: id, VduID: vdu, VnfcResourceInfoID: id,
		})
		w.inst.Instantiated.VnfcResourceInfo = append(w.inst.Instantiated.VnfcResourceInfo, sol.VnfcResourceInfo{
			ID: id, VduID: vdu,
		})
	}
	pool := remote.NewPool(remote.Options{HostKeys: w.keys}, 0)
	t.Cleanup(pool.Close)
	w.o = ansible.Options{Connect: ansible.Pooled(pool), HostKeys: w.keys, SSHPort: int(f.SSHPort())}
	return w
}

// address is that of a VNFC.
func (w *world) address(vnfc string) string {
	for _, r := range w.inst.Inventory {
		if r.VNFC == vnfc && len(r.Addresses) > 0 {
			return r.Addresses[0].IP
		}
	}
	return ""
}

// begin admits an operation of a package with a configuration and other files; change completes it, and may be nil.
func (w *world) begin(
	typ sol.LcmOperationType, config string, files fstest.MapFS, params string, change func(*lcm.Operation),
) {
	w.t.Helper()
	w.vnf.Package = pack(config, files)
	w.Task = w.vnf.Begin(w.t, typ, []byte(params), w.inst, change)
}

// pack is a package with a configuration and other files.
func pack(config string, files fstest.MapFS) fstest.MapFS {
	all := fstest.MapFS{"ScriptANSIBLE/config.yaml": {Data: []byte(config)}}
	maps.Copy(all, files)
	return all
}

// order lists the steps of playbooks and commands in the order in which they began.
func (w *world) order() []string {
	var out []string
	for _, r := range w.Steps() {
		if r.Name != "wait for SSH" && !strings.HasPrefix(r.Name, "PLAY RECAP") {
			out = append(out, r.Name+" "+r.Target)
		}
	}
	return out
}

// on returns the output of a command on a VNFC.
func (w *world) on(vnfc, command string) string {
	w.t.Helper()
	c, release, err := w.o.Connect(w.t.Context(), remote.Target{
		Instance: instanceID, VNFC: vnfc, Host: w.address(vnfc), Port: w.o.SSHPort, User: "ubuntu", Password: password,
	})
	require.NoError(w.t, err)
	defer release()
	out, err := c.Output(w.t.Context(), command, nil, 1<<20)
	require.NoError(w.t, err)
	return string(out)
}

// model is a VNFD that names the driver for all its hooks.
func model() *vnfd.VNFD {
	impl := vnfd.Implementation{Name: ansible.Name}
	return &vnfd.VNFD{ID: "vnfd", Flavours: []vnfd.Flavour{{
		ID: "default", VDUs: []vnfd.VDU{{Name: "VDU1"}, {Name: "VDU2"}},
		LCM: map[string]vnfd.Implementation{
			"instantiate_end": impl, "terminate_start": impl, "heal_end": impl, "scale_start": impl, "scale_end": impl,
		},
	}}}
}

func (w *world) driver() *ansible.Driver { return ansible.New(w.o) }
