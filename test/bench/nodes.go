package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/stack"
)

const (
	burst        = 300 // instantiations at once
	burstClients = 32  // connections that send them
	burstRounds  = 3   // per number of nodes
	mostNodes    = 3
)

// nodes compares how many instantiations per second one, two and three nodes run on the same database, and what each
// costs. The rounds alternate between the numbers of nodes, so that other load on the machine affects all of them, and
// begin with a burst that is not measured.
func (b *bench) nodes(ctx context.Context, dir string) error {
	vnfd, params, err := b.plainPackage(ctx, dir)
	if err != nil {
		return err
	}
	all := []*stack.Node{b.node}
	for len(all) < mostNodes {
		n, err := b.stack.AddNode(ctx)
		if err != nil {
			return err
		}
		all = append(all, n)
	}
	sums := make([]bursts, mostNodes)
	for range burstRounds {
		// Some nodes have just started: their connections plan each statement once, and their caches are empty.
		if _, err := b.oneBurst(ctx, all, vnfd, params); err != nil {
			return err
		}
		for n := mostNodes; n > 0; n-- {
			got, err := b.oneBurst(ctx, all[:n], vnfd, params)
			if err != nil {
				return err
			}
			sums[n-1].add(got)
			if n > 1 {
				if err := all[n-1].Stop(20 * time.Second); err != nil {
					return err
				}
			}
		}
		for _, n := range all[1:] {
			if err := n.Start(ctx); err != nil {
				return err
			}
		}
	}
	for _, n := range all[1:] {
		if err := n.Stop(20 * time.Second); err != nil {
			return err
		}
	}
	for i, s := range sums {
		note := "aim ≥ 100 per second"
		if i > 0 {
			note = fmt.Sprintf("%.2f of one node; aim ≥ 1", s.rate()/sums[0].rate())
		}
		b.row("instantiate, all at once", fmt.Sprintf("%d, %d node(s)", burst, i+1), s.String(), note)
	}
	return nil
}

// bursts sums up measurements of the same number of nodes.
type bursts struct {
	n                   int
	wall                time.Duration
	gybe, database, sim time.Duration // CPU
}

func (s *bursts) add(o bursts) {
	s.n, s.wall = s.n+o.n, s.wall+o.wall
	s.gybe, s.database, s.sim = s.gybe+o.gybe, s.database+o.database, s.sim+o.sim
}

func (s *bursts) rate() float64 { return float64(s.n) / s.wall.Seconds() }

func (s *bursts) String() string {
	each := func(d time.Duration) string { return ms(d / time.Duration(s.n)) }
	return fmt.Sprintf("%.0f per second; CPU each: gybe %s, PostgreSQL %s, simcloud %s", s.rate(), each(s.gybe),
		each(s.database), each(s.sim))
}

// oneBurst creates instances, instantiates all of them at once by way of all nodes, and waits for the last. It
// terminates and deletes them afterwards, outside the measurement.
func (b *bench) oneBurst(
	ctx context.Context, nodes []*stack.Node, vnfd string, params json.RawMessage,
) (bursts, error) {
	clients := make([]*client.Client, len(nodes))
	for i, n := range nodes {
		var err error
		if clients[i], err = client.New(n.URL, nil); err != nil {
			return bursts{}, err
		}
	}
	ids, ops := make([]string, burst), make([]string, burst)
	err := each(ctx, func(ctx context.Context, i int) error {
		made, err := clients[i%len(clients)].CreateInstance(ctx, sol.CreateVnfRequest{VnfdID: vnfd})
		if err == nil {
			ids[i] = made.ID
		}
		return err
	})
	if err != nil {
		return bursts{}, err
	}
	before, err := b.used(nodes)
	if err != nil {
		return bursts{}, err
	}
	began := time.Now()
	err = each(ctx, func(ctx context.Context, i int) error {
		var err error
		ops[i], err = clients[i%len(clients)].Instantiate(ctx, ids[i], params)
		return err
	})
	if err != nil {
		return bursts{}, err
	}
	if _, err := stack.Await(ctx, clients[0], ops...); err != nil {
		return bursts{}, err
	}
	wall := time.Since(began)
	after, err := b.used(nodes)
	if err != nil {
		return bursts{}, err
	}
	got := bursts{
		n: burst, wall: wall, gybe: after.gybe - before.gybe, database: after.database - before.database,
		sim: after.sim - before.sim,
	}
	return got, each(ctx, func(ctx context.Context, i int) error {
		c := clients[i%len(clients)]
		op, err := c.Start(ctx, ids[i], sol.LcmOperationTerminate, sol.TerminateVnfRequest{
			TerminationType: sol.TerminationTypeForceful,
		})
		if err != nil {
			return err
		}
		if _, err := stack.Await(ctx, c, op); err != nil {
			return err
		}
		return c.DeleteInstance(ctx, ids[i])
	})
}

// each calls fn for every instance of a burst, from as many goroutines as there are clients.
func each(ctx context.Context, fn func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(burstClients)
	for i := range burst {
		g.Go(func() error { return fn(ctx, i) })
	}
	return g.Wait()
}

// used reads the CPU time that all processes have used so far.
func (b *bench) used(nodes []*stack.Node) (bursts, error) {
	var u bursts
	for _, n := range nodes {
		now, err := n.Usage()
		if err != nil {
			return u, err
		}
		u.gybe += now.CPU
	}
	sim, err := b.stack.SimProcess().Usage()
	if err != nil {
		return u, err
	}
	u.sim = sim.CPU
	u.database, err = family(b.stack.Database.PID())
	return u, err
}

// family is the CPU time of a process, its children, and those of them that have ended.
func family(root int) (time.Duration, error) {
	total, err := cpuOf(root, true)
	if err != nil {
		return 0, err
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	for _, path := range stats {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+2:]))
		if parent, err := strconv.Atoi(fields[1]); err != nil || parent != root {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		if cpu, err := cpuOf(pid, false); err == nil {
			total += cpu
		}
	}
	return total, nil
}

// cpuOf reads a process' user and system time from /proc, with those of its ended children if waited is set.
func cpuOf(pid int, waited bool) (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+2:]))
	last := 13
	if waited {
		last = 15
	}
	var ticks int64
	for _, f := range fields[11:last] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}
