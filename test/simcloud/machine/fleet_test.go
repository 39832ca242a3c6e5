package machine_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pkg/sftp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/crypto/ssh"

	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/machine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// subnet gives a test addresses of its own, in a block that no other test or cloud on this machine has.
func subnet(t *testing.T) func(host byte) netip.Addr {
	t.Helper()
	b, err := simcloud.ReserveBlock(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close() })
	return func(host byte) netip.Addr { return b.Addr(10, host) }
}

func newFleet(t *testing.T, o machine.Options) *machine.Fleet {
	t.Helper()
	f := machine.NewFleet(t.Context(), o)
	t.Cleanup(f.Close)
	return f
}

func config(password string) *ssh.ClientConfig {
	return &ssh.ClientConfig{
		User: "ubuntu", Auth: []ssh.AuthMethod{ssh.Password(password)},
		HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: time.Minute,
	}
}

func dial(t *testing.T, ip netip.Addr, port uint16) *ssh.Client {
	t.Helper()
	c, err := ssh.Dial("tcp", netip.AddrPortFrom(ip, port).String(), config("ubuntu"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// sh runs a command and returns its output and status.
func sh(t *testing.T, c *ssh.Client, cmd string) (string, int) {
	t.Helper()
	s, err := c.NewSession()
	require.NoError(t, err)
	defer func() { _ = s.Close() }()
	var out bytes.Buffer
	s.Stdout = &out
	err = s.Run("exec 2>&1\n" + cmd)
	var exit *ssh.ExitError
	if err != nil {
		require.ErrorAs(t, err, &exit, "output: %s", out.String())
		return out.String(), exit.ExitStatus()
	}
	return out.String(), 0
}

func ok(t *testing.T, c *ssh.Client, cmd string) string {
	t.Helper()
	out, st := sh(t, c, cmd)
	require.Zero(t, st, "%s\n%s", cmd, out)
	return out
}

func TestMachineLooksLikeUbuntu(t *testing.T) {
	t.Parallel()
	at, f := subnet(t), newFleet(t, machine.Options{Speed: 100})
	require.NoError(t, f.Boot(t.Context(), machine.Spec{
		ID: "a", Name: "vm-a", FixedIPs: []netip.Addr{at(5)},
		FloatingIPs: []netip.Addr{at(205)}, VCPUs: 2, MemoryMB: 4096,
	}))
	c := dial(t, at(205), f.SSHPort())
	for _, x := range []struct{ cmd, want string }{
		{"hostname; whoami; pwd; echo $HOME $USER", "vm-a\nubuntu\n/home/ubuntu\n/home/ubuntu ubuntu\n"},
		{". /etc/os-release; echo $ID $VERSION_ID; arch; uname -m", "ubuntu 22.04\nx86_64\nx86_64\n"},
		{`cat /etc/os-release | grep "PRETTY_NAME=" | grep -c "Ubuntu 22.04"; arch | grep -c x86_64`, "1\n1\n"},
		{"id", "uid=1000(ubuntu) gid=1000(ubuntu) groups=1000(ubuntu),4(adm),27(sudo)\n"},
		{
			"sudo id -u; sudo -u daemon whoami; sudo -E env X=1 printenv X; X=7 sudo -E printenv X; X=7 sudo " +
				"printenv X; echo $?",
			"0\ndaemon\n1\n7\n1\n",
		},
		{
			"cat /root/x; echo hi >/etc/nope; ls /root; echo $?",
			"cat: /root/x: Permission denied\nbash: /etc/nope: Permission denied\n" +
				"ls: cannot open directory '/root': Permission denied\n2\n",
		},
		{"ip -4 -o addr show | awk '{print $2,$4}'", "lo 127.0.0.1/8\nens3 " + at(5).String() + "/24\n"},
		{
			"cp /etc/hosts /tmp/h; echo '1.2.3.4 foo' >>/tmp/h; sudo mv /tmp/h /etc/hosts; getent hosts foo | awk " +
				"'{print $1}'; stat -c %U /etc/hosts",
			"1.2.3.4\nubuntu\n",
		},
		{
			"sysctl -n net.ipv4.ip_forward; sudo sysctl -w net.ipv4.ip_forward=1; cat /proc/sys/net/ipv4/ip_forward; " +
				"echo 0 | sudo tee /proc/sys/net/ipv4/ip_forward; sysctl net.ipv4.ip_forward",
			"0\nnet.ipv4.ip_forward = 1\n1\n0\nnet.ipv4.ip_forward = 0\n",
		},
		{
			"sysctl net.bridge.bridge-nf-call-iptables; sudo modprobe br_netfilter; sysctl -n " +
				"net.bridge.bridge-nf-call-iptables; sudo modprobe nosuch; echo $?",
			"sysctl: cannot stat /proc/sys/net/bridge/bridge-nf-call-iptables: No such file or directory\n1\n" +
				"modprobe: FATAL: Module nosuch not found in directory /lib/modules/5.15.0-107-generic\n1\n",
		},
		{"sudo hostnamectl set-hostname master5; hostname; cat /etc/hostname", "master5\nmaster5\n"},
		{"nosuch; echo $?; command -v kubeadm || echo none", "bash: line 2: nosuch: command not found\n127\nnone\n"},
		{
			"systemctl is-active ssh; systemctl is-enabled ssh; systemctl is-active nosuch; echo $?; systemctl " +
				"restart ssh; echo $?",
			"active\nenabled\ninactive\n3\nFailed to restart ssh.service: Interactive authentication required.\n1\n",
		},
		{
			"curl -fsSL https://nosuch.example/; echo $?; curl -sk https://" + at(9).String() + ":6443/; echo $?",
			"curl: (6) Could not resolve host: nosuch.example\n6\n7\n",
		},
		{"grep -c ^processor /proc/cpuinfo; awk '/MemTotal/{print $2}' /proc/meminfo", "2\n4194304\n"},
		{"cloud-init status --wait | tail -1; sudo -n true && echo sudo", "status: done\nsudo\n"},
		{
			"printf '#!/bin/sh\\necho $0 $1\\n' >x.sh; chmod +x x.sh; ./x.sh a; sh -c '[[ a = a ]]'; echo $?",
			"./x.sh a\nsh: 1: [[: not found\n127\n",
		},
	} {
		out, _ := sh(t, c, x.cmd)
		require.Equal(t, x.want, out, x.cmd)
	}
}

func TestPackages(t *testing.T) {
	t.Parallel()
	at, f := subnet(t), newFleet(t, machine.Options{Speed: 1000})
	require.NoError(t, f.Boot(t.Context(), machine.Spec{ID: "a", Name: "a", FixedIPs: []netip.Addr{at(5)}}))
	c := dial(t, at(5), f.SSHPort())
	out, st := sh(t, c, "apt-get update")
	require.Equal(t, 100, st)
	require.Contains(t, out, "are you root?")
	out, st = sh(t, c, "sudo apt-get install -y socat")
	require.Equal(t, 100, st, out)
	require.Contains(t, out, "E: Unable to locate package socat")
	ok(t, c, "sudo apt-get update -q && sudo apt-get install -q -y socat conntrack && command -v socat")
	require.Equal(t, "install ok installed", ok(t, c, "dpkg-query -W -f='${Status}' socat"))

	require.Equal(t, 100, func() int { _, st := sh(t, c, "sudo apt-get install -y kubeadm"); return st }())
	ok(t, c,
		"sudo mkdir -p /etc/apt/keyrings; echo 'deb [signed-by=/etc/apt/keyrings/k.gpg] "+
			"https://pkgs.k8s.io/core:/stable:/v1.34/deb/ /' | sudo tee /etc/apt/sources.list.d/k.list")
	out, st = sh(t, c, "sudo apt-get update")
	require.Equal(t, 100, st)
	require.Contains(t, out, "is not signed")
	ok(t, c,
		"curl -fsSL https://pkgs.k8s.io/core:/stable:/v1.34/deb/Release.key | sudo gpg --dearmor -o "+
			"/etc/apt/keyrings/k.gpg && sudo apt-get update")
	require.Equal(t, "1.34.3-1.1\n", ok(t, c, "apt-cache madison kubeadm | head -1 | awk '{print $3}'"))
	ok(t, c, "sudo apt-get install -y kubelet=1.34.2-1.1 kubectl=1.34.2-1.1 && sudo apt-mark hold kubelet")
	out, st = sh(t, c, "sudo apt-get install -y kubelet=1.34.3-1.1")
	require.Equal(t, 100, st)
	require.Contains(t, out, "Held packages were changed")
	require.Equal(t, "1.34.2-1.1", ok(t, c, "dpkg-query -W -f='${Version}' kubelet"))
	out, _ = sh(t, c, "sudo apt-get install -y kubelet=9.9")
	require.Contains(t, out, "E: Version '9.9' for 'kubelet' was not found")
}

func TestFilesOverSFTP(t *testing.T) {
	t.Parallel()
	at, f := subnet(t), newFleet(t, machine.Options{})
	require.NoError(t, f.Boot(t.Context(), machine.Spec{ID: "a", Name: "a", FixedIPs: []netip.Addr{at(5)}}))
	c := dial(t, at(5), f.SSHPort())
	s, err := sftp.NewClient(c)
	require.NoError(t, err)
	defer func() { _ = s.Close() }()
	wd, err := s.Getwd()
	require.NoError(t, err)
	require.Equal(t, "/home/ubuntu", wd)
	big := bytes.Repeat([]byte("0123456789abcdef"), 40000)
	w, err := s.Create("/tmp/big")
	require.NoError(t, err)
	_, err = io.Copy(w, bytes.NewReader(big))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, s.Chmod("/tmp/big", 0o600))
	require.Equal(t, "640000 600 ubuntu\n", ok(t, c, "stat -c '%s %a %U' /tmp/big"))
	r, err := s.Open("/tmp/big")
	require.NoError(t, err)
	back, err := io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.Equal(t, big, back)
	require.NoError(t, s.PosixRename("/tmp/big", "/tmp/big2"))
	require.NoError(t, s.MkdirAll("/tmp/d/e"))
	l, err := s.ReadDir("/tmp")
	require.NoError(t, err)
	require.Len(t, l, 2)
	_, err = s.Stat("/tmp/nope")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = s.Create("/etc/x")
	require.ErrorIs(t, err, os.ErrPermission)
	_, err = s.OpenFile("/tmp/big2", os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	require.Error(t, err)
	require.NoError(t, s.Remove("/tmp/big2"))
}

func TestKeyLoginAndUserData(t *testing.T) {
	t.Parallel()
	at, f := subnet(t), newFleet(t, machine.Options{Speed: 100})
	key, pub := newKey(t)
	require.NoError(t, f.Boot(t.Context(), machine.Spec{
		ID: "a", Name: "a", FixedIPs: []netip.Addr{at(5)}, PublicKey: pub,
		UserData: []byte(
			"#cloud-config\npassword: other\nwrite_files:\n- {path: /etc/x, content: hi, permissions: '0640'}\n" +
				"runcmd:\n- echo done >/tmp/ran\n",
		),
	}))
	conf := config("")
	conf.Auth = []ssh.AuthMethod{ssh.PublicKeys(key)}
	c, err := ssh.Dial("tcp", netip.AddrPortFrom(at(5), f.SSHPort()).String(), conf)
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	ok(t, c, "cloud-init status --wait")
	require.Equal(t, "done\nhi640\n", ok(t, c, "cat /tmp/ran; sudo cat /etc/x; stat -c %a /etc/x"))
	_, err = ssh.Dial("tcp", netip.AddrPortFrom(at(5), f.SSHPort()).String(), config("ubuntu"))
	require.ErrorContains(t, err, "unable to authenticate")
	c2, err := ssh.Dial("tcp", netip.AddrPortFrom(at(5), f.SSHPort()).String(), config("other"))
	require.NoError(t, err)
	_ = c2.Close()
}

// TestDetachedJobOutlivesConnection: what a management driver relies on when it dies.
func TestDetachedJobOutlivesConnection(t *testing.T) {
	t.Parallel()
	at, f := subnet(t), newFleet(t, machine.Options{Speed: 10})
	require.NoError(t, f.Boot(t.Context(), machine.Spec{ID: "a", Name: "a", FixedIPs: []netip.Addr{at(5)}}))
	raw, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", netip.AddrPortFrom(at(5), f.SSHPort()).String())
	require.NoError(t, err)
	conn, chans, reqs, err := ssh.NewClientConn(raw, "x", config("ubuntu"))
	require.NoError(t, err)
	c := ssh.NewClient(conn, chans, reqs)
	ok(t, c, `mkdir /tmp/j; cd /tmp/j; setsid --fork bash -c 'for i in 1 2 3; do echo line $i; sleep 5; done; echo $? >rc.tmp; mv rc.tmp rc' >log 2>&1 </dev/null`)
	s, err := c.NewSession()
	require.NoError(t, err)
	require.NoError(t, s.Start("sleep 100; echo never >/tmp/j/never"))
	require.NoError(t, raw.(*net.TCPConn).SetLinger(0))
	_ = raw.Close() // as if our process had been killed

	c2 := dial(t, at(5), f.SSHPort())
	_, st := sh(t, c2, "test -f /tmp/j/rc")
	require.Equal(t, 1, st, "the job should not have ended yet")
	require.Eventually(
		t, func() bool { _, st := sh(t, c2, "test -f /tmp/j/rc"); return st == 0 }, time.Minute, 20*time.Millisecond,
	)
	require.Equal(t, "line 1\nline 2\nline 3\n0\n", ok(t, c2, "cat /tmp/j/log /tmp/j/rc"))
	require.Equal(t, "ne 2\nline 3\n", ok(t, c2, "tail -c +10 /tmp/j/log"))
}

func TestFaults(t *testing.T) {
	t.Parallel()
	at, f := subnet(t), newFleet(t, machine.Options{Speed: 100})
	require.NoError(t, f.Boot(t.Context(), machine.Spec{ID: "a", Name: "a", FixedIPs: []netip.Addr{at(5)}}))
	addr := netip.AddrPortFrom(at(5), f.SSHPort()).String()
	c := dial(t, at(5), f.SSHPort())

	f.Fail("a", machine.Failure{Command: "apt-get update", Exit: 100, Stderr: "E: mirror is down", Times: 2})
	for range 2 {
		out, st := sh(t, c, "sudo apt-get update")
		require.Equal(t, 100, st)
		require.Equal(t, "E: mirror is down\n", out)
	}
	ok(t, c, "sudo apt-get update; sudo apt-get update")
	require.Equal(t, 2, f.Count("a", "apt-get update"))

	f.SetDelays(map[string]time.Duration{"uname": 20 * time.Second})
	start := time.Now()
	ok(t, c, "uname")
	require.GreaterOrEqual(t, time.Since(start), 200*time.Millisecond)

	f.DisturbSSH("a", machine.SSHFault{Refuse: true})
	_, err := ssh.Dial("tcp", addr, config("ubuntu"))
	require.ErrorContains(t, err, "connection refused")
	ok(t, c, "true") // an open connection goes on
	f.DisturbSSH("a", machine.SSHFault{RejectLogins: 1})
	_, err = ssh.Dial("tcp", addr, config("ubuntu"))
	require.ErrorContains(t, err, "unable to authenticate")
	dial(t, at(5), f.SSHPort())
	before := f.Machine("a").HostKeys()
	f.ChangeHostKeys("a")
	require.NotEqual(t, before[0].Marshal(), f.Machine("a").HostKeys()[0].Marshal())
	require.Contains(t, f.Console("a", 0), ssh.FingerprintSHA256(f.Machine("a").HostKeys()[1]))

	require.NoError(t, f.Unreachable("a", true))
	got := make(chan string, 1)
	go func() {
		s, err := c.NewSession()
		if err != nil {
			got <- err.Error()
			return
		}
		out, _ := s.Output("echo back")
		got <- string(out)
	}()
	select {
	case out := <-got:
		t.Fatalf("a machine that is cut off answered %q", out)
	case <-time.After(50 * time.Millisecond):
	}
	require.NoError(t, f.Unreachable("a", false))
	require.Equal(t, "back\n", <-got)

	ok(t, c, "echo keep >keep; echo gone >/tmp/gone; sudo systemctl disable cron")
	done := make(chan error, 1)
	s, err := c.NewSession()
	require.NoError(t, err)
	require.NoError(t, s.Start("sleep 1000"))
	go func() { done <- s.Wait() }()
	require.NoError(t, f.Kill("a"))
	require.Error(t, <-done)
	_, err = ssh.Dial("tcp", addr, config("ubuntu"))
	require.ErrorContains(t, err, "connection refused")
	f.PowerOn("a")
	c = dial(t, at(5), f.SSHPort())
	require.Equal(t, "keep\ngone\ninactive\nactive\n", ok(
		t, c, "cat keep; test -e /tmp/gone || echo gone; systemctl is-active cron; systemctl is-active rsyslog",
	))

	_, err = c.NewSession()
	require.NoError(t, err)
	_, _ = sh2(c, "sudo reboot; sleep 100")
	require.Eventually(t, func() bool {
		c, err := ssh.Dial("tcp", addr, config("ubuntu"))
		if err != nil {
			return false
		}
		defer func() { _ = c.Close() }()
		out, _ := sh2(c, "cat keep")
		return out == "keep\n"
	}, time.Minute, 10*time.Millisecond)
	var power []string
	for _, e := range f.Journal("a") {
		if e.Kind == "power" {
			power = append(power, e.Line)
		}
	}
	require.Equal(t, "on off on off on", strings.Join(power, " "))
}

func sh2(c *ssh.Client, cmd string) (string, error) {
	s, err := c.NewSession()
	if err != nil {
		return "", err
	}
	defer func() { _ = s.Close() }()
	out, err := s.Output(cmd)
	return string(out), err
}

func TestBootTakesTimeAndAddressesMove(t *testing.T) {
	t.Parallel()
	at, f := subnet(t), newFleet(
		t, machine.Options{Speed: 10, Delays: map[string]time.Duration{"boot": 20 * time.Second}},
	)
	require.NoError(t, f.Boot(t.Context(), machine.Spec{ID: "a", Name: "a", FixedIPs: []netip.Addr{at(5)}}))
	addr := netip.AddrPortFrom(at(5), f.SSHPort()).String()
	_, err := ssh.Dial("tcp", addr, config("ubuntu"))
	require.ErrorContains(t, err, "connection refused")
	require.Eventually(t, func() bool {
		c, err := ssh.Dial("tcp", addr, config("ubuntu"))
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, f.AddAddress("a", machine.Address{IP: at(77), Kind: machine.Floating, Target: at(5)}))
	c := dial(t, at(77), f.SSHPort())
	require.NotContains(t, ok(t, c, "ip -4 -o addr show"), at(77).String(), "a floating address is not the guest's")
	f.RemoveAddress("a", machine.Address{IP: at(77), Kind: machine.Floating})
	_, err = c.NewSession()
	require.Error(t, err)
	f.Delete("a")
	_, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	require.ErrorContains(t, err, "refused")
	require.NoError(t, f.Boot(t.Context(), machine.Spec{ID: "a", Name: "a", FixedIPs: []netip.Addr{at(5)}}),
		"the address is free again")
}

// TestFiveHundredMachinesAreCheap: a load test may boot that many.
func TestFiveHundredMachinesAreCheap(t *testing.T) {
	t.Parallel()
	at, f := subnet(t), newFleet(t, machine.Options{})
	base := at(0).As4()
	start := time.Now()
	for i := range 500 {
		ip := netip.AddrFrom4([4]byte{127, base[1], 30 + byte(i/250), byte(i % 250)})
		require.NoError(t, f.Boot(
			t.Context(), machine.Spec{ID: fmt.Sprint(i), Name: fmt.Sprint("vm", i), FixedIPs: []netip.Addr{ip}},
		))
	}
	t.Logf("500 machines booted in %s", time.Since(start))
	require.Less(t, time.Since(start), time.Minute)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			c, err := ssh.Dial("tcp", netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, base[1], 30, byte(i)}),
				f.SSHPort()).String(), config("ubuntu"))
			if err == nil {
				out, rerr := sh2(c, "hostname")
				if rerr != nil || out != fmt.Sprintf("vm%d\n", i) {
					t.Errorf("machine %d says %q, %v", i, out, rerr)
				}
				_ = c.Close()
			} else {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
