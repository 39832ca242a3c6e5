package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/cmd/gybe/cli"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

const opID = "3f8ce280-5e69-4c42-9a6f-6bc5035b1682"

var begun = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// server is a gybe whose one operation is PROCESSING until done is set.
type server struct {
	*http.ServeMux
	done atomic.Bool
}

func newServer() *server {
	s := &server{ServeMux: http.NewServeMux()}
	s.HandleFunc("GET /vnflcm/v2/vnf_lcm_op_occs/"+opID, func(w http.ResponseWriter, _ *http.Request) {
		op := sol.VnfLcmOpOcc{
			ID: opID, Operation: sol.LcmOperationInstantiate, OperationState: sol.LcmOperationStateProcessing,
			VnfInstanceID: "i", StartTime: begun, StateEnteredTime: begun,
		}
		if s.done.Load() {
			op.OperationState, op.StateEnteredTime = sol.LcmOperationStateCompleted, begun.Add(12500*time.Millisecond)
		}
		_ = json.NewEncoder(w).Encode(op)
	})
	return s
}

// run runs a command against the server and returns exit code and standard output.
func (s *server) run(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	hs := httptest.NewServer(s)
	defer hs.Close()
	var stdout, stderr bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	code = cli.Run(ctx, append(args, "--endpoint", hs.URL), cli.Env{
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
	})
	t.Log(stderr.String())
	return code, stdout.String()
}

func event(cursor, kind string, body any) string {
	raw, _ := json.Marshal(body)
	e, _ := json.Marshal(gybeapi.Event{Cursor: cursor, Time: begun, Kind: kind, VnfLcmOpOccID: opID, Body: raw})
	return fmt.Sprintf("id: %s\nevent: %s\ndata: %s\n\n", cursor, kind, e)
}

func TestWatchGoesOnWhereTheConnectionBroke(t *testing.T) {
	t.Parallel()
	s := newServer()
	var connections atomic.Int32
	s.HandleFunc("GET /gybe/v1/events", func(w http.ResponseWriter, r *http.Request) {
		since := r.URL.Query().Get("since")
		switch connections.Add(1) {
		case 1:
			assert.Equal(t, "0-0", since)
			fmt.Fprint(
				w, event("1-1", gybeapi.KindPhase, gybeapi.Phase{Name: "infra", State: "RUNNING", Started: begun}),
			)
			fmt.Fprint(w, event("1-2", gybeapi.KindStep, gybeapi.Step{
				ID: 1, Phase: "infra", Name: "create stack",
				Target: "vnf-" + opID, State: "OPEN", Attempts: 1, Started: begun,
			}))
		case 2:
			assert.Equal(t, "1-2", since, "nothing is lost and nothing comes twice")
			s.done.Store(true)
			fmt.Fprint(w, event("2-1", gybeapi.KindLog, map[string]any{
				"step": 1, "phase": "infra", "name": "create stack", "target": "vnf-" + opID,
				"lines": []map[string]any{{"time": begun.Add(time.Second), "text": "hello"}},
			}))
			fmt.Fprint(w, event("2-2", gybeapi.KindStep, gybeapi.Step{
				ID: 1, Phase: "infra", Name: "create stack", Target: "vnf-" + opID, State: "DONE", Attempts: 1,
				Started: begun, Finished: begun.Add(4100 * time.Millisecond),
			}))
			fmt.Fprint(w, event("2-3", gybeapi.KindPhase, gybeapi.Phase{
				Name: "infra", State: "DONE", Started: begun, Finished: begun.Add(12300 * time.Millisecond),
			}))
			fmt.Fprint(w, event("2-4", gybeapi.KindOperationState, gybeapi.OperationState{
				State: sol.LcmOperationStateCompleted, Entered: begun.Add(12500 * time.Millisecond),
			}))
			if f, ok := w.(http.Flusher); ok {
				f.Flush()
			}
			<-r.Context().Done()
		}
	})
	code, out := s.run(t, "op", "watch", opID, "--logs")
	require.Equal(t, cli.ExitOK, code)
	require.Equal(t, `INSTANTIATE of i, operation 3f8ce280-5e69-4c42-9a6f-6bc5035b1682
    0.0s  infra                                                   RUNNING
    0.0s  infra               create stack vnf-3f8ce280           RUNNING
    1.0s  infra               create stack vnf-3f8ce280 | hello
    4.1s  infra               create stack vnf-3f8ce280           DONE      4.1s
   12.3s  infra                                                   DONE      12.3s
   12.5s  COMPLETED
INSTANTIATE COMPLETED after 12.5s
`, out)
}

func TestWatchPollsAServerWithoutAFeed(t *testing.T) {
	t.Parallel()
	s := newServer()
	var polls atomic.Int32
	s.HandleFunc("GET /gybe/v1/vnf_lcm_op_occs/"+opID+"/progress", func(w http.ResponseWriter, r *http.Request) {
		p := gybeapi.Progress{
			Next:   "c1",
			Phases: []gybeapi.Phase{{Name: "infra", State: "RUNNING", Started: begun}},
			Steps: []gybeapi.Step{
				{ID: 1, Phase: "infra", Name: "create stack", State: "OPEN", Attempts: 1, Started: begun},
			},
		}
		if polls.Add(1) == 1 {
			p.Lines = []gybeapi.Line{{StepID: 1, Time: begun, Text: "hello"}}
		} else {
			assert.Equal(t, "c1", r.URL.Query().Get("since"))
			p.Phases[0].State, p.Phases[0].Finished = "DONE", begun.Add(2*time.Second)
			p.Steps[0].State, p.Steps[0].Finished = "DONE", begun.Add(time.Second)
		}
		s.done.Store(true)
		_ = json.NewEncoder(w).Encode(p)
	})
	code, out := s.run(t, "op", "watch", opID, "--logs")
	require.Equal(t, cli.ExitOK, code)
	for _, once := range []string{
		"create stack                        RUNNING", "create stack | hello",
		"create stack                        DONE      1.0s", "DONE      2.0s", "INSTANTIATE COMPLETED after 12.5s",
	} {
		require.Equal(t, 1, strings.Count(out, once), "%s\n%s", once, out)
	}
}

// TestWatchDoesNotDependOnTheFeed has a feed that sends nothing, because a transaction holds it up.
func TestWatchDoesNotDependOnTheFeed(t *testing.T) {
	t.Parallel()
	s := newServer()
	s.HandleFunc("GET /gybe/v1/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		s.done.Store(true)
		<-r.Context().Done()
	})
	s.HandleFunc("GET /gybe/v1/vnf_lcm_op_occs/"+opID+"/progress", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(gybeapi.Progress{
			Phases: []gybeapi.Phase{
				{Name: "infra", State: "DONE", Started: begun, Finished: begun.Add(2 * time.Second)},
			},
			Steps: []gybeapi.Step{{
				ID: 1, Phase: "infra", Name: "create stack", State: "DONE", Attempts: 1,
				Started: begun, Finished: begun.Add(time.Second),
			}},
			Lines: []gybeapi.Line{{StepID: 1, Time: begun, Text: "hello"}},
		})
	})
	code, out := s.run(t, "op", "watch", opID, "--logs")
	require.Equal(t, cli.ExitOK, code)
	for _, once := range []string{
		"create stack | hello", "create stack                        DONE      1.0s",
		"DONE      2.0s", "INSTANTIATE COMPLETED after 12.5s",
	} {
		require.Equal(t, 1, strings.Count(out, once), "%s\n%s", once, out)
	}
}

func TestAnInterruptedWatchSaysThatTheOperationGoesOn(t *testing.T) {
	t.Parallel()
	s := newServer()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.HandleFunc("GET /gybe/v1/events", func(w http.ResponseWriter, r *http.Request) {
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		cancel()
		<-r.Context().Done()
	})
	hs := httptest.NewServer(s)
	defer hs.Close()
	var stdout, stderr bytes.Buffer
	code := cli.Run(ctx, []string{"op", "watch", opID, "--endpoint", hs.URL}, cli.Env{Stdout: &stdout, Stderr: &stderr})
	require.Equal(t, cli.ExitInterrupted, code)
	require.Contains(t, stderr.String(), "gybe op watch "+opID)
}

func TestStatesAreColouredOnATerminalOnly(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		terminal bool
		environ  []string
		want     bool
	}{{true, nil, true}, {false, nil, false}, {true, []string{"NO_COLOR=1"}, false}, {
		true, []string{"TERM=dumb"}, false,
	}} {
		s := newServer()
		s.done.Store(true)
		s.HandleFunc("GET /vnflcm/v2/vnf_lcm_op_occs", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `[{"id":%q,"operation":"INSTANTIATE","operationState":"COMPLETED"}]`, opID)
		})
		hs := httptest.NewServer(s)
		var stdout bytes.Buffer
		code := cli.Run(t.Context(), []string{"op", "list", "--endpoint", hs.URL}, cli.Env{
			Stdout: &stdout, Stderr: &stdout, Terminal: tt.terminal, Environ: tt.environ,
		})
		hs.Close()
		require.Equal(t, cli.ExitOK, code, stdout.String())
		require.Equal(t, tt.want, strings.Contains(stdout.String(), "\x1b[32mCOMPLETED\x1b[0m"), "%+v", tt)
	}
}

// Long names of phases and steps do not push the states of the lines below them out of their column.
func TestColumnsOfAWatchGrow(t *testing.T) {
	t.Parallel()
	s := newServer()
	s.done.Store(true)
	s.HandleFunc("GET /gybe/v1/vnf_lcm_op_occs/"+opID+"/progress", func(w http.ResponseWriter, _ *http.Request) {
		const phase = "change_current_package_end"
		_ = json.NewEncoder(w).Encode(gybeapi.Progress{
			Phases: []gybeapi.Phase{{Name: phase, State: "DONE", Started: begun, Finished: begun}},
			Steps: []gybeapi.Step{
				{
					ID: 1, Phase: phase, Name: "initialise the whole cluster", Target: "masterNode-" + opID,
					State: "DONE", Started: begun, Finished: begun,
				},
				{ID: 2, Phase: phase, Name: "wait for nodes", State: "DONE", Started: begun, Finished: begun},
			},
		})
	})
	_, out := s.run(t, "op", "watch", opID)
	column := 0
	for line := range strings.Lines(out) {
		if at := strings.Index(line, "DONE"); at > 0 && column > 0 {
			require.Equal(t, column, at, out)
		} else if at > 0 {
			column = at
			if !strings.Contains(line, "initialise") {
				column = 0 // the first line does not know of the others
			}
		}
	}
	require.Positive(t, column)
}
