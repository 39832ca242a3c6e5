package machine_test

import (
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/gybe-nfv/gybe/test/simcloud/machine"
)

// A storage server is set up once, and is what it was after a reboot.
func TestStorageScriptMakesAServerThatSurvivesAReboot(t *testing.T) {
	t.Parallel()
	at, f := subnet(t), newFleet(t, machine.Options{Speed: 100})
	require.NoError(t, f.Boot(t.Context(), machine.Spec{ID: "a", Name: "vm-a", FixedIPs: []netip.Addr{at(5)}, FloatingIPs: []netip.Addr{at(205)}, VCPUs: 2, MemoryMB: 4096}))
	f.AttachDisk("a", machine.Disk{VolumeID: "5b3ff765-7a9f-447a-a06d-444e963b74c9", Device: "vdb", SizeGB: 10})
	script, err := os.ReadFile("../../../pkg/k8scluster/nodescripts/storage.sh")
	require.NoError(t, err)
	c := dial(t, at(205), f.SSHPort())
	ok(t, c, "cat >/tmp/storage.sh <<'GYBE'\n"+string(script)+"GYBE\n")
	run := "export GYBE_PHASE=server GYBE_VOLUMES='5b3ff765-7a9f-447a-a06d-444e963b74c9 /dev/vdb /volume' GYBE_EXPORTS='/volume/nfs/pv1 10.10.0.0/24'; timeout 20 bash /tmp/storage.sh"
	done := time.AfterFunc(25*time.Second, func() { _ = c.Close() })
	out := ok(t, c, run)
	done.Stop()
	require.Contains(t, out, "makes a file system")
	require.NotContains(t, ok(t, c, run), "makes a file system", "what is there stays")
	require.Contains(t, ok(t, c, "sudo exportfs; cat /etc/fstab /etc/exports; findmnt -n -o SOURCE /volume"), "/volume/nfs/pv1")

	ok(t, c, "sudo touch /volume/nfs/pv1/kept; sudo chmod 666 /volume/nfs/pv1/kept")
	f.Reboot("a")
	require.Eventually(t, func() bool {
		c, err := ssh.Dial("tcp", netip.AddrPortFrom(at(205), f.SSHPort()).String(), config("ubuntu"))
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, 20*time.Second, 10*time.Millisecond)
	again := dial(t, at(205), f.SSHPort())
	require.Contains(t, ok(t, again, "findmnt -n -o SOURCE /volume; ls /volume/nfs/pv1"), "kept")
}
