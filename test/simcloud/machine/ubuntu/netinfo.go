package ubuntu

import (
	"context"
	"net/netip"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// ip is ip -4 -o addr show.
func (o *OS) ip(_ context.Context, p *process.Proc) int {
	const object = "address" // or the beginning of it
	f, ok := p.Options(false, "4o")
	if !ok || len(f.Args) == 0 || !strings.HasPrefix(object, f.Args[0]) {
		p.Errorf("ip: addr show is simulated\n")
		return 255
	}
	p.Printf("1: lo    inet 127.0.0.1/8 scope host lo\\       valid_lft forever preferred_lft forever\n")
	for i, a := range o.Net.Addresses() {
		ip, err := netip.ParseAddr(a)
		if err != nil {
			continue
		}
		if i > 0 && o.virtual(ip) {
			p.Printf("2: %s    inet %s/32 scope global secondary %s\\       valid_lft forever preferred_lft forever\n",
				nic, a, nic)
			continue
		}
		p.Printf("2: %s    inet %s/24 brd %s.255 scope global %s\\       valid_lft forever preferred_lft forever\n",
			nic, a, a[:strings.LastIndexByte(a, '.')], nic)
	}
	return 0
}

func (o *OS) virtual(ip netip.Addr) bool {
	for _, a := range o.Net.Addrs() {
		if a.IP == ip {
			return a.Virtual
		}
	}
	return false
}

// ss is ss -lnt.
func (o *OS) ss(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "lntH")
	if !ok || !f.Has("l") || !f.Has("n") || !f.Has("t") || len(f.Args) > 0 {
		p.Errorf("ss: -lnt is simulated\n")
		return 255
	}
	if !f.Has("H") {
		p.Printf("State  Recv-Q Send-Q  Local Address:Port  Peer Address:Port Process\n")
	}
	for _, s := range o.Net.Sockets() {
		p.Printf("LISTEN 0      4096    %s      0.0.0.0:*\n", s)
	}
	return 0
}
