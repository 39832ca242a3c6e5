// Command kubebox is every program that a node of a Kubernetes cluster needs, in one file: kubeadm, kubectl, etcd,
// etcdctl and the control plane are the real ones; kubelet and containerd are stand-ins that run no containers. It is
// called by the names of the programs, through links.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

var programs = map[string]func(){
	"containerd":              containerd,
	"etcd":                    etcd,
	"etcdctl":                 etcdctl,
	"kube-apiserver":          apiServer,
	"kube-controller-manager": controllerManager,
	"kube-scheduler":          kubeScheduler,
	"kubeadm":                 runKubeadm,
	"kubectl":                 runKubectl,
	"kubelet":                 runKubelet,
}

func main() {
	if run, ok := programs[filepath.Base(os.Args[0])]; ok {
		run()
		return
	}
	if len(os.Args) > 1 {
		if run, ok := programs[os.Args[1]]; ok {
			os.Args = os.Args[1:]
			run()
			return
		}
	}
	fmt.Fprintln(os.Stderr, "usage: kubebox PROGRAM ..., one of", slices.Sorted(maps.Keys(programs)))
	os.Exit(2)
}
