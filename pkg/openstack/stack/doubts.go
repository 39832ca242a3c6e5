package stack

import (
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
)

// Doubts remembers failures that were seen once. A failure counts when it is seen twice: Heat may be about to take it
// back, or another node's update may already have overtaken it. It is safe for concurrent use.
type Doubts struct {
	mu   sync.Mutex
	seen map[string]time.Time
}

// doubtAge is when a first observation is forgotten.
const doubtAge = 10 * time.Minute

// confirmed returns nil when the failure of a stack was seen before, a pause ago, and a wait when this is the first
// time.
func (d *Doubts) confirmed(now time.Time, pause time.Duration, operation string, st *cloud.Stack) error {
	key := strings.Join(append([]string{st.ID, st.Status, operation}, st.Tags...), " ")
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.seen, func(_ string, at time.Time) bool { return now.Sub(at) > doubtAge })
	if at, ok := d.seen[key]; ok && now.Sub(at) >= pause {
		delete(d.seen, key)
		return nil
	} else if !ok {
		if d.seen == nil {
			d.seen = map[string]time.Time{}
		}
		d.seen[key] = now
	}
	return lcm.Wait(pause, "stack "+st.Status+", looking again")
}
