// Package keepalived moves virtual addresses between simulated machines: it reads keepalived.conf, runs the track
// scripts, and elects the holder of each address among the machines of one segment.
package keepalived

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// instance is a vrrp_instance.
type instance struct {
	name, iface string
	router      int
	priority    int
	nopreempt   bool
	vips        []netip.Addr
	track       []string
}

// script is a vrrp_script.
type script struct {
	command  string
	interval time.Duration
	timeout  time.Duration
	weight   int
}

// config is a parsed keepalived.conf.
type config struct {
	instances []*instance
	scripts   map[string]*script
	problems  []string
}

// block is the parsed text: words and nested blocks.
type block struct {
	words []string
	body  []block
}

// parse reads a configuration.
func parse(text string) *config {
	c := &config{scripts: map[string]*script{}}
	var toks []string
	for line := range strings.Lines(text) {
		if i := strings.IndexAny(line, "#!"); i >= 0 {
			line = line[:i]
		}
		line = strings.NewReplacer("{", " { ", "}", " } ").Replace(line)
		f := process.Words(line, "\"", "")
		if len(f) > 0 {
			toks = append(append(toks, f...), "\n")
		}
	}
	blocks, rest := nest(toks)
	if len(rest) > 0 {
		c.problems = append(c.problems, "Unexpected '}'")
	}
	for _, b := range blocks {
		switch b.words[0] {
		case "vrrp_script":
			s := &script{interval: time.Second, timeout: 5 * time.Second}
			for _, x := range b.body {
				switch x.words[0] {
				case "script":
					s.command = strings.Join(x.words[1:], " ")
				case "interval":
					s.interval = seconds(x.words)
				case "timeout":
					s.timeout = seconds(x.words)
				case "weight":
					s.weight = number(x.words)
				}
			}
			if len(b.words) < 2 || s.command == "" {
				c.problems = append(c.problems, "vrrp_script has no name or no script")
				continue
			}
			c.scripts[b.words[1]] = s
		case "vrrp_instance":
			c.instance(b)
		case "global_defs", "vrrp_sync_group", "static_ipaddress", "virtual_server", "virtual_server_group",
			"vrrp_track_process":
		default:
			c.problems = append(c.problems, fmt.Sprintf("Unknown keyword '%s'", b.words[0]))
		}
	}
	for _, i := range c.instances {
		for _, t := range i.track {
			if c.scripts[t] == nil {
				c.problems = append(c.problems, fmt.Sprintf("(%s) track script %s not found, ignoring...", i.name, t))
			}
		}
	}
	return c
}

func (c *config) instance(b block) {
	i := &instance{priority: 100}
	if len(b.words) > 1 {
		i.name = b.words[1]
	}
	for _, x := range b.body {
		switch x.words[0] {
		case "interface":
			i.iface = strings.Join(x.words[1:], " ")
		case "virtual_router_id":
			i.router = number(x.words)
		case "priority":
			i.priority = number(x.words)
		case "nopreempt":
			i.nopreempt = true
		case "virtual_ipaddress":
			for _, v := range x.body {
				text, _, _ := strings.Cut(v.words[0], "/")
				ip, err := netip.ParseAddr(text)
				if err != nil {
					c.problems = append(c.problems, fmt.Sprintf("(%s) invalid ip address %s", i.name, v.words[0]))
					continue
				}
				i.vips = append(i.vips, ip)
			}
		case "track_script":
			for _, v := range x.body {
				i.track = append(i.track, v.words[0])
			}
		}
	}
	switch {
	case i.router < 1 || i.router > 255:
		problem := fmt.Sprintf("VRRP Error : VRID not valid for %s - must be between 1 & 255", i.name)
		c.problems = append(c.problems, problem)
	case i.iface == "":
		c.problems = append(c.problems, fmt.Sprintf("(%s) Unknown interface!", i.name))
	}
	c.instances = append(c.instances, i)
}

func number(w []string) int {
	if len(w) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(w[1])
	return n
}

func seconds(w []string) time.Duration {
	if len(w) < 2 {
		return time.Second
	}
	f, _ := strconv.ParseFloat(w[1], 64)
	return time.Duration(f * float64(time.Second))
}

// nest groups tokens into blocks up to a closing brace.
func nest(toks []string) (out []block, rest []string) {
	var cur block
	flush := func() {
		if len(cur.words) > 0 {
			out = append(out, cur)
		}
		cur = block{}
	}
	for len(toks) > 0 {
		t := toks[0]
		toks = toks[1:]
		switch t {
		case "\n":
			flush()
		case "{":
			if len(cur.words) == 0 && len(out) > 0 { // the brace on a line of its own
				cur, out = out[len(out)-1], out[:len(out)-1]
			}
			cur.body, toks = nest(toks)
			if len(toks) > 0 {
				toks = toks[1:]
			}
			flush()
		case "}":
			flush()
			return out, append([]string{t}, toks...)
		default:
			cur.words = append(cur.words, t)
		}
	}
	flush()
	return out, nil
}
