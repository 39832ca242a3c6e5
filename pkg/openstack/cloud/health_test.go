package cloud

import (
	"encoding/json"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/stubcloud"
)

// unanswered is a connection to a server that accepts connections and is silent.
func unanswered(t *testing.T) (v sol.VimConnectionInfo, connections *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	connections = &atomic.Int64{}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			t.Cleanup(func() { _ = c.Close() })
		}
	}()
	return stubcloud.VimAt("http://" + l.Addr().String() + "/identity"), connections
}

func TestTicksDoNotWaitForTheLoginOfAnother(t *testing.T) {
	t.Parallel()
	v, connections := unanswered(t)
	p := testPool(t, Config{Timeout: time.Hour})
	_, err := p.Enter(t.Context(), "v", v)
	require.True(t, lcm.IsBlocked(err), "%v", err)
	for range 300 {
		began := time.Now()
		_, err := p.Enter(t.Context(), "v", v)
		require.True(t, lcm.IsBlocked(err), "%v", err)
		_, why, _ := lcm.Waiting(t.Context(), err)
		require.Contains(t, why, "waits for the login to VIM "+v.InterfaceInfo["endpoint"].(string)+
			" that began at ")
		require.Less(t, time.Since(began), ownLogin/2)
	}
	require.EqualValues(t, 1, connections.Load())
}

func TestManyWaitingOperationsDoNotPollOften(t *testing.T) {
	t.Parallel()
	v, _ := unanswered(t)
	p := testPool(t, Config{Timeout: 50 * time.Millisecond, AwayFirst: time.Hour})
	_, err := p.Connect(t.Context(), "v", v)
	require.Equal(t, lcm.Transient, asError(t, err).Class)
	var last time.Duration
	for range 10_000 {
		_, err := p.Enter(t.Context(), "v", v)
		e := asError(t, err)
		require.ErrorIs(t, err, lcm.ErrVimUnavailable)
		last = e.Backoff
	}
	require.Greater(t, last, time.Hour+10_000*time.Second/perSecond-time.Minute)
}

func TestVimThatDoesNotAnswerIsLeftAloneAndTriedAgain(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	withStacks(s)
	var down atomic.Bool
	down.Store(true)
	s.Login = func(w http.ResponseWriter, _ *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("X-Subject-Token", s.Token)
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(s.Body())
	}
	answers := make(chan string, 1)
	p := testPool(t, Config{
		AwayFirst: 200 * time.Millisecond, AwayLongest: 400 * time.Millisecond,
		Answers: func(key string) { answers <- key },
	})
	_, err := p.Enter(t.Context(), "v", s.Vim())
	e := asError(t, err)
	require.Equal(t, "VIM is failing", e.Title)
	require.Positive(t, e.Backoff)
	require.Positive(t, e.RetryAfter)
	for range 10 {
		_, err := p.Connect(t.Context(), "v", s.Vim())
		require.ErrorIs(t, err, lcm.ErrVimUnavailable)
		e := asError(t, err)
		require.Equal(t, http.StatusServiceUnavailable, e.Status())
		require.Contains(t, e.Detail, "VIM "+s.URL+"/identity does not answer since ")
		require.Contains(t, e.Detail, "503 Service Unavailable; next try in 1s")
		stubcloud.SecretFree(t, e.Error())
	}
	require.EqualValues(t, 1, s.Logins.Load(), "it is left alone")
	state := p.Health()
	require.Len(t, state, 1)
	require.False(t, state[0].Available())
	require.Equal(t, lcm.VimKey(s.Vim()), state[0].Key)

	down.Store(false)
	require.Eventually(t, func() bool {
		_, err := p.Connect(t.Context(), "v", s.Vim())
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	require.EqualValues(t, 2, s.Logins.Load())
	require.True(t, p.Health()[0].Available())
	require.Equal(t, lcm.VimKey(s.Vim()), <-answers, "those that wait are called")
}

// TestServiceThatIsSilentMakesTheVimUnavailable also proves that the try asks this service: Keystone always answers.
func TestServiceThatIsSilentMakesTheVimUnavailable(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	var silent atomic.Bool
	silent.Store(true)
	release := make(chan struct{})
	s.Routes.HandleFunc("/heat/", func(w http.ResponseWriter, r *http.Request) {
		if silent.Load() {
			select {
			case <-release:
			case <-r.Context().Done():
			}
			return
		}
		_, _ = w.Write([]byte(`{"stacks": []}`))
	})
	t.Cleanup(func() { close(release) })
	p := testPool(t, Config{Timeout: 200 * time.Millisecond, AwayFirst: 20 * time.Millisecond})
	c, err := p.Connect(t.Context(), "v", s.Vim())
	require.NoError(t, err)
	require.Equal(t, lcm.Transient, asError(t, ping(t.Context(), c)).Class)
	require.False(t, p.Health()[0].Available())

	before := s.Logins.Load()
	require.Eventually(t, func() bool {
		_, err := p.Connect(t.Context(), "v", s.Vim())
		require.Error(t, err)
		return s.Logins.Load() >= before+2
	}, time.Minute, 5*time.Millisecond, "it is tried again")
	silent.Store(false)
	require.Eventually(t, func() bool {
		c, err = p.Connect(t.Context(), "v", s.Vim())
		return err == nil
	}, time.Minute, 5*time.Millisecond)
	require.NoError(t, ping(t.Context(), c))
}

// TestServiceThatAnswersOthersIsAvailable: one slow request does not stop all operations.
func TestServiceThatAnswersOthersIsAvailable(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	slow := make(chan struct{})
	s.Routes.HandleFunc("GET /heat/v1/p1/stacks/slow", func(_ http.ResponseWriter, r *http.Request) {
		close(slow)
		<-r.Context().Done()
	})
	withStacks(s)
	p := testPool(t, Config{Timeout: time.Second})
	c, err := p.Connect(t.Context(), "v", s.Vim())
	require.NoError(t, err)
	failed := make(chan error, 1)
	go func() {
		failed <- c.Do(t.Context(), Call{What: "read", Service: Heat, Method: http.MethodGet, Path: "/stacks/slow"})
	}()
	<-slow
	require.NoError(t, ping(t.Context(), c))
	require.Error(t, <-failed)
	_, err = p.Connect(t.Context(), "v", s.Vim())
	require.NoError(t, err)
}
