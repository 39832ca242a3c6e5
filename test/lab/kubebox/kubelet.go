package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/version"
	"k8s.io/component-helpers/apimachinery/lease"
	"k8s.io/kubernetes/pkg/kubelet/certificate/bootstrap"
	"k8s.io/utils/clock"
)

// kubelet is the stand-in. Real are: TLS bootstrap with a join token, the node's own credential and everything done
// with it (Node, Lease, mirror Pods), static pods, which run as processes instead of in containers, and exec. A pod of
// kube-proxy has the substitute for it run. Other pods only get a status.
type kubelet struct {
	name, ip             string
	kubeconfig, joinconf string
	pods                 staticPods
	proxy                nodePorts
	client               kubernetes.Interface
	log                  *slog.Logger
}

const (
	manifestDir = "/etc/kubernetes/manifests"
	pkiDir      = "/var/lib/kubelet/pki"
	cniDir      = "/etc/cni/net.d"
	tick        = time.Second
)

func runKubelet() {
	host, err := os.Hostname()
	must(err)
	k := kubelet{log: slog.New(slog.NewTextHandler(os.Stdout, nil))}
	flags := pflag.NewFlagSet("kubelet", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true // the real one has two hundred more
	flags.StringVar(&k.name, "hostname-override", host, "")
	flags.StringVar(&k.ip, "node-ip", "", "")
	flags.StringVar(&k.kubeconfig, "kubeconfig", "/etc/kubernetes/kubelet.conf", "")
	flags.StringVar(&k.joinconf, "bootstrap-kubeconfig", "/etc/kubernetes/bootstrap-kubelet.conf", "")
	ask := flags.Bool("version", false, "")
	must(flags.Parse(os.Args[1:]))
	if *ask {
		fmt.Println("Kubernetes", version.Get().GitVersion)
		return
	}
	if k.ip == "" {
		k.ip, err = defaultAddress()
		must(err)
	}
	k.run(context.Background())
}

// run never returns. Whatever fails is tried again a second later, as kubelets do.
func (k *kubelet) run(ctx context.Context) {
	go func() { // kubeadm waits for it
		must(http.ListenAndServe("127.0.0.1:10248", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "ok")
		})))
	}()
	k.pods = staticPods{dir: manifestDir, log: k.log, running: map[string]*staticPod{}}
	k.proxy.node, k.proxy.log = k.name, k.log
	var config *rest.Config
	var node *corev1.Node
	for ; ; time.Sleep(tick) {
		k.pods.sync(ctx)
		if k.client == nil {
			var err error
			config, err = k.credential(ctx)
			if err != nil {
				k.log.Error("credential", "err", err)
			}
			if config == nil {
				continue
			}
			k.client = kubernetes.NewForConfigOrDie(config)
		}
		if node == nil {
			n, err := k.register(ctx) // not nil even when it fails
			if err != nil {
				k.log.Error("register", "err", err)
				continue
			}
			node = n
			go lease.NewController(
				clock.RealClock{}, k.client, k.name, 40, nil, 10*time.Second, k.name, corev1.NamespaceNodeLease,
				ownedBy(node)).Run(ctx)
			go k.serve()
			go k.proxy.run(ctx, k.client, config)
		}
		if err := k.heartbeat(ctx); err != nil {
			k.log.Error("status of the node", "err", err)
		}
		if err := k.syncPods(ctx, node); err != nil {
			k.log.Error("pods", "err", err)
		}
	}
}

// ownedBy lets a Lease go with its Node.
func ownedBy(n *corev1.Node) lease.ProcessLeaseFunc {
	return func(l *coordinationv1.Lease) error {
		l.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: n.Name, UID: n.UID}}
		return nil
	}
}

// credential is nil as long as kubeadm has given none.
func (k *kubelet) credential(ctx context.Context) (*rest.Config, error) {
	if _, err := os.Stat(k.kubeconfig); err != nil {
		if _, err := os.Stat(k.joinconf); err != nil {
			return nil, nil //nolint:nilnil // a missing one is not an error
		}
		if err := bootstrap.LoadClientCert(ctx, k.kubeconfig, k.joinconf, pkiDir, types.NodeName(k.name)); err != nil {
			return nil, err
		}
	}
	return clientcmd.BuildConfigFromFlags("", k.kubeconfig)
}

// networked says whether a network plugin has configured this node: without one it does not become Ready.
func networked() bool {
	found, _ := filepath.Glob(cniDir + "/*.conf*")
	return len(found) > 0
}

// defaultAddress is the address from which this machine reaches others. No packet is sent.
func defaultAddress() (string, error) {
	c, err := net.Dial("udp", "192.0.2.1:9")
	if err != nil {
		return "", err
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).IP.String(), nil
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var now = metav1.Now
