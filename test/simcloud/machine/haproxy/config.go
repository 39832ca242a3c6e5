// Package haproxy is the load balancer of a simulated machine: it reads the part of haproxy.cfg that matters for
// passing TCP connections on, checks it in haproxy's words, and really forwards.
package haproxy

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// Config is a parsed configuration.
type Config struct {
	proxies  []*proxy
	backends map[string]*proxy
	// Problems are what haproxy -c would complain of; any of them is fatal.
	Problems []string
}

// proxy is a frontend, backend or listen section.
type proxy struct {
	kind, name string
	binds      []netip.AddrPort
	def        string // default_backend
	servers    []*server
	check      httpCheck
	connect    time.Duration
	next       int
}

// httpCheck is option httpchk.
type httpCheck struct {
	on     bool
	method string
	uri    string
	status string
}

// server is one line of a backend.
type server struct {
	name     string
	addr     string // host:port, or a host alone: the port is the one that the client has connected to
	check    bool
	checkTLS bool
	inter    time.Duration
}

var sections = []string{
	"global", "defaults", "frontend", "backend", "listen", "userlist", "peers", "resolvers",
	"mailers", "cache", "program", "http-errors", "ring", "fcgi-app",
}

// keywords are the words that may begin a line of a proxy section.
var keywords = strings.Fields(`bind mode option default_backend use_backend server server-template default-server balance timeout log maxconn retries acl
	http-check tcp-check tcp-request tcp-response http-request http-response stats stick-table stick fullconn cookie errorfile description disabled enabled
	source hash-type compression monitor-uri rate-limit email-alert external-check load-server-state-from-file redirect capture unique-id-format unique-id-header
	log-format log-tag filter bind-process id guid force-persist ignore-persist persist max-keep-alive-queue no http-reuse errorloc monitor dispatch declare`)

// Parse reads a configuration; file is its name in messages.
func Parse(file, text string) *Config {
	c := &Config{backends: map[string]*proxy{}}
	var cur *proxy
	section := ""
	defaults := &proxy{connect: 5 * time.Second}
	defServer := server{inter: 2 * time.Second}
	no := 0
	alert := func(format string, a ...any) {
		c.Problems = append(c.Problems, fmt.Sprintf("parsing [%s:%d] : %s", file, no, fmt.Sprintf(format, a...)))
	}
	for line := range strings.Lines(text) {
		no++
		f := process.Words(line, "\"'", "#")
		if len(f) == 0 {
			continue
		}
		if slices.Contains(sections, f[0]) {
			section, cur = f[0], nil
			defServer = server{inter: 2 * time.Second}
			switch section {
			case "defaults":
				defaults = &proxy{connect: 5 * time.Second}
			case "frontend", "backend", "listen":
				if len(f) < 2 {
					alert("'%s' expects an <id> argument", section)
					continue
				}
				cur = &proxy{kind: section, name: f[1], check: defaults.check, connect: defaults.connect}
				for _, p := range c.proxies {
					if p.name == cur.name && (p.kind == cur.kind || p.kind == "listen" || cur.kind == "listen") {
						alert("%s '%s' has the same name as %s '%s'.", cur.kind, cur.name, p.kind, p.name)
					}
				}
				c.proxies = append(c.proxies, cur)
				if section != "frontend" {
					c.backends[cur.name] = cur
				}
			}
			continue
		}
		switch section {
		case "":
			alert("unknown keyword '%s' out of section.", f[0])
		case "defaults", "frontend", "backend", "listen":
			p := cur
			if section == "defaults" {
				p = defaults
			}
			if p == nil {
				continue
			}
			if !slices.Contains(keywords, f[0]) {
				alert("unknown keyword '%s' in '%s' section", f[0], section)
				continue
			}
			p.line(f, &defServer, alert)
		}
	}
	for _, p := range c.proxies {
		if p.def != "" && c.backends[p.def] == nil {
			problem := fmt.Sprintf("Proxy '%s': unable to find required default_backend: '%s'.", p.name, p.def)
			c.Problems = append(c.Problems, problem)
		}
	}
	return c
}

// line takes one setting of a section.
func (p *proxy) line(f []string, def *server, alert func(string, ...any)) {
	switch f[0] {
	case "bind":
		if len(f) < 2 {
			alert("'bind' expects {<path>|addr1:port1[-end1]}{,[addr]:port[-end]}... as arguments.")
			return
		}
		for a := range strings.SplitSeq(f[1], ",") {
			ap, err := bindAddr(a)
			if err != nil {
				alert("'bind' : invalid address: '%s' in '%s'", a, f[1])
				continue
			}
			p.binds = append(p.binds, ap)
		}
	case "mode":
		if len(f) < 2 || !slices.Contains([]string{"tcp", "http", "health", "log"}, f[1]) {
			alert("unknown proxy mode '%s'.", strings.Join(f[1:], " "))
		}
	case "default_backend":
		if len(f) < 2 {
			alert("'default_backend' expects a backend name.")
			return
		}
		p.def = f[1]
	case "timeout":
		if len(f) < 3 {
			alert("'timeout' expects an integer value (in milliseconds)")
			return
		}
		d, ok := duration(f[2])
		if !ok {
			alert("unexpected character in 'timeout %s': '%s'", f[1], f[2])
		}
		if f[1] == "connect" {
			p.connect = d
		}
	case "option":
		if len(f) > 1 && f[1] == "httpchk" {
			if len(f) < 4 {
				alert("'option httpchk' without a method and a URI is not simulated.")
				return
			}
			p.check = httpCheck{on: true, method: f[2], uri: f[3]}
		}
	case "http-check":
		if len(f) < 4 || f[1] != "expect" || f[2] != "status" {
			alert("'http-check' other than 'expect status' is not simulated.")
			return
		}
		p.check.status = f[3]
	case "default-server":
		def.options(f[1:], alert)
	case "server":
		if len(f) < 3 {
			alert("'server' expects <name> and <addr>[:<port>] as arguments.")
			return
		}
		if p.kind == "frontend" {
			alert("'server' not allowed in 'frontend' section.")
			return
		}
		s := *def
		s.name, s.addr = f[1], f[2]
		if host, port, err := net.SplitHostPort(s.addr); err == nil && port == "" || err != nil && !isAddress(s.addr) {
			alert("'server %s' : invalid address: '%s' in '%s'", s.name, host, s.addr)
			return
		}
		if slices.ContainsFunc(p.servers, func(o *server) bool { return o.name == s.name }) {
			alert("%s '%s', another server named '%s' was already defined", p.kind, p.name, s.name)
			return
		}
		s.options(f[3:], alert)
		if s.check && isAddress(s.addr) { // an error since HAProxy 2.2; before, the check was disabled
			alert("'server %s' : has neither service port nor check port.", s.name)
			return
		}
		p.servers = append(p.servers, &s)
	}
}

// isAddress says that a is an IP address without a port.
func isAddress(a string) bool {
	_, err := netip.ParseAddr(a)
	return err == nil
}

func bindAddr(a string) (netip.AddrPort, error) {
	host, port, err := net.SplitHostPort(a)
	if err != nil {
		return netip.AddrPort{}, err
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return netip.AddrPort{}, err
	}
	ip := netip.IPv4Unspecified()
	if host != "" && host != "*" && host != "::" && host != "0.0.0.0" {
		if ip, err = netip.ParseAddr(host); err != nil {
			return netip.AddrPort{}, err
		}
	}
	return netip.AddrPortFrom(ip, uint16(n)), nil
}

// duration reads 1s, 500ms, 10m or a number of milliseconds.
func duration(t string) (time.Duration, bool) {
	if n, err := strconv.Atoi(t); err == nil {
		return time.Duration(n) * time.Millisecond, true
	}
	d, err := time.ParseDuration(strings.Replace(t, "d", "h", 1))
	return d, err == nil
}

// serverSettings are the words after a server's address that take a value.
var serverSettings = []string{"weight", "maxconn", "fall", "rise", "inter", "verify", "ca-file", "on-marked-down"}

// options takes the words after a server's address.
func (s *server) options(f []string, alert func(string, ...any)) {
	for i := 0; i < len(f); i++ {
		switch w := f[i]; {
		case w == "check":
			s.check = true
		case w == "check-ssl", w == "ssl":
			s.checkTLS = true
		case !slices.Contains(serverSettings, w):
			alert("'server %s' : unknown keyword '%s'.", s.name, w)
			return
		case i+1 == len(f):
			alert("'server %s' : '%s' expects a value", s.name, w)
			return
		default:
			if i++; w == "inter" {
				s.inter, _ = duration(f[i])
			}
		}
	}
}
