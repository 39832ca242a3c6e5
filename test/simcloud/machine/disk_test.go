package machine_test

import (
	"net/netip"
	"strings"
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
	require.NoError(t, f.Boot(t.Context(), machine.Spec{
		ID: "a", Name: "vm-a", FixedIPs: []netip.Addr{at(5)},
		FloatingIPs: []netip.Addr{at(205)}, VCPUs: 2, MemoryMB: 4096,
	}))
	f.AttachDisk("a", machine.Disk{VolumeID: "5b3ff765-7a9f-447a-a06d-444e963b74c9", Device: "vdb", SizeGB: 10})
	c := dial(t, at(205), f.SSHPort())
	putScript(t, c, "storage.sh", "../../../pkg/k8scluster/nodescripts/storage.sh")
	run := "export GYBE_PHASE=server GYBE_VOLUMES='5b3ff765-7a9f-447a-a06d-444e963b74c9 /dev/vdb /volume' " +
		"GYBE_EXPORTS='/volume/nfs/pv1 10.10.0.0/24'; timeout 6000 bash /tmp/storage.sh"
	done := time.AfterFunc(2*time.Minute, func() { _ = c.Close() })
	out := ok(t, c, run)
	done.Stop()
	require.Contains(t, out, "makes a file system")
	require.NotContains(t, ok(t, c, run), "makes a file system", "what is there stays")
	require.Contains(
		t, ok(t, c, "sudo exportfs; cat /etc/fstab /etc/exports; findmnt -n -o SOURCE /volume"), "/volume/nfs/pv1",
	)

	ok(t, c, "sudo touch /volume/nfs/pv1/kept; sudo chmod 666 /volume/nfs/pv1/kept")
	f.Reboot("a")
	require.Eventually(t, func() bool {
		c, err := ssh.Dial("tcp", netip.AddrPortFrom(at(205), f.SSHPort()).String(), config("ubuntu"))
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	again := dial(t, at(205), f.SSHPort())
	require.Contains(t, ok(t, again, "findmnt -n -o SOURCE /volume; ls /volume/nfs/pv1"), "kept")
}

// A server that is rebuilt from an image of itself is the same to cloud-init: it has the host keys of the disk, and its
// user data does not run again. The services that are enabled there start.
func TestRebuiltServerGoesOnWithItsDisk(t *testing.T) {
	t.Parallel()
	at, f := subnet(t), newFleet(t, machine.Options{Speed: 100})
	spec := machine.Spec{
		ID: "a", Name: "vm-a", FixedIPs: []netip.Addr{at(5)}, VCPUs: 2, MemoryMB: 4096,
		UserData: []byte("#cloud-config\nruncmd:\n- echo ran >> /srv/seen\n"),
	}
	require.NoError(t, f.Boot(t.Context(), spec))
	c := dial(t, at(5), f.SSHPort())
	keys := f.Machine("a").HostKeys()
	ok(t, c, "cloud-init status --wait; printf '[Service]\\nExecStart=/bin/sleep 100000\\n' | "+
		"sudo tee /etc/systemd/system/app.service; sudo systemctl daemon-reload; sudo systemctl enable app")
	spec.Content = f.CopyDisk("a")
	ok(t, c, "sudo systemctl disable app; echo changed | sudo tee /srv/seen")
	f.Delete("a")
	require.NoError(t, f.Boot(t.Context(), spec))
	c = dial(t, at(5), f.SSHPort())
	require.Equal(t, keys, f.Machine("a").HostKeys())
	require.Equal(t, "ran\nactive\nvm-a\n", ok(t, c, "cat /srv/seen; systemctl is-active app; hostname"))

	spec.ID = "b"
	f.Delete("a")
	require.NoError(t, f.Boot(t.Context(), spec))
	c = dial(t, at(5), f.SSHPort())
	require.NotEqual(t, keys, f.Machine("b").HostKeys())
	require.Equal(t, "ran\nran\n", ok(t, c, "cloud-init status --wait >/dev/null; cat /srv/seen"))
}

// What is on a volume stays: also when the disk has another name than the VIM says, and when another machine takes it
// over. A disk with partitions is somebody's, even if no file system is seen on it.
func TestStorageScriptKeepsWhatIsOnVolumes(t *testing.T) {
	t.Parallel()
	const volume, foreign = "5b3ff765-7a9f-447a-a06d-444e963b74c9", "aa11f765-7a9f-447a-a06d-444e963b74c9"
	at, f := subnet(t), newFleet(t, machine.Options{Speed: 100})
	boot := func(id string, host byte) *ssh.Client {
		require.NoError(t, f.Boot(t.Context(), machine.Spec{
			ID: id, Name: id, FixedIPs: []netip.Addr{at(host)},
			FloatingIPs: []netip.Addr{at(host + 100)}, VCPUs: 2, MemoryMB: 4096,
		}))
		c := dial(t, at(host+100), f.SSHPort())
		putScript(t, c, "storage.sh", "../../../pkg/k8scluster/nodescripts/storage.sh")
		return c
	}
	run := func(volume string) string {
		return "export GYBE_PHASE=server GYBE_VOLUMES='" + volume +
			" /dev/vdb /volume' GYBE_EXPORTS='/volume/nfs/pv1 10.10.0.0/24'; timeout 6000 bash /tmp/storage.sh"
	}
	one := boot("one", 5)
	f.AttachDisk("one", machine.Disk{VolumeID: volume, Device: "vdc", SizeGB: 10})
	require.Contains(t, ok(t, one, run(volume)), "/dev/vdc) is mounted at /volume")
	uuid := ok(t, one, "sudo blkid -p -o value -s UUID /dev/vdc")
	f.Delete("one")

	two := boot("two", 6)
	f.AttachDisk("two", machine.Disk{VolumeID: volume, Device: "vdb", SizeGB: 10})
	require.NotContains(t, ok(t, two, run(volume)), "makes a file system")
	require.Equal(t, uuid, ok(t, two, "sudo blkid -p -o value -s UUID /dev/vdb"))
	require.Contains(
		t, ok(t, two, "cat /etc/fstab"), "UUID="+strings.TrimSpace(uuid)+" /volume auto defaults,nofail 0 2",
	)

	three := boot("three", 7)
	f.AttachDisk("three", machine.Disk{VolumeID: foreign, Device: "vdb", SizeGB: 10})
	ok(t, three, "sudo parted -s /dev/vdb mklabel gpt")
	out, status := sh(t, three, run(foreign))
	require.Equal(t, 1, status)
	require.Contains(
		t, out, "volume "+foreign+" (/dev/vdb) has a partition table: it is not blank and is not formatted",
	)
	require.Zero(t, f.Count("three", "mkfs.ext4"))

	four := boot("four", 8)
	f.AttachDisk("four", machine.Disk{VolumeID: foreign[1:], Device: "vdb", SizeGB: 10})
	out, status = sh(t, four, strings.Replace(run(volume), "timeout 6000 ", "", 1))
	require.Equal(t, 1, status)
	require.Contains(t, out, "volume "+volume+" is not attached")
	require.Zero(t, f.Count("four", "mkfs.ext4"), "the disk that is there is another volume")
}
