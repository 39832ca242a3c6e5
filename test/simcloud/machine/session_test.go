package machine_test

import (
	"bytes"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/gybe-nfv/gybe/test/simcloud/machine"
)

// TestSessions: the kinds of SSH session that people and drivers open.
func TestSessions(t *testing.T) {
	t.Parallel()
	at, f := subnet(t), newFleet(t, machine.Options{Speed: 100})
	require.NoError(t, f.Boot(t.Context(), machine.Spec{ID: "a", Name: "vm-a", FixedIPs: []netip.Addr{at(5)}}))
	c := dial(t, at(5), f.SSHPort())
	open := func() *ssh.Session {
		s, err := c.NewSession()
		require.NoError(t, err)
		t.Cleanup(func() { _ = s.Close() })
		return s
	}

	s := open()
	s.Stdin = bytes.NewReader(bytes.Repeat([]byte("0123456789\n"), 50000))
	out, err := s.Output("sha256sum | cut -c1-8; wc -l </dev/null")
	require.NoError(t, err)
	require.Equal(t, "ced6ed9d\n0\n", string(out))

	s = open()
	var stdout, stderr bytes.Buffer
	s.Stdout, s.Stderr = &stdout, &stderr
	require.NoError(t, s.Run("seq 100000; echo oops >&2"))
	require.Equal(t, 588895, stdout.Len())
	require.Equal(t, "oops\n", stderr.String())

	s = open()
	s.Stdin = strings.NewReader("cd /tmp\nx=5\necho $x $PWD\nfalse\nexit 7\n")
	stdout.Reset()
	s.Stdout = &stdout
	require.NoError(t, s.Shell())
	var exit *ssh.ExitError
	require.ErrorAs(t, s.Wait(), &exit)
	require.Equal(t, 7, exit.ExitStatus())
	require.Equal(t, "5 /tmp\n", stdout.String())

	s = open()
	require.NoError(t, s.RequestPty("xterm", 24, 80, ssh.TerminalModes{}))
	require.NoError(t, s.Setenv("LC_ALL", "C"))
	out, err = s.Output("echo $TERM $LC_ALL; [ -t 0 ] && tty")
	require.NoError(t, err)
	require.Equal(t, "xterm C\n/dev/pts/0\n", string(out))

	s = open()
	require.NoError(t, s.Start("trap 'echo caught >/tmp/caught' EXIT; touch /tmp/up; while :; do sleep 0.1; done"))
	require.Eventually(
		t, func() bool { _, err := sh2(c, "test -e /tmp/up"); return err == nil }, time.Minute, 10*time.Millisecond,
	)
	require.NoError(t, s.Signal(ssh.SIGTERM))
	require.ErrorAs(t, s.Wait(), &exit)
	require.Equal(t, 143, exit.ExitStatus())
	require.Equal(t, "caught\n", ok(t, c, "cat /tmp/caught"))

	s = open()
	require.NoError(t, s.Start("kill -9 $$"))
	require.ErrorAs(t, s.Wait(), &exit)
	require.Equal(t, 137, exit.ExitStatus())

	// A child that keeps the output open keeps the session open, as with OpenSSH.
	start := time.Now()
	ok(t, c, "sleep 20 & echo started")
	require.GreaterOrEqual(t, time.Since(start), 200*time.Millisecond)

	// ssh -L to a service inside.
	fwd, err := c.Dial("tcp", "127.0.0.1:2222")
	require.NoError(t, err)
	b := make([]byte, 7)
	_, err = io.ReadFull(fwd, b)
	require.NoError(t, err)
	require.Equal(t, "SSH-2.0", string(b))
	require.NoError(t, fwd.Close())
	_, err = c.Dial("tcp", "127.0.0.1:1")
	require.ErrorContains(t, err, "refused")
	_, _, err = c.SendRequest("keepalive@openssh.com", true, nil)
	require.NoError(t, err)
}
