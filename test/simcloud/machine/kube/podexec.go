package kube

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

func (k *ctl) logs(args []string) error {
	if len(args) == 0 {
		return errors.New("error: expected 'logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]'")
	}
	st, b, err := k.c.do(k.ctx, http.MethodGet, "/api/v1/namespaces/"+url.PathEscape(k.ns)+"/pods/"+url.PathEscape(strings.TrimPrefix(args[0], "pod/"))+"/log", "", nil)
	if err != nil {
		return errors.New(connectError(err))
	}
	if st >= 300 {
		return apiError(st, b)
	}
	k.p.Printf("%s", b)
	return nil
}

// exec knows one program in pods: etcdctl in the etcd pods, given as arguments or, with sh, on standard input.
func (k *ctl) exec(args, rest []string) error {
	if len(args) == 0 {
		return errors.New("error: pod, type/name or --filename must be specified")
	}
	pod := strings.TrimPrefix(args[0], "pod/")
	o, err := k.call(http.MethodGet, "/api/v1/namespaces/"+url.PathEscape(k.ns)+"/pods/"+url.PathEscape(pod), "", nil)
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		rest = args[1:]
	}
	if !strings.HasPrefix(kubeapi.Name(o), "etcd-") {
		return fmt.Errorf("error: Internal error occurred: error executing command in container: exec: %q: executable file not found in $PATH", strings.Join(rest, " "))
	}
	cl := k.n.reg.byCA(k.c.ca)
	if cl == nil {
		return errors.New("error: unable to upgrade connection: the cluster is gone")
	}
	lines := [][]string{rest}
	if len(rest) > 0 && (rest[0] == "sh" || rest[0] == "/bin/sh" || rest[0] == "bash") {
		var text string
		if len(rest) > 2 && rest[1] == "-c" {
			text = rest[2]
		} else {
			b, err := k.p.ReadFile("-")
			if err != nil {
				return err
			}
			text = string(b)
		}
		lines = nil
		for l := range strings.Lines(text) {
			if f := strings.Fields(l); len(f) > 0 {
				lines = append(lines, f)
			}
		}
	}
	for _, l := range lines {
		if err := k.etcdctl(cl, l); err != nil {
			return err
		}
	}
	return nil
}

func (k *ctl) etcdctl(cl *kubeapi.Cluster, words []string) error {
	for len(words) > 0 && strings.Contains(words[0], "=") && !strings.HasPrefix(words[0], "-") {
		words = words[1:]
	}
	if len(words) == 0 || words[0] != "etcdctl" {
		return fmt.Errorf("sh: %s: not found\ncommand terminated with exit code 127", strings.Join(words, " "))
	}
	f := parseFlags(words[1:], "cluster", map[string]string{"w": "write-out"})
	switch cmd := strings.Join(f.args[:min(2, len(f.args))], " "); cmd {
	case "member list":
		for _, m := range cl.Members() {
			k.p.Printf("%s, started, %s, https://%s:2380, https://%s:2379, false\n", m.ID, m.Name, m.Name, m.Name)
		}
	case "member remove":
		for _, m := range cl.Members() {
			if len(f.args) > 2 && m.ID == f.args[2] {
				cl.RemoveMember(m.Name)
				k.p.Printf("Member %s removed from cluster %s\n", m.ID, cl.CAHash()[7:23])
				return nil
			}
		}
		return errors.New("{\"level\":\"warn\",\"msg\":\"retrying of unary invoker failed\",\"error\":\"rpc error: code = NotFound desc = etcdserver: member not found\"}\nError: etcdserver: member not found\ncommand terminated with exit code 1")
	case "endpoint health", "endpoint status":
		sick := !cl.Quorum()
		for _, m := range cl.Members() {
			if m.Up && cl.Quorum() {
				k.p.Printf("https://%s:2379 is healthy: successfully committed proposal: took = 5ms\n", m.Name)
				continue
			}
			sick = true
			k.p.Errorf("https://%s:2379 is unhealthy: failed to commit proposal: context deadline exceeded\n", m.Name)
		}
		if sick {
			return errors.New("Error: unhealthy cluster\ncommand terminated with exit code 1")
		}
	default:
		return fmt.Errorf("Error: unknown command %q for \"etcdctl\"\ncommand terminated with exit code 1", cmd)
	}
	return nil
}
