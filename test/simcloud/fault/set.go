package fault

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
)

// Set is the rules in force, in the order they were added. The zero value is empty and ready.
type Set struct {
	mu    sync.Mutex
	rules []*Rule
	next  int
	// OnExpireTokens is called by ExpireTokens rules. Set it before the first call is served.
	OnExpireTokens func()
}

// Add puts a rule in force and returns its id.
func (s *Set) Add(r Rule) (string, error) {
	if err := r.compile(); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	r.ID, r.Matched, r.Fired = "fault-"+strconv.Itoa(s.next), 0, 0
	s.rules = append(s.rules, &r)
	return r.ID, nil
}

// Remove ends a rule; calls that hang on it go on. It reports whether there was one.
func (s *Set) Remove(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.rules, func(r *Rule) bool { return r.ID == id })
	if i < 0 {
		return false
	}
	close(s.rules[i].released)
	s.rules = slices.Delete(s.rules, i, i+1)
	return true
}

// Clear ends all rules.
func (s *Set) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rules {
		close(r.released)
	}
	s.rules = nil
}

// List returns copies of the rules in force with their counters.
func (s *Set) List() []Rule {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Rule, 0, len(s.rules))
	for _, r := range s.rules {
		out = append(out, *r)
	}
	return out
}

// Get returns a copy of one rule.
func (s *Set) Get(id string) (Rule, bool) {
	for _, r := range s.List() {
		if r.ID == id {
			return r, true
		}
	}
	return Rule{}, false
}

// Work returns the rules that fire for a piece of engine work, in order.
func (s *Set) Work(w Work) []Rule {
	return s.fire(func(r *Rule) bool { return r.matchesWork(w) })
}

func (s *Set) call(service string, req *http.Request) []Rule {
	return s.fire(func(r *Rule) bool { return r.matchesCall(service, req) })
}

// fire counts the matches and returns the rules that strike: any number of delays and hanging resources, up to the
// first one that ends the work.
func (s *Set) fire(match func(*Rule) bool) []Rule {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Rule
	for _, r := range s.rules {
		if !match(r) {
			continue
		}
		r.Matched++
		if r.Matched < r.Nth || r.Count > 0 && r.Fired >= r.Count {
			continue
		}
		if r.Probability > 0 && rand.Float64() >= r.Probability {
			continue
		}
		r.Fired++
		out = append(out, *r)
		if r.Kind != Delay && r.Kind != DelayResource && r.Kind != HangResource && r.Kind != ExpireTokens {
			break
		}
	}
	return out
}
