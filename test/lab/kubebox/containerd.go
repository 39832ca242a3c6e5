package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/cri-client/pkg/fake"
)

// containerd is the stand-in: a CRI server that has every image and runs nothing, enough for what kubeadm asks. "config
// default" prints the two settings that installers change.
func containerd() {
	if slices.Equal(os.Args[1:], []string{"config", "default"}) {
		fmt.Print("version = 3\n\n[plugins.'io.containerd.cri.v1.images'.pinned_images]\n" +
			"  sandbox = 'registry.k8s.io/pause:3.10'\n\n" +
			"[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]\n  SystemdCgroup = false\n")
		return
	}
	const socket = "/run/containerd/containerd.sock"
	must(os.MkdirAll(filepath.Dir(socket), 0o755))
	if err := os.Remove(socket); !os.IsNotExist(err) {
		must(err)
	}
	must(fake.NewFakeRemoteRuntime().Start("unix://" + socket))
	select {}
}
