// Package timing says how long the simulated cloud takes for what it does. The default is no time at all, which is
// still asynchronous: an answer never carries the state that only background work can reach.
package timing

import (
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"
)

// Duration is a time.Duration that JSON writes as "1.5s"; it also reads a plain number of seconds.
type Duration time.Duration

// MarshalJSON writes the duration as Go prints it.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// UnmarshalJSON reads "250ms" or a number of seconds.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return fmt.Errorf("duration: %w", err)
	}
	switch v := v.(type) {
	case string:
		p, err := time.ParseDuration(v)
		if err != nil {
			return fmt.Errorf("duration: %w", err)
		}
		*d = Duration(p)
	case float64:
		*d = Duration(v * float64(time.Second))
	default:
		return fmt.Errorf("duration: want a string or a number of seconds, have %s", b)
	}
	return nil
}

// Table is the JSON of /sim/timing. Keys of Create, Update and Delete are resource types as Heat names them
// ("OS::Nova::Server", also for servers made through Nova itself; "OS::Glance::Image" for uploads); "*" stands for
// every type without a key of its own. Keys of Machines are the fleet's step names.
type Table struct {
	Create   map[string]Duration `json:"create,omitempty"`
	Update   map[string]Duration `json:"update,omitempty"`
	Delete   map[string]Duration `json:"delete,omitempty"`
	Machines map[string]Duration `json:"machines,omitempty"`
}

// Store holds the table in force. The zero value takes no time for anything.
type Store struct {
	mu sync.RWMutex
	t  Table
}

// Set replaces the table.
func (s *Store) Set(t Table) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.t = t
}

// Merge adds the keys of t to the table in force.
func (s *Store) Merge(t Table) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.t.Create = merged(s.t.Create, t.Create)
	s.t.Update = merged(s.t.Update, t.Update)
	s.t.Delete = merged(s.t.Delete, t.Delete)
	s.t.Machines = merged(s.t.Machines, t.Machines)
}

// Get returns a copy of the table in force.
func (s *Store) Get() Table {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return Table{
		Create: maps.Clone(s.t.Create), Update: maps.Clone(s.t.Update),
		Delete: maps.Clone(s.t.Delete), Machines: maps.Clone(s.t.Machines),
	}
}

// For returns how long action ("create", "update" or "delete") takes for a resource type.
func (s *Store) For(action, resourceType string) time.Duration {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var m map[string]Duration
	switch action {
	case "create":
		m = s.t.Create
	case "update":
		m = s.t.Update
	case "delete":
		m = s.t.Delete
	}
	if d, ok := m[resourceType]; ok {
		return time.Duration(d)
	}
	return time.Duration(m["*"])
}

func merged(a, b map[string]Duration) map[string]Duration {
	if len(b) == 0 {
		return a
	}
	out := maps.Clone(a)
	if out == nil {
		out = make(map[string]Duration, len(b))
	}
	maps.Copy(out, b)
	return out
}
