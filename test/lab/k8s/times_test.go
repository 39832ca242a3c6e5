package k8s_test

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// times is how long everything took, in the order in which it happened.
type times struct {
	mu    sync.Mutex
	lines []string
}

var spent times

func (t *times) add(flavour, what string, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, fmt.Sprintf("%-9s %8.1f s  %s", flavour, took.Seconds(), what))
}

func (t *times) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == 0 {
		return ""
	}
	return "\n" + strings.Join(t.lines, "\n") + "\n"
}
