package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/stack"
	"github.com/gybe-nfv/gybe/test/stubcloud"
)

const (
	stuckOperations = 300 // on the VIM that does not answer
	healthyRuns     = 12  // instantiations in the healthy VIM, alone and beside the others
	cancelRuns      = 12  // cancels of each kind
)

// silentVIM is a VIM that does not answer.
type silentVIM struct {
	name  string
	start func() (vim sol.VimConnectionInfo, stop func(), err error)
}

// silentVIMs do not answer at different places. Those whose login works hold the ticks that are in a request.
var silentVIMs = []silentVIM{
	{"Keystone is silent", startSilentServer},
	{"Keystone stalls in the body", stubOf(beginAnswer, nil)},
	{"Keystone sends 1 byte/s", stubOf(dripAnswer, nil)},
	{"services are silent", stubOf(nil, hang)},
	{"services stall in the body", stubOf(nil, beginAnswer)},
	{"services send 1 byte/s", stubOf(nil, dripAnswer)},
}

// silent measures what operations on a VIM that does not answer cost those on another one, and how soon a cancel takes
// effect.
func (b *bench) silent(ctx context.Context, dir string) error {
	vnfd, err := b.upload(ctx, dir, plain)
	if err != nil {
		return err
	}
	params := stack.PlainParams("default", "", b.stack.Sim)
	healthy, err := json.Marshal(params)
	if err != nil {
		return err
	}
	if _, err := b.oneByOne(ctx, vnfd, healthy); err != nil { // the first ones log in
		return err
	}
	for _, s := range silentVIMs {
		vim, stop, err := s.start()
		if err != nil {
			return err
		}
		params["vimConnectionInfo"] = map[string]any{"vim1": vim}
		stuck, err := json.Marshal(params)
		if err == nil {
			err = b.besideSilent(ctx, vnfd, s.name, healthy, stuck)
		}
		stop()
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// besideSilent measures one VIM that does not answer.
func (b *bench) besideSilent(ctx context.Context, vnfd, name string, healthy, stuck json.RawMessage) error {
	alone, err := b.oneByOne(ctx, vnfd, healthy)
	if err != nil {
		return err
	}
	shown := make(chan string, 1)
	go func() { shown <- b.reported(ctx) }() // ends by itself
	ops, err := b.instantiate(ctx, vnfd, stuck, stuckOperations)
	if err != nil {
		return err
	}
	beside, err := b.oneByOne(ctx, vnfd, healthy)
	if err != nil {
		return err
	}
	with := fmt.Sprintf("%d, %s", stuckOperations, name)
	b.row(
		"instantiate in a healthy VIM", with,
		fmt.Sprintf("alone %s, beside %s (worst %s), ratio %.2f", ms(median(alone)), ms(median(beside)),
			ms(slices.Max(beside)), float64(median(beside))/float64(median(alone))),
		"aim ratio ≤ 2",
	)

	var spread []string // among those whose requests hang and those that wait
	for i := range cancelRuns {
		spread = append(spread, ops[i*len(ops)/cancelRuns])
	}
	there, err := b.cancels(ctx, spread, b.awaitRest)
	if err != nil {
		return err
	}
	here, err := b.cancelHealthy(ctx, vnfd, healthy)
	if err != nil {
		return err
	}
	b.row("cancel takes effect", with,
		fmt.Sprintf("there: median %s, worst %s", ms(median(there)), ms(slices.Max(there))), "aim ≤ 2 s")
	b.row("cancel takes effect", with,
		fmt.Sprintf("healthy VIM: median %s, worst %s", ms(median(here)), ms(slices.Max(here))), "aim ≤ 2 s")
	b.row("VIM is reported as unavailable", with, <-shown, "")
	return b.cancelAll(ctx, ops)
}

// reported returns the time until the node reports one more VIM that does not answer.
func (b *bench) reported(ctx context.Context) string {
	const longest = 90 * time.Second
	before := -1
	for began := time.Now(); time.Since(began) < longest; {
		nodes, err := b.api.Nodes(ctx)
		if err != nil {
			return err.Error()
		}
		now := 0
		for _, n := range nodes {
			now += n.UnavailableVims
		}
		if before < 0 {
			before = now
		}
		if now > before {
			return fmt.Sprintf("%.1f s after the first operation", time.Since(began).Seconds())
		}
		if err := sleep(ctx, 200*time.Millisecond); err != nil {
			return err.Error()
		}
	}
	return "not within " + longest.String()
}

// oneByOne instantiates one after another and returns the time of each.
func (b *bench) oneByOne(ctx context.Context, vnfd string, params json.RawMessage) ([]time.Duration, error) {
	var took []time.Duration
	for range healthyRuns {
		ops, err := b.instantiate(ctx, vnfd, params, 1)
		if err != nil {
			return nil, err
		}
		d, err := stack.Await(ctx, b.api, ops...)
		if err != nil {
			return nil, err
		}
		took = append(took, d...)
	}
	return took, nil
}

// cancels cancels operations one after another, and returns the time until each cancel has taken effect.
func (b *bench) cancels(
	ctx context.Context, ops []string, effect func(ctx context.Context, op string) error,
) ([]time.Duration, error) {
	var took []time.Duration
	for _, op := range ops {
		began := time.Now()
		if err := b.api.Cancel(ctx, op, sol.CancelModeForceful); err != nil {
			return nil, err
		}
		if err := effect(ctx, op); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}

// awaitRest returns when an operation that was cancelled has come to rest.
func (b *bench) awaitRest(ctx context.Context, op string) error {
	for {
		o, err := b.api.Operation(ctx, op)
		if err != nil {
			return err
		}
		switch o.OperationState {
		case sol.LcmOperationStateFailedTemp, sol.LcmOperationStateRolledBack, sol.LcmOperationStateFailed:
			return nil
		case sol.LcmOperationStateCompleted:
			return errors.New("a cancelled operation is completed")
		default:
		}
		if err := sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
}

// cancelHealthy cancels operations whose servers are being created in the healthy VIM, and returns the time until it is
// asked to stop. It stops when the servers are there, so the operations come to rest later.
func (b *bench) cancelHealthy(ctx context.Context, vnfd string, params json.RawMessage) ([]time.Duration, error) {
	creation := func(d time.Duration) error {
		create := map[string]simcloud.Duration{"OS::Nova::Server": simcloud.Duration(d)}
		return b.stack.Control(ctx, http.MethodPatch, "/sim/timing", simcloud.Timing{Create: create}, nil)
	}
	if err := creation(10 * time.Second); err != nil {
		return nil, err
	}
	ops, err := b.instantiate(ctx, vnfd, params, cancelRuns)
	if err != nil {
		return nil, err
	}
	for _, op := range ops {
		if err := b.awaitStep(ctx, op, ""); err != nil {
			return nil, err
		}
	}
	took, err := b.cancels(ctx, ops, func(ctx context.Context, op string) error { return b.awaitStep(ctx, op, "halt") })
	if err != nil {
		return nil, err
	}
	for _, op := range ops {
		if err := b.awaitRest(ctx, op); err != nil {
			return nil, err
		}
	}
	return took, creation(0)
}

// awaitStep returns when an operation has begun a step of this name; "" is any.
func (b *bench) awaitStep(ctx context.Context, op, name string) error {
	for {
		p, err := b.api.Progress(ctx, op, "", 0)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(p.Steps, func(s gybeapi.Step) bool { return name == "" || s.Name == name }) {
			return nil
		}
		if err := sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
}

// cancelAll ends the operations that are still under way.
func (b *bench) cancelAll(ctx context.Context, ops []string) error {
	for _, op := range ops {
		_ = b.api.Cancel(ctx, op, sol.CancelModeForceful) // it may have come to rest
	}
	for _, op := range ops {
		if err := b.awaitRest(ctx, op); err != nil {
			return err
		}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// startSilentServer starts a server that accepts connections and is silent.
func startSilentServer() (sol.VimConnectionInfo, func(), error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return sol.VimConnectionInfo{}, nil, err
	}
	var mu sync.Mutex
	var open []net.Conn
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
		}
	}()
	stop := func() {
		_ = l.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range open {
			_ = c.Close()
		}
	}
	return stubcloud.VimAt("http://" + l.Addr().String() + "/identity"), stop, nil
}

// stubOf starts a cloud with these answers to logins and to all other requests; nil is a login that works.
func stubOf(login, other http.HandlerFunc) func() (sol.VimConnectionInfo, func(), error) {
	return func() (sol.VimConnectionInfo, func(), error) {
		all, end := context.WithCancel(context.Background())
		ending := func(h http.HandlerFunc) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				ctx, cancel := context.WithCancel(r.Context())
				defer cancel()
				defer context.AfterFunc(all, cancel)()
				_, _ = io.Copy(io.Discard, r.Body) // net/http notices the end of a client after its body only
				h(w, r.WithContext(ctx))
			}
		}
		s := stubcloud.Start()
		if login != nil {
			s.Mu.Lock()
			s.Login = ending(login)
			s.Mu.Unlock()
		}
		if other != nil {
			s.Routes.HandleFunc("/", ending(other))
		}
		return s.Vim(), func() { end(); s.CloseClientConnections(); s.Close() }, nil
	}
}

// hang answers nothing until the client ends the request.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// beginAnswer sends the headers and the beginning of an answer.
func beginAnswer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Subject-Token", "token")
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write([]byte(`{"`))
	_ = http.NewResponseController(w).Flush()
	hang(w, r)
}

// dripAnswer sends a byte of the answer each second.
func dripAnswer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Subject-Token", "token")
	w.WriteHeader(http.StatusCreated)
	for sleep(r.Context(), time.Second) == nil {
		_, _ = w.Write([]byte(" "))
		_ = http.NewResponseController(w).Flush()
	}
}
