package cloud

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/test/stubcloud"
)

// stalls answers with a status and the beginning of a body, and does not end it before the request ends.
func stalls(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Subject-Token", "token")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"stacks": [`)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

// drips answers with a byte of the body every 50 ms, until the request ends.
func drips(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Subject-Token", "token")
		w.WriteHeader(status)
		for more := time.NewTicker(50 * time.Millisecond); ; {
			select {
			case <-r.Context().Done():
				more.Stop()
				return
			case <-more.C:
				_, _ = io.WriteString(w, " ")
				_ = http.NewResponseController(w).Flush()
			}
		}
	}
}

// TestAnswerThatDoesNotEndMakesTheVimUnavailable: such an answer has a time limit of its own, which is shorter than
// that of the request, and its VIM counts as one that does not answer.
func TestAnswerThatDoesNotEndMakesTheVimUnavailable(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		login, list http.HandlerFunc
		service     Service
	}{
		"stalls in the body":        {list: stalls(http.StatusOK), service: Heat},
		"a byte at a time":          {list: drips(http.StatusOK), service: Heat},
		"stalls in an error":        {list: stalls(http.StatusInternalServerError), service: Heat},
		"login stalls in the body":  {login: stalls(http.StatusCreated), service: keystone},
		"login, a byte at a time":   {login: drips(http.StatusCreated), service: keystone},
		"login stalls in a refusal": {login: stalls(http.StatusUnauthorized), service: keystone},
		"token renewal stalls in body": {
			list: stalls(http.StatusOK), login: stalls(http.StatusCreated), service: keystone,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stubcloud.New(t)
			if tt.list != nil {
				s.Routes.HandleFunc("GET /heat/v1/p1/stacks", tt.list)
			} else {
				s.Login = tt.login
			}
			p := testPool(t, Config{Timeout: 2 * time.Second, AwayFirst: time.Hour, AwayLongest: time.Hour})
			c, err := p.Connect(t.Context(), "v", s.Vim())
			if tt.list != nil {
				require.NoError(t, err)
				if tt.login != nil {
					s.Mu.Lock()
					s.Token, s.Login = "none", tt.login
					s.Mu.Unlock()
				}
				err = ping(t.Context(), c)
			}
			e := asError(t, err)
			require.Equal(t, lcm.Transient, e.Class)
			require.Contains(t, e.Detail, "began an answer and did not send the rest in time")
			state := p.Health()[0]
			require.False(t, state.Available())
			require.Contains(t, state.Error, string(tt.service)+" at ")
			_, err = p.Connect(t.Context(), "v", s.Vim())
			require.ErrorIs(t, err, lcm.ErrVimUnavailable)
		})
	}
}

// TestStallIsNotSlowness: an answer that is large and slow may take as long as the request may.
func TestStallIsNotSlowness(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		part    int           // bytes that arrive at a time
		every   time.Duration // how often
		size    int
		stalled bool
	}{
		{"large and slow", partSize, stall - time.Second, 20 * partSize, false},
		{"in small pieces", partSize / 8, time.Second, 20 * partSize, false},
		{"small and slow", 1, time.Second, 8, false},
		{"a byte in a second", 1, time.Second, partSize, true},
		{"too slow", partSize / 16, time.Second, 20 * partSize, true},
		{"stalls after a part", partSize, stall + time.Second, 2 * partSize, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				parts := 0
				body := &steady{
					ctx: ctx, within: stall, arrived: func() { parts++ },
					body: &slowly{ctx, bytes.NewReader(make([]byte, tt.size)), tt.part, tt.every},
				}
				body.timer = time.AfterFunc(stall, func() { cancel(errStalled) })
				defer body.timer.Stop()
				var got bytes.Buffer
				_, err := io.CopyBuffer(struct{ io.Writer }{&got}, body, make([]byte, partSize))
				require.Equal(t, tt.stalled, errors.Is(err, errStalled), "%v", err)
				if !tt.stalled {
					require.NoError(t, err)
					require.Equal(t, tt.size, got.Len())
					require.Equal(t, tt.size/partSize, parts)
				}
			})
		})
	}
}

// slowly is a body whose parts arrive at times, until ctx ends.
type slowly struct {
	ctx   context.Context
	text  *bytes.Reader
	part  int
	every time.Duration
}

func (s *slowly) Read(p []byte) (int, error) {
	select {
	case <-time.After(s.every):
		return s.text.Read(p[:min(len(p), s.part)])
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	}
}

// hold makes the logins of a cloud hang until the test ends. The first token stays valid.
func hold(t *testing.T, s *stubcloud.Cloud) {
	t.Helper()
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	s.Mu.Lock()
	defer s.Mu.Unlock()
	token := s.Token
	s.Login = func(_ http.ResponseWriter, r *http.Request) {
		s.Mu.Lock()
		s.Token = token
		s.Mu.Unlock()
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
}

// TestRequestsDoNotWaitForTheRenewalOfAToken that is still valid.
func TestRequestsDoNotWaitForTheRenewalOfAToken(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	s.Life = 100 * time.Millisecond
	withStacks(s)
	p := testPool(t, Config{Timeout: time.Hour})
	c, err := p.Connect(t.Context(), "v", s.Vim())
	require.NoError(t, err)
	hold(t, s)
	require.Eventually(t, func() bool {
		require.NoError(t, ping(t.Context(), c))
		return s.Logins.Load() == 2
	}, time.Minute, time.Millisecond, "the renewal begins")
	for range 20 {
		require.NoError(t, ping(t.Context(), c))
	}
	require.EqualValues(t, 2, s.Logins.Load(), "there is one renewal, which is still under way")
}

// TestRefusedTokenAndSilentKeystone: the request for a new token counts for the availability of the VIM. All callers
// share one, and the VIM is left alone afterwards.
func TestRefusedTokenAndSilentKeystone(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	withStacks(s)
	p := testPool(t, Config{Timeout: 500 * time.Millisecond, AwayFirst: time.Hour, AwayLongest: time.Hour})
	c, err := p.Connect(t.Context(), "v", s.Vim())
	require.NoError(t, err)
	s.Expire()
	hold(t, s)
	var all sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		all.Go(func() { errs[i] = ping(t.Context(), c) })
	}
	all.Wait()
	for _, err := range append(errs, ping(t.Context(), c)) {
		require.Equal(t, lcm.Transient, asError(t, err).Class, "%v", err)
	}
	require.EqualValues(t, 2, s.Logins.Load())
	state := p.Health()[0]
	require.False(t, state.Available())
	require.Contains(t, state.Error, "Keystone at ")
	require.Contains(t, state.Error, "did not answer in time")
}
