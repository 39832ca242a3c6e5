package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/stack"
)

// slowness is a cloud whose servers need some time.
type slowness struct {
	server time.Duration
	// anchor is what the same takes with Tacker, by its known sequence: a look every 5 s, and a login before every call
	// to Heat.
	anchor string
}

var slownesses = []slowness{
	{2 * time.Second, "Tacker 12 calls, adds 3 s"},
	{5 * time.Second, "Tacker 12 to 14 calls, adds 2.5 s on average"},
	{20 * time.Second, "Tacker 18 to 20 calls, adds 2.5 s on average"},
	{60 * time.Second, "Tacker 34 to 36 calls, adds 2.5 s on average"},
}

// slow counts the calls of an instantiation in a cloud that needs some time, most of which are looks at the stack, and
// measures how long a stack that is complete is not seen. That depends on when it is complete between two looks, so the
// servers need a little less and a little more.
func (b *bench) slow(ctx context.Context, dir string) error {
	vnfd, err := b.upload(ctx, dir, plain)
	if err != nil {
		return err
	}
	params, err := json.Marshal(stack.PlainParams("default", "", b.stack.Sim))
	if err != nil {
		return err
	}
	timing := func(server time.Duration) error {
		create := map[string]simcloud.Duration{"OS::Nova::Server": simcloud.Duration(server)}
		return b.stack.Control(ctx, http.MethodPatch, "/sim/timing", simcloud.Timing{Create: create}, nil)
	}
	// The first operation logs in.
	ops, err := b.instantiate(ctx, vnfd, params, 1)
	if err != nil {
		return err
	}
	if _, err := stack.Await(ctx, b.api, ops...); err != nil {
		return err
	}
	for _, s := range slownesses {
		added, calls, err := b.spread(ctx, vnfd, params, s.server, timing)
		if err != nil {
			return err
		}
		var sum time.Duration
		for _, a := range added {
			sum += a
		}
		b.row(
			"instantiate, slow cloud",
			fmt.Sprintf("server needs %.0f s", s.server.Seconds()),
			fmt.Sprintf(
				"added %.2f s on average, %.2f s at most; %s",
				sum.Seconds()/float64(len(added)),
				slices.Max(added).Seconds(),
				counts(calls, len(added)),
			),
			s.anchor,
		)
	}
	return timing(0)
}

// spread instantiates VNFs whose servers need about the same time, evenly spread over a quarter of it. It returns what
// was added to each, and all calls.
func (b *bench) spread(
	ctx context.Context, vnfd string, params json.RawMessage, server time.Duration, timing func(time.Duration) error,
) ([]time.Duration, map[string]int, error) {
	if err := b.stack.Control(ctx, http.MethodDelete, "/sim/calls", nil, nil); err != nil {
		return nil, nil, err
	}
	const n = 16
	var ops []string
	var needs []time.Duration
	for i := range n {
		need := server - server/8 + server*time.Duration(i)/(4*n)
		if err := timing(need); err != nil {
			return nil, nil, err
		}
		started, err := b.instantiate(ctx, vnfd, params, 1)
		if err != nil {
			return nil, nil, err
		}
		ops, needs = append(ops, started...), append(needs, need)
		select { // the server has to have begun
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(150 * time.Millisecond):
		}
	}
	took, err := stack.Await(ctx, b.api, ops...)
	if err != nil {
		return nil, nil, err
	}
	for i := range took {
		took[i] -= needs[i]
	}
	calls, err := b.calls(ctx)
	return took, calls, err
}
