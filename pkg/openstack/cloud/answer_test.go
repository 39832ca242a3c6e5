package cloud

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/test/stubcloud"
)

// repeat writes about n bytes of a repeated text, in pieces, until the client has gone.
func repeat(w http.ResponseWriter, begin, text string, n int, end string) {
	chunk := []byte(strings.Repeat(text, max(1<<16/len(text), 1)))
	if _, err := io.WriteString(w, begin); err != nil {
		return
	}
	for sent := 0; sent < n; sent += len(chunk) {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
	_, _ = io.WriteString(w, end)
}

// TestHugeAnswersAreRejectedEarly: each of these cost hundreds of megabytes. Everything that the calls allocate is
// counted, so the test does not run beside others.
func TestHugeAnswersAreRejectedEarly(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	const size = 63 << 20
	for name, tt := range map[string]struct {
		login, list http.HandlerFunc
		reason      string
	}{
		"empty objects": {
			list:   func(w http.ResponseWriter, _ *http.Request) { repeat(w, `{"stacks": [{}`, ",{}", size, "]}") },
			reason: "too many values",
		},
		"empty lists": {
			list:   func(w http.ResponseWriter, _ *http.Request) { repeat(w, `{"stacks": [[]`, ",[]", size, "]}") },
			reason: "too many values",
		},
		"nested lists": {
			list:   func(w http.ResponseWriter, _ *http.Request) { repeat(w, "", "[", size, "") },
			reason: "too many values",
		},
		"one string": {
			list:   func(w http.ResponseWriter, _ *http.Request) { repeat(w, `{"stacks": "`, "x", size, `"}`) },
			reason: "a string of more than 4 MiB",
		},
		"one string of escapes": {
			list:   func(w http.ResponseWriter, _ *http.Request) { repeat(w, `{"stacks": "`, `\u00e9`, size, `"}`) },
			reason: "a string of more than 4 MiB",
		},
		"white space": {
			list:   func(w http.ResponseWriter, _ *http.Request) { repeat(w, "{", " ", size, "}") },
			reason: "a string of more than 4 MiB",
		},
		"many strings": {
			list: func(w http.ResponseWriter, _ *http.Request) {
				repeat(w, `{"stacks": [""`, `,"`+strings.Repeat("x", 1<<16)+`"`, size, "]}")
			},
			reason: "larger than 16 MiB",
		},
		"announced": {
			list: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "66060288")
				repeat(w, "{", " ", size, "}")
			},
			reason: "larger than 16 MiB",
		},
		"login": {
			login: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Subject-Token", "token")
				w.WriteHeader(http.StatusCreated)
				repeat(w, `{"token": {"catalog": [{}`, `,{"type": "x"}`, size, "]}}")
			},
			reason: "larger than 1 MiB",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := stubcloud.New(t)
			s.Login = tt.login
			if tt.list != nil {
				s.Routes.HandleFunc("GET /heat/v1/p1/stacks", tt.list)
			}
			pool := testPool(t, Config{})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			c, err := pool.Connect(t.Context(), "v", s.Vim())
			if tt.login == nil {
				require.NoError(t, err)
				err = ping(t.Context(), c)
			}
			runtime.ReadMemStats(&after)
			e := asError(t, err)
			require.Contains(t, e.Detail, tt.reason)
			require.Equal(t, lcm.Permanent, e.Class, "the next answer is as large")
			require.Equal(t, lcm.CodeUpstream, e.Code)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(50<<20))
			require.Zero(t, pool.answers.held)
			require.True(t, pool.answers.decode.TryAcquire(pool.answers.decoding), "all shares were given back")
		})
	}
}

// TestLargeAnswersAreRead: a list at the limits is not rejected.
func TestLargeAnswersAreRead(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	stack := `,{"id": "i", "stack_name": "` + strings.Repeat("n", 900) + `", "tags": ["a", "b", "c"], "links": [{}]}`
	s.Routes.HandleFunc("GET /heat/v1/p1/stacks", func(w http.ResponseWriter, _ *http.Request) {
		repeat(w, `{"stacks": [{}`, stack, 15<<20, "]}")
	})
	pool := testPool(t, Config{})
	c, err := pool.Connect(t.Context(), "v", s.Vim())
	require.NoError(t, err)
	var out struct {
		Stacks []Stack `json:"stacks"`
	}
	call := Call{What: "list stacks", Service: Heat, Method: http.MethodGet, Path: "/stacks", Out: &out}
	require.NoError(t, c.Do(t.Context(), call))
	require.Greater(t, len(out.Stacks), 15_000)
	require.Equal(t, strings.Repeat("n", 900), out.Stacks[len(out.Stacks)-1].Name)
	require.Zero(t, pool.answers.held)
}

// TestLargeAnswersShareABudget: what is in memory at the same time is bounded, for a VIM and for the node, and a VIM
// that is slow does not stop small answers and other VIMs.
func TestLargeAnswersShareABudget(t *testing.T) {
	t.Parallel()
	const large = 1 << 20
	limits := defaultLimits()
	limits.session, limits.node = large*3/2, large*5/2
	pool := testPool(t, Config{})
	pool.answers = newAnswerBudget(limits)

	release := make(chan struct{})
	vim := func() (c *Client, arrived chan struct{}) {
		arrived = make(chan struct{}, 10)
		s := stubcloud.New(t)
		s.Routes.HandleFunc("GET /heat/v1/p1/stacks", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("name") == "x" {
				_, _ = io.WriteString(w, `{"stacks": []}`)
				return
			}
			repeat(w, `{"stacks": [`, " ", large, "")
			_ = http.NewResponseController(w).Flush()
			arrived <- struct{}{}
			select {
			case <-release:
			case <-r.Context().Done():
				return
			}
			_, _ = io.WriteString(w, "]}")
		})
		c, err := pool.Connect(t.Context(), "v", s.Vim())
		require.NoError(t, err)
		return c, arrived
	}
	list := func(ctx context.Context, c *Client) error {
		_, err := c.ListStacks(ctx, "list", nil)
		return err
	}
	held := func() int64 {
		pool.answers.mu.Lock()
		defer pool.answers.mu.Unlock()
		return pool.answers.held
	}
	hold := func(c *Client, arrived chan struct{}) chan error {
		before := held()
		done := make(chan error, 1)
		go func() { done <- list(t.Context(), c) }()
		<-arrived
		require.Eventually(t, func() bool { return held() >= before+large*7/8 }, time.Minute, time.Millisecond)
		return done
	}

	first, firstArrived := vim()
	second, secondArrived := vim()
	third, _ := vim()
	a := hold(first, firstArrived)
	e := asError(t, list(t.Context(), first))
	require.Contains(t, e.Detail, "too many large answers")
	require.Equal(t, lcm.Transient, e.Class)
	require.NoError(t, ping(t.Context(), first), "small answers need no budget")

	b := hold(second, secondArrived)
	require.ErrorContains(t, list(t.Context(), third), "too many large answers")
	close(release)
	require.NoError(t, <-a)
	require.NoError(t, <-b)
	require.NoError(t, list(t.Context(), third))
	require.Zero(t, held())
}

// TestDecodingWaitsForItsShare: an answer is complete before it waits, and a call that is cancelled holds nothing.
func TestDecodingWaitsForItsShare(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	withStacks(s)
	pool := testPool(t, Config{})
	c, err := pool.Connect(t.Context(), "v", s.Vim())
	require.NoError(t, err)
	require.True(t, pool.answers.decode.TryAcquire(pool.answers.decoding))

	ctx, cancel := context.WithCancel(t.Context())
	cancelled, done := make(chan error, 1), make(chan error, 1)
	go func() { cancelled <- ping(ctx, c) }()
	cancel()
	require.ErrorIs(t, <-cancelled, context.Canceled)
	go func() { done <- ping(t.Context(), c) }()
	pool.answers.decode.Release(pool.answers.decoding)
	require.NoError(t, <-done)
	require.True(t, pool.answers.decode.TryAcquire(pool.answers.decoding))
}

func TestAnswerThatBreaksOff(t *testing.T) {
	t.Parallel()
	budget := newAnswerBudget(defaultLimits())
	a := &answer{limits: budget.answerLimits, limit: 1 << 20, budget: &sessionBudget{node: budget}}
	require.ErrorIs(t, a.read(iotest.TimeoutReader(strings.NewReader(strings.Repeat("x", firstChunk+1))), -1),
		iotest.ErrTimeout)
}

func TestValueCounter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]valueCounter{
		``:                             {},
		`{}`:                           {number: 1, longest: 1, run: 1},
		`[{},{"a":"[,{\"","b":[1,2]}]`: {number: 7, longest: 5, run: 4},
		`"\\","`:                       {number: 1, longest: 2, quoted: true},
	} {
		for size := 1; size <= len(text)+1; size++ {
			var c valueCounter
			for at := 0; at < len(text); at += size {
				c.count([]byte(text[at:min(at+size, len(text))]))
			}
			require.Equal(t, want, c, "%s in pieces of %d", text, size)
		}
	}
}

func BenchmarkValueCounter(b *testing.B) {
	text := bytes.Repeat([]byte(`{"id": "0123456789", "links": [{"rel": "self"}], "n": 1},`), 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		var c valueCounter
		c.count(text)
	}
}

// TestAnswerThatIsCutOff: a complete JSON text is not taken for the answer when the connection broke after it.
func TestAnswerThatIsCutOff(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	s.Routes.HandleFunc("GET /heat/v1/p1/stacks", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"stacks": []}`)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	c, err := testPool(t, Config{}).Connect(t.Context(), "v", s.Vim())
	require.NoError(t, err)
	e := asError(t, ping(t.Context(), c))
	require.Contains(t, e.Detail, "broke the connection off")
	require.Equal(t, lcm.Transient, e.Class)
}
