package keepalived

import (
	"context"
	"net/netip"
	"os"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// Host is the machine that the program runs on.
type Host struct {
	Segment *Segment
	// Interface is the name of the machine's network interface.
	Interface string
	// Eligible reports whether the machine's network works and lets a virtual address through.
	Eligible func(vip netip.Addr) bool
	// Acquire and Release take the address onto the machine and off it. They must not call the segment.
	Acquire, Release func(vip netip.Addr)
	// Ready tells systemd that the daemon serves.
	Ready func(p *process.Proc)
}

// minPause bounds how often track scripts run, however fast the clock is.
const minPause = 200 * time.Millisecond

// configuration is the file that says which addresses there are.
const configuration = "/etc/keepalived/keepalived.conf"

// Program is keepalived: it takes part in the elections until a signal makes it end; HUP reloads.
func (h Host) Program(ctx context.Context, p *process.Proc) int {
	if _, ok := p.Options(false, "n", "dont-fork=n"); !ok {
		return 1
	}
	c, ok := h.load(p)
	if !ok {
		return 4
	}
	reload := make(chan struct{}, 1)
	p.Handle(func(s process.Signal) bool {
		if s != process.SIGHUP {
			return false
		}
		select {
		case reload <- struct{}{}:
		default:
		}
		return true
	})
	for {
		round, end := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			h.serve(round, p, c)
		}()
		select {
		case <-ctx.Done():
			end()
			<-done
			return 0
		case <-reload:
			next, ok := h.load(p)
			end()
			<-done
			if ok {
				c = next
			}
		}
	}
}

func (h Host) load(p *process.Proc) (*config, bool) {
	b, err := p.ReadFile(configuration)
	if err != nil {
		p.Errorf("Unable to find configuration file %s (glob returned 3)\n", configuration)
		return nil, false
	}
	c := parse(string(b))
	for _, x := range c.problems {
		p.Errorf("%s: %s\n", configuration, x)
	}
	return c, true
}

// serve joins the elections with every instance and runs the scripts until ctx ends.
func (h Host) serve(ctx context.Context, p *process.Proc, c *config) {
	var members []*member
	pause := time.Duration(0)
	for _, i := range c.instances {
		if i.iface != h.Interface {
			p.Errorf("(%s) interface %s doesn't exist: entering FAULT state\n", i.name, i.iface)
			continue
		}
		m := &member{inst: i, eligible: h.Eligible, acquire: h.Acquire, release: h.Release}
		m.healthy, m.bonus = h.scripts(ctx, p, c, i)
		members = append(members, m)
		for _, t := range i.track {
			if s := c.scripts[t]; s != nil && (pause == 0 || s.interval < pause) {
				pause = max(s.interval, 100*time.Millisecond)
			}
		}
	}
	for _, m := range members {
		h.Segment.join(m)
		p.Errorf("(%s) Entering %s STATE\n", m.inst.name, "BACKUP")
	}
	if h.Ready != nil {
		h.Ready(p)
	}
	defer func() {
		for _, m := range members {
			h.Segment.leave(m)
		}
	}()
	if pause == 0 {
		<-ctx.Done()
		return
	}
	t := time.NewTicker(max(p.Sys.Clock.Real(pause), minPause))
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			for _, m := range members {
				healthy, bonus := h.scripts(ctx, p, c, m.inst)
				if ctx.Err() == nil {
					h.Segment.update(m, healthy, bonus)
				}
			}
		}
	}
}

// scripts runs an instance's track scripts.
func (h Host) scripts(ctx context.Context, p *process.Proc, c *config, i *instance) (healthy bool, bonus int) {
	healthy = true
	for _, t := range i.track {
		s := c.scripts[t]
		if s == nil {
			continue
		}
		good := h.run(ctx, p, s)
		switch {
		case s.weight == 0:
			healthy = healthy && good
		case s.weight > 0 && good, s.weight < 0 && !good:
			bonus += s.weight
		}
	}
	return healthy, bonus
}

func (h Host) run(ctx context.Context, p *process.Proc, s *script) bool {
	ctx, cancel := context.WithTimeout(ctx, max(p.Sys.Clock.Real(s.timeout), time.Second))
	defer cancel()
	child, prog, err := p.Spawn([]string{"sh", "-c", s.command}, func(c *process.Proc) {
		if null, err := c.Open("/dev/null", os.O_RDWR, 0); err == nil {
			c.SetFD(0, null)
			c.SetFD(1, null.Dup())
			c.SetFD(2, null.Dup())
		}
		c.NewSession()
		c.Quiet = true
	})
	if err != nil {
		return false
	}
	child.Launch(prog)
	st, err := child.Wait(ctx)
	if err != nil {
		_ = p.Kill(-child.PID, process.SIGKILL)
		return false
	}
	return st == 0
}
