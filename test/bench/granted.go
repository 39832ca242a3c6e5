package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/test/nfvo"
	"github.com/gybe-nfv/gybe/test/stack"
)

// granted compares instantiations that the node grants itself with those that an NFVO grants at once. The rounds
// alternate, so that other load on the machine affects both, and begin with a burst that is not measured.
func (b *bench) granted(ctx context.Context, dir string) error {
	vnfd, params, err := b.plainPackage(ctx, dir)
	if err != nil {
		return err
	}
	var wrong findings
	orchestrator := httptest.NewServer(nfvo.New(&wrong))
	defer orchestrator.Close()
	asking, err := b.stack.AddNode(ctx, "GYBE_NFVO_URL="+orchestrator.URL)
	if err != nil {
		return err
	}
	ways := []struct {
		name string
		node *stack.Node
		sum  bursts
	}{{name: "by the node", node: b.node}, {name: "by an NFVO", node: asking}}
	for _, w := range ways {
		if err := w.node.Stop(20 * time.Second); err != nil {
			return err
		}
	}
	for range burstRounds {
		for i := range ways {
			w := &ways[i]
			if err := w.node.Start(ctx); err != nil {
				return err
			}
			if _, err := b.oneBurst(ctx, []*stack.Node{w.node}, vnfd, params); err != nil {
				return err
			}
			got, err := b.oneBurst(ctx, []*stack.Node{w.node}, vnfd, params)
			if err != nil {
				return err
			}
			w.sum.add(got)
			if err := w.node.Stop(20 * time.Second); err != nil {
				return err
			}
		}
	}
	for i, w := range ways {
		note := ""
		if i > 0 {
			note = fmt.Sprintf("CPU of gybe: %.2f of local grants", float64(w.sum.gybe)/float64(ways[0].sum.gybe))
		}
		b.row("instantiate, granted "+w.name, fmt.Sprintf("%d at once", burst), w.sum.String(), note)
	}
	if err := wrong.first(); err != nil {
		return err
	}
	return b.node.Start(ctx)
}

// findings keeps the first error of a test server.
type findings struct {
	mu  sync.Mutex
	err error
}

// Helper implements nfvo.Reporter.
func (*findings) Helper() {}

// Errorf implements nfvo.Reporter.
func (f *findings) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

func (f *findings) first() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}
