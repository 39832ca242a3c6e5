package nodeport

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// sharedBackend is the backend that the driver of a cluster keeps on the cluster's load balancer: its servers are the
// cluster's nodes, without a port, so that HAProxy connects to the port that the client has connected to.
const sharedBackend = "kubernetes-nodeport"

// The sections of a VNF instance have names that begin with gybe_, the instance's id and an underscore. There are no
// marks around them: others who change the file do not know marks, and could put their lines on the wrong side.
const ownPrefix = "gybe_"

var ownName = regexp.MustCompile("^" + ownPrefix + "([0-9a-f-]{36})_")

// sectionWords begin a section of HAProxy's configuration.
var sectionWords = []string{
	"global", "defaults", "frontend", "backend", "listen", "userlist", "peers", "resolvers", "mailers", "cache",
	"program", "http-errors", "ring", "fcgi-app", "log-forward", "crt-store", "traces", "log-profile", "acme",
}

// config is HAProxy's configuration file in lines, which are kept as they are.
type config struct {
	lines    []string
	sections []section
}

// section is a part of the file: lines first to end-1. Empty lines and comments after its settings are not part of it.
type section struct {
	kind, name string
	first, end int
	// owner is the VNF instance that the section was written for, "" for none.
	owner string
}

// parseConfig finds the sections of a file.
func parseConfig(text string) *config {
	c := &config{lines: slices.Collect(strings.Lines(text))}
	for n, line := range c.lines {
		words := wordsOf(line)
		if len(words) == 0 {
			continue
		}
		if slices.Contains(sectionWords, words[0]) {
			s := section{kind: words[0], first: n}
			if len(words) > 1 {
				s.name = words[1]
			}
			if own := ownName.FindStringSubmatch(s.name); own != nil {
				s.owner = own[1]
			}
			c.sections = append(c.sections, s)
		}
		if last := len(c.sections) - 1; last >= 0 {
			c.sections[last].end = n + 1
		}
	}
	return c
}

// wordsOf are the words of a line without its comment. Quotes are not read: no line that matters here needs them.
func wordsOf(line string) []string {
	line, _, _ = strings.Cut(line, "#")
	return strings.Fields(line)
}

// body are the lines of a section after the first, as words; empty ones are left out.
func (c *config) body(s section) [][]string {
	var out [][]string
	for _, line := range c.lines[s.first+1 : s.end] {
		if words := wordsOf(line); len(words) > 0 {
			out = append(out, words)
		}
	}
	return out
}

// ports lists the TCP ports that a section listens on.
func (c *config) ports(s section) []portRange {
	var out []portRange
	for _, words := range c.body(s) {
		if words[0] != "bind" || len(words) < 2 {
			continue
		}
		for address := range strings.SplitSeq(words[1], ",") {
			if r, ok := boundPorts(address); ok {
				out = append(out, r)
			}
		}
	}
	return out
}

// portRange has the ports from first to last.
type portRange struct{ first, last int }

func (r portRange) has(port int) bool { return r.first <= port && port <= r.last }

// boundPorts reads an address of bind, such as *:80, :::443, ipv4@10.0.0.1:8000-8010; false for one without a port,
// such as a Unix socket.
func boundPorts(address string) (portRange, bool) {
	at := strings.LastIndexByte(address, ':')
	if at < 0 {
		return portRange{}, false
	}
	from, to, isRange := strings.Cut(address[at+1:], "-")
	first, err := strconv.Atoi(from)
	if err != nil {
		return portRange{}, false
	}
	last := first
	if isRange {
		if last, err = strconv.Atoi(to); err != nil {
			return portRange{}, false
		}
	}
	return portRange{first, last}, true
}

// owned lists the ports in the sections of an instance.
func (c *config) owned(instance string) []int {
	var out []int
	for _, s := range c.sections {
		if s.owner != instance {
			continue
		}
		for _, r := range c.ports(s) {
			out = append(out, r.first)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// user is a section that listens on a port.
type user struct {
	port    int
	section section
}

// String says who uses the port.
func (u user) String() string {
	if u.section.owner != "" {
		return fmt.Sprintf("the port %d is used by VNF instance %s (%s %s)", u.port, u.section.owner, u.section.kind,
			u.section.name)
	}
	return fmt.Sprintf("the port %d is used by the %s %s of HAProxy", u.port, u.section.kind, u.section.name)
}

// taken finds the first of the ports that a section listens on that is not the instance's.
func (c *config) taken(instance string, ports []int) (user, bool) {
	for _, s := range c.sections {
		if s.owner == instance {
			continue
		}
		for _, r := range c.ports(s) {
			if n := slices.IndexFunc(ports, r.has); n >= 0 {
				return user{ports[n], s}, true
			}
		}
	}
	return user{}, false
}

// bound reports whether any section listens on a port.
func (c *config) bound(port int) bool {
	return slices.ContainsFunc(c.sections, func(s section) bool {
		return slices.ContainsFunc(c.ports(s), func(r portRange) bool { return r.has(port) })
	})
}

// shares reports whether the file has the backend that the driver of a cluster keeps, for the cluster with these nodes:
// then it follows the nodes of the cluster by itself.
func (c *config) shares(nodes []node) bool {
	for _, s := range c.sections {
		if s.kind != "backend" || s.name != sharedBackend || s.owner != "" {
			continue
		}
		for _, words := range c.body(s) {
			if words[0] == "server" && len(words) > 2 &&
				slices.ContainsFunc(nodes, func(n node) bool { return n.address.String() == words[2] }) {
				return true
			}
		}
	}
	return false
}

// scriptWords are the settings in a frontend that Tacker's configure_lb.sh has written.
var scriptWords = []string{"mode", "bind", "option", "default_backend"}

// byScript reports whether a section is a frontend that Tacker's configure_lb.sh has written for one of the Services.
// One that was changed by hand is not: its other settings would be lost.
func (c *config) byScript(s section, services []serviceName) bool {
	if s.kind != "frontend" || s.owner != "" ||
		!slices.ContainsFunc(services, func(n serviceName) bool { return n.frontend() == s.name }) {
		return false
	}
	shared := false
	for _, words := range c.body(s) {
		if !slices.Contains(scriptWords, words[0]) {
			return false
		}
		shared = shared || words[0] == "default_backend" && len(words) == 2 && words[1] == sharedBackend
	}
	return shared
}

// takeOver removes the frontends that Tacker's configure_lb.sh has written for the Services, and returns their names.
func (c *config) takeOver(services []serviceName) []string {
	return c.cut(func(s section) bool { return c.byScript(s, services) })
}

// cut removes sections and returns their names.
func (c *config) cut(remove func(section) bool) []string {
	var removed []string
	lines := slices.Clone(c.lines)
	for _, s := range slices.Backward(c.sections) {
		if remove(s) {
			lines = slices.Delete(lines, s.first, s.end)
			removed = append(removed, s.name)
		}
	}
	*c = *parseConfig(strings.Join(lines, ""))
	slices.Sort(removed)
	return removed
}

// replace puts sections in the place of those of the instance, or at the end of the file, and returns the new file.
func (c *config) replace(instance, sections string) string {
	first := len(c.lines)
	if n := slices.IndexFunc(c.sections, func(s section) bool { return s.owner == instance }); n >= 0 {
		first = c.sections[n].first
	}
	c.cut(func(s section) bool { return s.owner == instance })
	before := strings.Join(c.lines[:first], "")
	if sections != "" && before != "" && !strings.HasSuffix(before, "\n") {
		before += "\n"
	}
	return before + sections + strings.Join(c.lines[first:], "")
}

// render makes the sections of an instance. With shared the frontends use the backend that follows the cluster's nodes.
// Otherwise each port has the nodes as servers of its own, whose check tells which nodes serve it.
func render(instance string, services []service, nodes []node, shared bool) string {
	var b strings.Builder
	for _, s := range services {
		name := ownPrefix + instance + "_" + s.frontend()
		if shared {
			fmt.Fprintf(&b, "frontend %s\n%s    mode tcp\n", name, notice)
			for _, port := range s.ports {
				fmt.Fprintf(&b, "    bind *:%d\n", port)
			}
			fmt.Fprintf(&b, "    option tcplog\n    default_backend %s\n", sharedBackend)
			continue
		}
		for _, port := range s.ports {
			fmt.Fprintf(&b, "listen %s_%d\n%s    mode tcp\n    bind *:%d\n    option tcplog\n    balance roundrobin\n",
				name, port, notice, port)
			for _, n := range nodes {
				fmt.Fprintf(&b, "    server %s %s check\n", n.name,
					net.JoinHostPort(n.address.String(), strconv.Itoa(port)))
			}
		}
	}
	return b.String()
}

// notice is for those who read the file.
const notice = "    # written by Gybe for a VNF instance; changes will be lost\n"
