package ubuntu

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

func (o *OS) ip(_ context.Context, p *process.Proc) int {
	v4, oneLine, brief := false, false, false
	args := p.Args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "-4":
			v4 = true
		case "-o", "-oneline", "--oneline":
			oneLine = true
		case "-br", "-brief":
			brief = true
		case "-6":
			return 0
		}
		args = args[1:]
	}
	if len(args) == 0 {
		p.Errorf("Usage: ip [ OPTIONS ] OBJECT { COMMAND | help }\n")
		return 255
	}
	switch obj := args[0]; {
	case isPrefix(obj, "address"):
		return o.ipAddr(p, args[1:], v4, oneLine, brief)
	case isPrefix(obj, "link"):
		if len(args) > 1 && (args[1] == "set" || args[1] == "add" || args[1] == "delete" || args[1] == "del") {
			return 0
		}
		p.Printf("1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN mode DEFAULT group default qlen 1000\n    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00\n")
		p.Printf("2: %s: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1450 qdisc fq_codel state UP mode DEFAULT group default qlen 1000\n    link/ether %s brd ff:ff:ff:ff:ff:ff\n", nic, o.mac())
	case isPrefix(obj, "route"):
		return o.ipRoute(p, args[1:])
	case isPrefix(obj, "neighbour"), obj == "rule", obj == "netns":
	default:
		p.Errorf("Object \"%s\" is unknown, try \"ip help\".\n", obj)
		return 255
	}
	return 0
}

// isPrefix reports whether short is an abbreviation of word, as ip allows.
func isPrefix(short, word string) bool { return short != "" && strings.HasPrefix(word, short) }

func (o *OS) mac() string {
	b := o.Net.Primary().As4()
	return fmt.Sprintf("fa:16:3e:%02x:%02x:%02x", b[1], b[2], b[3])
}

func (o *OS) ipAddr(p *process.Proc, args []string, v4, oneLine, brief bool) int {
	if len(args) > 0 && (args[0] == "add" || args[0] == "del" || args[0] == "delete" || args[0] == "flush" || args[0] == "replace") {
		if needRoot(p) {
			p.Errorf("RTNETLINK answers: Operation not permitted\n")
			return 2
		}
		return 0
	}
	dev := ""
	for i, a := range args {
		if a == "dev" && i+1 < len(args) {
			dev = args[i+1]
		} else if i == len(args)-1 && a != "show" && a != "list" && a != "ls" && a != "up" && (i == 0 || args[i-1] == "show") {
			dev = a
		}
	}
	if dev != "" && dev != nic && dev != "lo" {
		p.Errorf("Device \"%s\" does not exist.\n", dev)
		return 1
	}
	var own []string
	for i, a := range o.Net.Addresses() {
		bits, label := "/24", ""
		if ip, err := netip.ParseAddr(a); err == nil && i > 0 && o.virtual(ip) {
			bits, label = "/32", " secondary"
		}
		own = append(own, a+bits+label)
	}
	show := func(n int, name, flags, link string, addrs []string) {
		if dev != "" && dev != name {
			return
		}
		if brief {
			p.Printf("%-16s %-14s %s \n", name, map[bool]string{true: "UNKNOWN", false: "UP"}[name == "lo"], strings.Join(addrs, " "))
			return
		}
		if !oneLine {
			p.Printf("%d: %s: %s group default qlen 1000\n", n, name, flags)
			if !v4 {
				p.Printf("    %s\n", link)
			}
		}
		for _, a := range addrs {
			cidr, label, _ := strings.Cut(a, " ")
			ip, _, _ := strings.Cut(cidr, "/")
			brd, scope := " brd "+ip[:strings.LastIndexByte(ip, '.')]+".255", "global"
			if name == "lo" {
				brd, scope = "", "host"
			}
			if strings.HasSuffix(cidr, "/32") {
				brd = ""
			}
			if label != "" {
				label = " " + label
			}
			if oneLine {
				p.Printf("%d: %s    inet %s%s scope %s%s %s\\       valid_lft forever preferred_lft forever\n", n, name, cidr, brd, scope, label, name)
			} else {
				p.Printf("    inet %s%s scope %s%s %s\n       valid_lft forever preferred_lft forever\n", cidr, brd, scope, label, name)
			}
		}
	}
	show(1, "lo", "<LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN", "link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00", []string{"127.0.0.1/8"})
	show(2, nic, "<BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1450 qdisc fq_codel state UP", "link/ether "+o.mac()+" brd ff:ff:ff:ff:ff:ff", own)
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

func (o *OS) ipRoute(p *process.Proc, args []string) int {
	me := o.Net.Primary()
	gw := "0.0.0.0"
	if me.IsValid() {
		b := me.As4()
		gw = netip.AddrFrom4([4]byte{b[0], b[1], b[2], 1}).String()
	}
	args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "-4" })
	if len(args) > 0 && args[0] == "get" && len(args) > 1 {
		p.Printf("%s via %s dev %s src %s uid %d \n    cache \n", args[1], gw, nic, me, p.Cred.UID)
		return 0
	}
	if len(args) > 0 && (args[0] == "add" || args[0] == "del" || args[0] == "replace") {
		return 0
	}
	p.Printf("default via %s dev %s proto dhcp src %s metric 100 \n", gw, nic, me)
	if !slices.Contains(args, "default") && me.IsValid() {
		p.Printf("%s dev %s proto kernel scope link src %s metric 100 \n", netip.PrefixFrom(me, 24).Masked(), nic, me)
	}
	return 0
}

func (o *OS) ss(_ context.Context, p *process.Proc) int {
	p.Printf("State    Recv-Q   Send-Q     Local Address:Port     Peer Address:Port  Process\n")
	for _, s := range o.Net.Sockets() {
		p.Printf("LISTEN   0        4096       %18s     0.0.0.0:*\n", s)
	}
	return 0
}

// nc tells whether a port accepts connections: nc -z host port.
func (o *OS) nc(ctx context.Context, p *process.Proc) int {
	var args []string
	wait := 5
	for i := 1; i < len(p.Args); i++ {
		switch a := p.Args[i]; {
		case a == "-w" || a == "-G":
			if i++; i < len(p.Args) {
				wait, _ = strconv.Atoi(p.Args[i])
			}
		case strings.HasPrefix(a, "-w"):
			wait, _ = strconv.Atoi(a[2:])
		case !strings.HasPrefix(a, "-"):
			args = append(args, a)
		}
	}
	if len(args) != 2 {
		return 1
	}
	ctx, cancel := o.Sys.Clock.WithTimeout(ctx, seconds(float64(wait)))
	defer cancel()
	c, err := o.Net.Dial(ctx, args[0]+":"+args[1])
	if err != nil {
		return p.Errorf("nc: connect to %s port %s (tcp) failed: %s\n", args[0], args[1], process.Reason(err))
	}
	_ = c.Close()
	p.Errorf("Connection to %s %s port [tcp/*] succeeded!\n", args[0], args[1])
	return 0
}

func (o *OS) ping(_ context.Context, p *process.Proc) int {
	host := p.Args[len(p.Args)-1]
	ip, err := o.Net.Resolve(host)
	if err != nil {
		p.Errorf("ping: %s: Name or service not known\n", host)
		return 2
	}
	p.Printf("64 bytes from %s: icmp_seq=1 ttl=64 time=0.04 ms\n", ip)
	return 0
}
