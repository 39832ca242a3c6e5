package infratest

import (
	"context"
	"fmt"
	"sync"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Node is one process of the VNFM, with one driver. It can die at a call to the VIM or at a write to the database.
type Node struct {
	mu      sync.Mutex
	dead    bool
	stop    context.CancelFunc // of the tick
	changes int
	writes  int
	death   death
	// calls are those under way. A dead node's last calls reach the VIM before the next node starts.
	calls sync.WaitGroup
	// changing is called before each change of the VIM.
	changing func()
}

// death is the moment at which a node dies; the zero value is never.
type death struct {
	change int  // at this change of the VIM, from 1
	write  int  // at this write to the database, from 1
	after  bool // when it is done; else before
}

func (d death) String() string {
	when := "before"
	if d.after {
		when = "after"
	}
	if d.change > 0 {
		return fmt.Sprintf("%s change %d of the VIM", when, d.change)
	}
	return fmt.Sprintf("%s write %d", when, d.write)
}

// errDead is the error that a dead node gets from everything.
var errDead = fmt.Errorf("the node is dead: %w", lcm.ErrFenced)

// Call makes a call to the VIM. changes says whether the call creates, changes or deletes something there. A node that
// dies makes no further calls: send is not called, or its outcome is not reported.
func (n *Node) Call(changes bool, send func() error) error {
	dies, err := n.enter(changes)
	if err != nil {
		return err
	}
	defer n.calls.Done()
	err = send()
	if dies {
		n.kill()
		return errDead
	}
	return err
}

// enter counts a call. dies says that the node dies when the call is done.
func (n *Node) enter(changes bool) (dies bool, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dead {
		return false, errDead
	}
	if !changes {
		n.calls.Add(1)
		return false, nil
	}
	n.changes++
	if n.changes == n.death.change && !n.death.after {
		n.die()
		return false, errDead
	}
	n.calls.Add(1)
	if n.changing != nil {
		n.changing()
	}
	return n.changes == n.death.change, nil
}

// write makes a write to the database.
func (n *Node) write(store func()) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dead {
		return errDead
	}
	n.writes++
	if n.writes != n.death.write {
		store()
		return nil
	}
	if n.death.after {
		store()
	}
	n.die()
	return errDead
}

func (n *Node) kill() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.die()
}

// die is called with the node locked.
func (n *Node) die() {
	n.dead = true
	if n.stop != nil {
		n.stop()
	}
}

// tick returns the context of a tick, which ends when the node dies.
func (n *Node) tick(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stop = cancel
	if n.dead {
		cancel()
	}
	return ctx, cancel
}

func (n *Node) isDead() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dead
}

// changesMade is the number of changes of the VIM so far.
func (n *Node) changesMade() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.changes
}
