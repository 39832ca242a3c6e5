package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/gybe-nfv/gybe/test/stack"
)

// report counts answers. It is safe for concurrent use.
type report struct {
	mu sync.Mutex
	// answers counts by kind of traffic and outcome: a status, or a word for an exchange without one.
	answers map[string]map[string]int
	// broken are the first answers that break the promise, by kind.
	broken map[string][]string
	// took are the times of honest requests.
	took []time.Duration
	peak int64
}

func newReport() *report {
	return &report{answers: map[string]map[string]int{}, broken: map[string][]string{}}
}

// count adds an outcome of a kind.
func (r *report) count(kind, outcome string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answers[kind] == nil {
		r.answers[kind] = map[string]int{}
	}
	r.answers[kind][outcome]++
}

// breaks notes an answer that breaks the promise.
func (r *report) breaks(kind, format string, args ...any) {
	const kept = 5
	r.mu.Lock()
	defer r.mu.Unlock()
	text := fmt.Sprintf(format, args...)
	if len(r.broken[kind]) < kept {
		r.broken[kind] = append(r.broken[kind], text)
	}
}

// answered adds the time of an honest request.
func (r *report) answered(took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.took = append(r.took, took)
}

// watch notes the highest resident memory of a node, and its death.
func (r *report) watch(ctx context.Context, n *stack.Node) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		u, err := n.Usage()
		if err != nil {
			r.breaks("node", "its memory cannot be read: %s", err)
			return
		}
		r.mu.Lock()
		r.peak = max(r.peak, u.Peak)
		r.mu.Unlock()
		select {
		case <-tick.C:
		case <-n.Done():
			r.breaks("node", "the node ended; its log says why")
			return
		case <-ctx.Done():
			return
		}
	}
}

// print writes the outcome to out. The error says that the promise is broken.
func (r *report) print(out io.Writer, memory int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "KIND\tANSWERS")
	for _, kind := range slices.Sorted(maps.Keys(r.answers)) {
		var parts []string
		for _, outcome := range slices.Sorted(maps.Keys(r.answers[kind])) {
			parts = append(parts, fmt.Sprintf("%s %d", outcome, r.answers[kind][outcome]))
		}
		fmt.Fprintf(w, "%s\t%s\n", kind, strings.Join(parts, ", "))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	slices.Sort(r.took)
	if n := len(r.took); n > 0 {
		fmt.Fprintf(out, "\nhonest requests: %d, median %s, 99 %% within %s, slowest %s\n", n,
			r.took[n/2].Round(time.Millisecond), r.took[n*99/100].Round(time.Millisecond),
			r.took[n-1].Round(time.Millisecond))
	}
	fmt.Fprintf(out, "resident memory of the node, highest: %d MiB\n", r.peak>>20)
	if r.peak > memory {
		r.broken["memory"] = append(r.broken["memory"], fmt.Sprintf("%d MiB are more than %d", r.peak>>20, memory>>20))
	}
	if len(r.took) == 0 {
		r.broken["honest"] = append(r.broken["honest"], "no honest request was answered")
	}
	if len(r.broken) == 0 {
		return nil
	}
	for _, kind := range slices.Sorted(maps.Keys(r.broken)) {
		for _, text := range r.broken[kind] {
			fmt.Fprintf(out, "BROKEN  %s: %s\n", kind, text)
		}
	}
	return errors.New("the promise is broken")
}
