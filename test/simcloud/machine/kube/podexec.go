package kube

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// exec knows one program in pods: etcdctl in the etcd pods.
func (k *ctl) exec(args, rest []string) error {
	if len(args) != 1 {
		return errors.New("error: pod, type/name or --filename must be specified")
	}
	o, err := k.call(http.MethodGet, kubeapi.Kind("Pod").Path(k.ns, args[0]), "", nil)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(kubeapi.Name(o), "etcd-") || len(rest) == 0 || rest[0] != "etcdctl" {
		return fmt.Errorf("error: Internal error occurred: error executing command in container: "+
			"exec: %q: executable file not found in $PATH", strings.Join(rest, " "))
	}
	cl := k.n.reg.byCA(k.c.ca)
	if cl == nil {
		return errors.New("error: unable to upgrade connection: the cluster is gone")
	}
	return k.etcdctl(cl, rest)
}

func (k *ctl) etcdctl(cl *kubeapi.Cluster, words []string) error {
	f, err := process.ParseOptions(words[1:], false, "w:", "cacert:=cacert", "cert:=cert", "cluster=cluster",
		"endpoints:=endpoints", "key:=key", "write-out:=w")
	if err != nil {
		return k.printExit(128, err.Error())
	}
	switch cmd := strings.Join(f.Args[:min(2, len(f.Args))], " "); cmd {
	case "member list":
		for _, m := range cl.Members() {
			k.p.Printf("%s, started, %s, https://%s:2380, https://%s:2379, false\n", m.ID, m.Name, m.Name, m.Name)
		}
	case "member remove":
		for _, m := range cl.Members() {
			if len(f.Args) > 2 && m.ID == f.Args[2] {
				cl.RemoveMember(m.Name)
				k.p.Printf("Member %s removed from cluster %s\n", m.ID, cl.CAHash()[7:23])
				return nil
			}
		}
		return k.printExit(1, "etcdserver: member not found")
	case "endpoint health":
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
			return k.printExit(1, "unhealthy cluster")
		}
	default:
		return k.printExit(1, fmt.Sprintf("unknown command %q for \"etcdctl\"", cmd))
	}
	return nil
}

// printExit prints the message of a command in a pod that failed.
func (k *ctl) printExit(code int, message string) error {
	k.p.Errorf("Error: %s\ncommand terminated with exit code %d\n", message, code)
	return errPrinted
}
