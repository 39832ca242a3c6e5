package remote_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/gybe-nfv/gybe/pkg/remote"
)

func TestDialLogsInWithPasswordOrKey(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	pub, priv, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	clientKey, err := ssh.NewPublicKey(pub)
	require.NoError(t, err)
	s.set(func(s *server) { s.clientKey = clientKey })
	block, err := ssh.MarshalPrivateKey(priv, "")
	require.NoError(t, err)

	byKey := s.target()
	byKey.Password, byKey.PrivateKey = "", pem.EncodeToMemory(block)
	both := s.target()
	both.PrivateKey = byKey.PrivateKey
	for name, target := range map[string]remote.Target{"password": s.target(), "key": byKey, "both": both} {
		c, err := remote.Dial(t.Context(), target, remote.Options{HostKeys: &keys{}})
		require.NoError(t, err, name)
		require.NoError(t, c.Run(t.Context(), "true", remote.RunOptions{}), name)
		require.NoError(t, c.Close())
	}
}

// The caller retries a machine that is still booting and gives up on a wrong password; it must be able to tell them
// apart.
func TestDialSaysWhatKindOfFailureItWas(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	deaf := newServer(t)
	deaf.set(func(s *server) { s.deaf = true })
	// The name is not asked for in a network that a test does not know.
	dialer := &net.Dialer{Resolver: &net.Resolver{
		PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("no name server")
		},
	}}

	tests := []struct {
		name      string
		change    func(*remote.Target)
		kind      remote.Kind
		temporary bool
	}{
		{"wrong password", func(t *remote.Target) { t.Password = "wrong" }, remote.KindAuth, false},
		{"no credentials", func(t *remote.Target) { t.Password = "" }, remote.KindAuth, false},
		{"broken key", func(t *remote.Target) { t.PrivateKey = []byte("not a key") }, remote.KindAuth, false},
		{"no server listens", func(t *remote.Target) { t.Port = 1 }, remote.KindRefused, true},
		{"no answer", func(t *remote.Target) { t.Port = deaf.addr.Port }, remote.KindTimeout, true},
		{"no such name", func(t *remote.Target) { t.Host = "no-such-host.invalid" }, remote.KindUnreachable, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			target := s.target()
			tt.change(&target)
			opts := remote.Options{HostKeys: &keys{}, ConnectTimeout: time.Minute, DialContext: dialer.DialContext}
			if tt.kind == remote.KindTimeout {
				opts.ConnectTimeout = 100 * time.Millisecond
			}
			_, err := remote.Dial(t.Context(), target, opts)
			var e *remote.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, tt.kind, e.Kind, err)
			require.Equal(t, tt.temporary, e.Temporary())
			require.NotContains(t, err.Error(), testPassword)
		})
	}
}

func TestDialEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.set(func(s *server) { s.deaf = true })
	why := errors.New("the tick is over")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, why)
	defer cancel()
	_, err := remote.Dial(ctx, s.target(), remote.Options{HostKeys: &keys{}})
	require.ErrorIs(t, err, why)
	require.Empty(t, remote.KindOf(err))
}

// A machine that takes over a node's address must not get the cluster's secrets.
func TestChangedHostKeyIsRefusedWithBothFingerprints(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		key  func(*testing.T) ssh.Signer
	}{
		{"another key of the same type", ed25519Key},
		{"a key of another type", rsaKey},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			store := &keys{}
			first := s.key.PublicKey()
			c, err := remote.Dial(t.Context(), s.target(), remote.Options{HostKeys: store})
			require.NoError(t, err)
			require.NoError(t, c.Close())

			other := tt.key(t)
			s.set(func(s *server) { s.key = other })
			_, err = remote.Dial(t.Context(), s.target(), remote.Options{HostKeys: store})
			var changed *remote.HostKeyError
			require.ErrorAs(t, err, &changed)
			require.Equal(t, remote.KindHostKey, remote.KindOf(err))
			require.Contains(t, changed.Pinned, ssh.FingerprintSHA256(first))
			require.Contains(t, changed.Seen, ssh.FingerprintSHA256(other.PublicKey()))
			require.Equal(t, "workerNode-1", changed.VNFC)
			require.Equal(t, 1, s.count(), "credentials were sent to the other machine")
		})
	}
}

// A pinned RSA key is used through its SHA-2 algorithms, and stays good.
func TestRSAHostKeyIsPinned(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	key := rsaKey(t)
	s.set(func(s *server) { s.key = key })
	store := &keys{}
	for range 2 {
		c, err := remote.Dial(t.Context(), s.target(), remote.Options{HostKeys: store})
		require.NoError(t, err)
		require.NoError(t, c.Close())
	}
}

// Two nodes that meet a machine at the same time must agree on its key.
func TestPinThatLostTheRaceIsCompared(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	other := ed25519Key(t).PublicKey()
	store := &racingKeys{
		keys{pin: map[remote.Machine]remote.HostKey{
			{VNFC: "workerNode-1"}: {Type: other.Type(), Key: other.Marshal()},
		}},
	}
	_, err := remote.Dial(t.Context(), s.target(), remote.Options{HostKeys: store})
	require.Equal(t, remote.KindHostKey, remote.KindOf(err), err)
}

// racingKeys has no key when it is asked, and another one when a key is to be pinned.
type racingKeys struct{ keys }

func (*racingKeys) Lookup(context.Context, remote.Machine) (*remote.HostKey, error) {
	return nil, nil //nolint:nilnil // the interface says so
}

// A machine that vanished must not hold an operation for the hours that TCP takes.
func TestKeepAliveNoticesASilentMachine(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	frozen := make(chan struct{})
	c, err := remote.Dial(t.Context(), s.target(), remote.Options{
		HostKeys: &keys{}, KeepAlive: 50 * time.Millisecond,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			return &freezing{Conn: conn, frozen: frozen}, err
		},
	})
	require.NoError(t, err)
	defer c.Close()
	time.AfterFunc(150*time.Millisecond, func() { close(frozen) })
	err = c.Run(t.Context(), "sleep 60", remote.RunOptions{})
	require.Equal(t, remote.KindClosed, remote.KindOf(err), err)
}

// freezing swallows everything once frozen is closed.
type freezing struct {
	net.Conn
	frozen chan struct{}
}

func (f *freezing) Write(p []byte) (int, error) {
	select {
	case <-f.frozen:
		return len(p), nil
	default:
		return f.Conn.Write(p)
	}
}

func TestDialContextReachesWhatOnlyTheMachineCanReach(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "inside") }),
	)
	defer web.Close()
	c := dial(t, newServer(t))
	client := &http.Client{Transport: &http.Transport{DialContext: c.DialContext}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL, nil)
	require.NoError(t, err)
	resp, err := client.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, "inside", string(body))
	client.CloseIdleConnections()
}
