package heat

import (
	"net/http"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

// Engine states: what the engine that works behind the API is doing.
const (
	EngineRunning = "running"
	// EngineFrozen does nothing and goes on where it was when it runs again.
	EngineFrozen = "frozen"
	// EngineKilled has forgotten what it was doing: stacks stay in progress until a client updates or deletes them.
	EngineKilled = "killed"
)

// engine is what can be frozen. The zero value runs.
type engine struct {
	mu      sync.Mutex
	state   string
	resumed chan struct{}
}

// gate waits while the engine does not run.
func (e *engine) gate() { e.pass(nil) }

// pass waits while the engine does not run, or until enough; it tells whether the engine runs.
func (e *engine) pass(enough <-chan time.Time) bool {
	e.mu.Lock()
	resumed := e.resumed
	e.mu.Unlock()
	if resumed == nil {
		return true
	}
	select {
	case <-resumed:
		return true
	case <-enough:
		return false
	}
}

// SetEngine freezes, kills or starts the engine. The world's lock must not be held.
func (s *Service) SetEngine(state string) error {
	switch state {
	case EngineRunning, EngineFrozen, EngineKilled:
	default:
		return rest.Errorf(http.StatusBadRequest, "", "engine states are running, frozen and killed; have %q", state)
	}
	s.engine.mu.Lock()
	defer s.engine.mu.Unlock()
	s.engine.state = state
	if state == EngineKilled {
		s.world.Lock()
		for _, st := range s.Stacks.All() {
			if st.running != nil {
				st.running.cancel(errKilled)
			}
		}
		s.world.Unlock()
	}
	switch {
	case state == EngineRunning && s.engine.resumed != nil:
		close(s.engine.resumed)
		s.engine.resumed = nil
	case state != EngineRunning && s.engine.resumed == nil:
		s.engine.resumed = make(chan struct{})
	}
	return nil
}

// Engine returns the engine's state.
func (s *Service) Engine() string {
	s.engine.mu.Lock()
	defer s.engine.mu.Unlock()
	if s.engine.state == "" {
		return EngineRunning
	}
	return s.engine.state
}

// answerable is asked before every call: the API waits a while for an engine that does not answer.
func (s *Service) answerable(r *http.Request) error {
	t := time.NewTimer(s.RPCTimeout)
	defer t.Stop()
	if s.engine.pass(t.C) && r.Context().Err() == nil {
		return nil
	}
	return rest.Errorf(http.StatusInternalServerError, "MessagingTimeout", "")
}
