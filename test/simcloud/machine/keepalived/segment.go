package keepalived

import (
	"net/netip"
	"slices"
	"sync"
)

// Segment is the network on which virtual addresses move: all machines of a fleet.
type Segment struct {
	mu      sync.Mutex
	members []*member
	holders map[netip.Addr]*member
}

// member is one running vrrp_instance.
type member struct {
	inst    *instance
	bonus   int  // what track scripts add to the priority
	healthy bool // no track script without weight has failed
	// eligible reports whether the machine's network works and lets the address through.
	eligible func(vip netip.Addr) bool
	acquire  func(vip netip.Addr)
	release  func(vip netip.Addr)
}

// NewSegment returns a segment without members.
func NewSegment() *Segment { return &Segment{holders: map[netip.Addr]*member{}} }

func (s *Segment) join(m *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members = append(s.members, m)
	s.electAll(m.inst.vips)
}

func (s *Segment) leave(m *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members = slices.DeleteFunc(s.members, func(o *member) bool { return o == m })
	s.electAll(m.inst.vips)
}

// update changes what a member's scripts said.
func (s *Segment) update(m *member, healthy bool, bonus int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.healthy == healthy && m.bonus == bonus {
		return
	}
	m.healthy, m.bonus = healthy, bonus
	s.electAll(m.inst.vips)
}

// Elect looks at every address again, after machines have changed.
func (s *Segment) Elect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []netip.Addr
	for _, m := range s.members {
		for _, v := range m.inst.vips {
			if !slices.Contains(all, v) {
				all = append(all, v)
			}
		}
	}
	s.electAll(all)
}

func (s *Segment) electAll(vips []netip.Addr) {
	for _, v := range vips {
		s.elect(v)
	}
}

// elect gives an address to the member that VRRP would: the present holder stays if no other may preempt it.
func (s *Segment) elect(vip netip.Addr) {
	can := func(m *member) bool {
		return m.healthy && slices.Contains(m.inst.vips, vip) && m.eligible(vip)
	}
	holder := s.holders[vip]
	best := holder
	if holder != nil && (!slices.Contains(s.members, holder) || !can(holder)) {
		best = nil
	}
	for _, m := range s.members {
		if m == best || !can(m) {
			continue
		}
		if best == nil || m.inst.priority+m.bonus > best.inst.priority+best.bonus && (best != holder ||
			!m.inst.nopreempt) {
			best = m
		}
	}
	if best == holder {
		return
	}
	if holder != nil {
		holder.release(vip)
	}
	if best == nil {
		delete(s.holders, vip)
		return
	}
	s.holders[vip] = best
	best.acquire(vip)
}
