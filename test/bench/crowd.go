package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/stack"
)

// many is the number of instances that do the same at once.
const many = 50

// surroundings are what a crowd is measured in.
type surroundings struct {
	place
	// calls counts the calls to each service of the VIM since it was last asked.
	calls func(context.Context) (map[string]int, error)
	// heat is how long Heat itself worked on the stack of an instance since a time; nil when it answers at once.
	heat func(ctx context.Context, instance string, since time.Time) (time.Duration, error)
}

// crowd measures many instances at once in the simulated cloud.
func (b *bench) crowd(ctx context.Context, dir string) error {
	p, err := b.simulated()
	if err != nil {
		return err
	}
	if err := b.stack.Control(ctx, http.MethodDelete, "/sim/calls", nil, nil); err != nil {
		return err
	}
	return b.together(ctx, dir, surroundings{place: p, calls: func(ctx context.Context) (map[string]int, error) {
		calls, err := b.calls(ctx)
		if err != nil {
			return nil, err
		}
		return calls, b.stack.Control(ctx, http.MethodDelete, "/sim/calls", nil, nil)
	}})
}

// together takes many instances of one machine each through a life, all of them at each operation at once.
func (b *bench) together(ctx context.Context, dir string, s surroundings) error {
	vnfd, err := b.upload(ctx, dir, plain)
	if err != nil {
		return err
	}
	ids := make([]string, many)
	for i := range ids {
		made, err := b.api.CreateInstance(ctx, sol.CreateVnfRequest{VnfdID: vnfd})
		if err != nil {
			return err
		}
		ids[i] = made.ID
	}
	for _, step := range []struct {
		name string
		op   sol.LcmOperationType
		body func(id string) (any, error)
	}{
		{"instantiate", sol.LcmOperationInstantiate, func(string) (any, error) {
			return sol.InstantiateVnfRequest{
				FlavourID: "default", VimConnectionInfo: map[string]sol.VimConnectionInfo{"vim1": s.vim},
				AdditionalParams: userData(),
				ExtVirtualLinks: []sol.ExtVirtualLinkData{link(
					"net0", s.net0, "VDU1_CP1", sol.IpAddressData{Type: sol.IPAddressTypeIPv4, NumDynamicAddresses: 1},
				)},
			}, nil
		}},
		{"scale out", sol.LcmOperationScale, func(string) (any, error) {
			return sol.ScaleVnfRequest{Type: sol.ScaleTypeOut, AspectID: "VDU1_scale"}, nil
		}},
		{"heal one VNFC", sol.LcmOperationHeal, func(id string) (any, error) {
			vnfc, err := b.vnfc(ctx, id, "VDU1")
			return sol.HealVnfRequest{VnfcInstanceID: []string{vnfc}}, err
		}},
		{"terminate", sol.LcmOperationTerminate, func(string) (any, error) {
			return sol.TerminateVnfRequest{TerminationType: sol.TerminationTypeForceful}, nil
		}},
	} {
		bodies := make([]any, many)
		for i, id := range ids {
			if bodies[i], err = step.body(id); err != nil {
				return err
			}
		}
		if err := b.allAtOnce(ctx, s, step.name, step.op, ids, bodies); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	for _, id := range ids {
		if err := b.api.DeleteInstance(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// allAtOnce starts an operation of every instance and waits for all.
func (b *bench) allAtOnce(
	ctx context.Context,
	s surroundings,
	name string,
	op sol.LcmOperationType,
	ids []string,
	bodies []any,
) error {
	if _, err := s.calls(ctx); err != nil {
		return err
	}
	before, err := b.node.Usage()
	if err != nil {
		return err
	}
	began := time.Now()
	ops := make([]string, len(ids))
	for i, id := range ids {
		if ops[i], err = b.api.Start(ctx, id, op, bodies[i]); err != nil {
			return err
		}
	}
	took, err := stack.Await(ctx, b.api, ops...)
	if err != nil {
		return err
	}
	wall := time.Since(began)
	after, err := b.node.Usage()
	if err != nil {
		return err
	}
	calls, err := s.calls(ctx)
	if err != nil {
		return err
	}
	note := counts(calls, len(ids))
	if s.heat != nil {
		var whole, own time.Duration
		for i, id := range ids {
			busy, err := s.heat(ctx, id, began)
			if err != nil {
				return err
			}
			whole, own = whole+took[i], own+busy
		}
		n := float64(len(ids))
		note = fmt.Sprintf(
			"mean %.1f s, of which Heat %.1f s, added %.1f s; ",
			whole.Seconds()/n,
			own.Seconds()/n,
			(whole-own).Seconds()/n,
		) + note
	}
	b.row(name+", all at once", strconv.Itoa(len(ids)),
		fmt.Sprintf("%.2f s for all, %s CPU each", wall.Seconds(), ms((after.CPU-before.CPU)/time.Duration(len(ids)))),
		note)
	return nil
}

// meter counts a node's calls to VIMs by its metrics.
type meter struct {
	url  string
	seen map[string]int
}

// calls counts those to each service since the last time.
func (m *meter) calls(ctx context.Context) (map[string]int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	now := map[string]int{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		labels, ok := strings.CutPrefix(lines.Text(), "gybe_vim_request_duration_seconds_count{")
		if !ok {
			continue
		}
		_, service, _ := strings.Cut(labels, `service="`)
		service, _, _ = strings.Cut(service, `"`)
		count, err := strconv.ParseFloat(labels[strings.LastIndexByte(labels, ' ')+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("read the metric %s: %w", lines.Text(), err)
		}
		now[service] += int(count)
	}
	since := map[string]int{}
	for service, count := range now {
		since[service] = count - m.seen[service]
	}
	m.seen = now
	return since, lines.Err()
}

// heatWork reads from Heat's events how long it worked on stacks, to the second. The stacks are not looked at while it
// works.
type heatWork struct {
	heat *gophercloud.ServiceClient
	ids  map[string]string // of stacks by name: one that is deleted is only found by its id
}

// since is the time that Heat's actions on the stack of an instance took since a time.
func (h *heatWork) since(ctx context.Context, instance string, began time.Time) (time.Duration, error) {
	name := "vnf-" + instance
	if h.ids[name] == "" {
		var body struct {
			Stacks []struct{ ID string }
		}
		if err := get(ctx, h.heat, h.heat.ServiceURL("stacks")+"?name="+name, &body); err != nil {
			return 0, err
		}
		if len(body.Stacks) != 1 {
			return 0, fmt.Errorf("heat has %d stacks %s", len(body.Stacks), name)
		}
		h.ids[name] = body.Stacks[0].ID
	}
	var body struct {
		Events []struct {
			Time   string `json:"event_time"`
			Status string `json:"resource_status"`
		}
	}
	if err := get(ctx, h.heat, h.heat.ServiceURL("stacks", name, h.ids[name], "events")+"?sort_dir=asc&resource_name="+
		name, &body); err != nil {
		return 0, err
	}
	var busy time.Duration
	var start time.Time
	for _, e := range body.Events {
		at, err := time.Parse(time.RFC3339, e.Time)
		if err != nil {
			return 0, err
		}
		switch working := strings.HasSuffix(e.Status, "_IN_PROGRESS"); {
		case at.Before(began.Truncate(time.Second)):
		case working:
			start = at
		case !start.IsZero():
			busy += at.Sub(start)
			start = time.Time{}
		}
	}
	return busy, nil
}
