package machines

import (
	"net/netip"
	"path"

	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/machine"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// KubesprayRoot is the directory of Kubespray on an Ansible host.
const KubesprayRoot = "/home/ubuntu/kubespray-2.16.0"

// BootAnsible boots the machine ansible with Kubespray, which belongs to no VNF, and returns its address. The fleet
// needs Options.Playbook.
func BootAnsible(tb simcloud.TB, fleet *machine.Fleet) netip.Addr {
	tb.Helper()
	return BootAnsibleHost(tb, fleet, "ansible")
}

// BootAnsibleHost is BootAnsible for a machine with another id.
func BootAnsibleHost(tb simcloud.TB, fleet *machine.Fleet, id string) netip.Addr {
	tb.Helper()
	block, err := simcloud.ReserveBlock(tb.Context())
	if err != nil {
		tb.Fatalf("reserve addresses for the Ansible host: %v", err)
	}
	tb.Cleanup(func() { _ = block.Close() })
	addr := block.Addr(20, 50)
	if err := fleet.Boot(tb.Context(), machine.Spec{
		ID: id, Name: id, Hostname: id, VCPUs: 2, MemoryMB: 4096, FixedIPs: []netip.Addr{addr},
	}); err != nil {
		tb.Fatalf("boot the Ansible host: %v", err)
	}
	files := fleet.Machine(id).FS()
	write := func(name string, content []byte) {
		if err := files.MkdirAll(path.Dir(name), 0o777); err != nil {
			tb.Fatalf("make the folder of %s: %v", name, err)
		}
		if err := files.WriteFile(name, content, 0o755); err != nil {
			tb.Fatalf("write %s: %v", name, err)
		}
	}
	for _, name := range []string{
		"inventory/sample/group_vars/all/all.yml", "inventory/sample/group_vars/k8s_cluster/k8s-cluster.yml",
		"cluster.yml", "facts.yml", "scale.yml", "remove-node.yml",
	} {
		write(KubesprayRoot+"/"+name, []byte("---\n"))
	}
	write("/usr/bin/ansible-playbook", process.Executable("ansible-playbook"))
	for dir := KubesprayRoot + "/inventory"; dir != "/home/ubuntu"; dir = path.Dir(dir) {
		if err := files.Chmod(dir, 0o777); err != nil {
			tb.Fatalf("open %s to the user: %v", dir, err)
		}
	}
	return addr
}
