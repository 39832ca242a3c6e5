package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// staticPods are the pods of a folder of manifests. Each container's command runs as a process, and what it mounts from
// the node lies at the same paths.
type staticPods struct {
	dir     string
	log     *slog.Logger
	running map[string]*staticPod // by file
}

type staticPod struct {
	pod  corev1.Pod
	hash string
	stop func() // returns when the processes are gone
}

// sync starts, restarts and stops what the folder's files say.
func (s *staticPods) sync(ctx context.Context) {
	files, _ := filepath.Glob(filepath.Join(s.dir, "*.yaml"))
	there := map[string]bool{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		sum := sha256.Sum256(raw)
		p := &staticPod{hash: hex.EncodeToString(sum[:16])}
		if yaml.Unmarshal(raw, &p.pod) != nil || p.pod.Name == "" {
			continue // being written
		}
		there[f] = true
		if old := s.running[f]; old != nil {
			if old.hash == p.hash {
				continue
			}
			old.stop()
		}
		s.start(ctx, p)
		s.running[f] = p
	}
	for f, p := range s.running {
		if !there[f] {
			p.stop()
			delete(s.running, f)
		}
	}
}

func (s *staticPods) start(ctx context.Context, p *staticPod) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for _, c := range p.pod.Spec.Containers {
		all.Go(func() {
			for ctx.Err() == nil {
				err := process(ctx, c)
				s.log.Info("container ended", "name", c.Name, "err", err)
				select {
				case <-ctx.Done():
				case <-time.After(time.Second):
				}
			}
		})
	}
	p.stop = func() { cancel(); all.Wait() }
}

func process(ctx context.Context, c corev1.Container) error {
	out, err := os.OpenFile("/var/log/"+c.Name+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	argv := slices.Concat(c.Command, c.Args)
	cmd := exec.CommandContext(ctx, imageFile(c.Image, self), argv[1:]...)
	cmd.Args[0] = argv[0]
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd.Run()
}

// imageDir has a file like this program for every version of Kubernetes that a node may run.
const imageDir = "/usr/lib/machine/kubernetes"

// imageFile is the program in an image: of the version that its tag names, and for etcd, which has versions of its own,
// self.
func imageFile(image, self string) string {
	if _, tag, ok := strings.Cut(path.Base(image), ":v"); ok {
		return filepath.Join(imageDir, "v"+tag)
	}
	return self
}

// mirror is the Pod by which the API shows a static pod.
func (p *staticPod) mirror(node *corev1.Node) *corev1.Pod {
	m := p.pod.DeepCopy()
	m.Name += "-" + node.Name
	m.Spec.NodeName = node.Name
	controller := true
	m.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID, Controller: &controller},
	}
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	m.Annotations[corev1.MirrorPodAnnotationKey] = p.hash
	m.Annotations["kubernetes.io/config.hash"] = p.hash
	m.Annotations["kubernetes.io/config.source"] = "file"
	return m
}
