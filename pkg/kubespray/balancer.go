package kubespray

import (
	"fmt"
	"slices"
	"strings"
)

// BalancerPort is where the load balancer offers the API servers.
const BalancerPort = 8383

// The sections of HAProxy's configuration that the installation script of a package makes.
const (
	serverBackend   = "kubernetes-apiserver"
	nodePortBackend = "kubernetes-nodeport"
)

// Server is a machine behind the load balancer.
type Server struct{ Name, IP string }

// Balance puts servers in place of those in HAProxy's configuration: masters, at port 6443, behind the API's frontend,
// and workers, at the port that was asked for, behind the frontends of NodePorts. Workers are not checked: HAProxy
// refuses a check without a port. Everything else stays. The error says which section is missing.
func Balance(config []byte, masters, workers []Server) ([]byte, error) {
	out := strings.TrimRight(string(config), "\n") + "\n"
	var err error
	if out, err = backend(out, serverBackend, ":6443 check", masters); err != nil {
		return nil, err
	}
	if out, err = backend(out, nodePortBackend, "", workers); err != nil {
		return nil, err
	}
	return []byte(out), nil
}

// backend replaces the servers of one backend. settings follow the address of each.
func backend(config, name, settings string, servers []Server) (string, error) {
	lines := strings.Split(strings.TrimSuffix(config, "\n"), "\n")
	first := slices.IndexFunc(lines, func(l string) bool { return slices.Equal(section(l), []string{"backend", name}) })
	if first < 0 {
		return "", fmt.Errorf("HAProxy's configuration has no section \"backend %s\"", name)
	}
	end := first + 1
	for end < len(lines) && section(lines[end]) == nil {
		end++
	}
	kept := slices.DeleteFunc(slices.Clone(lines[first+1:end]), func(l string) bool {
		f := strings.Fields(l)
		return len(f) > 0 && f[0] == "server"
	})
	at := len(kept)
	for at > 0 && strings.TrimSpace(kept[at-1]) == "" {
		at--
	}
	var own []string
	for _, s := range servers {
		own = append(own, fmt.Sprintf("    server  %s %s%s", s.Name, s.IP, settings))
	}
	body := slices.Insert(kept, at, own...)
	return strings.Join(slices.Concat(lines[:first+1], body, lines[end:]), "\n") + "\n", nil
}

// keywords begin the sections of HAProxy's configuration.
var keywords = []string{
	"global", "defaults", "frontend", "backend", "listen", "peers", "resolvers", "userlist", "program", "cache",
	"mailers", "ring", "http-errors", "fcgi-app",
}

// section is the words of a line that begins a section; nil for other lines.
func section(line string) []string {
	f := strings.Fields(line)
	if len(f) == 0 || !slices.Contains(keywords, f[0]) {
		return nil
	}
	return f
}
