package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// nodePorts is the substitute for kube-proxy. It listens at the NodePorts of Services that have ready endpoints, and
// answers requests itself, in place of the pods. Like the real one it works while a pod of its DaemonSet is on the
// node, and reads Services and EndpointSlices with the account of that pod.
type nodePorts struct {
	node  string
	log   *slog.Logger
	pod   atomic.Pointer[corev1.Pod] // the pod of kube-proxy on this node, nil without one
	token types.UID                  // the pod that client is for
	until time.Time                  // when its token is too old
	api   kubernetes.Interface
	ports map[int32]*nodePort
}

// nodePort is an open one.
type nodePort struct {
	stop func()

	mu   sync.Mutex
	text string                 // names the Service and the port
	pods []discoveryv1.Endpoint // those that are ready, at least one
	next int
}

const (
	proxyLabel    = "kube-proxy"
	tokenLifetime = time.Hour
	proxyTick     = time.Second
)

// run never returns. k is asked for what its kubelet knows.
func (p *nodePorts) run(ctx context.Context, kubelet kubernetes.Interface, config *rest.Config) {
	p.ports = map[int32]*nodePort{}
	for ; ; time.Sleep(proxyTick) {
		pod := p.pod.Load()
		if pod == nil {
			p.open(ctx, nil)
			continue
		}
		if err := p.login(ctx, pod, kubelet, config); err != nil {
			p.log.Error("account of kube-proxy", "err", err)
			continue
		}
		want, err := p.wanted(ctx)
		if err != nil {
			p.log.Error("node ports", "err", err)
			continue
		}
		p.open(ctx, want)
	}
}

// login gets a token for the pod's account, as kubelets do for the pods of their nodes.
func (p *nodePorts) login(ctx context.Context, pod *corev1.Pod, kubelet kubernetes.Interface, c *rest.Config) error {
	if p.api != nil && p.token == pod.UID && time.Now().Before(p.until) {
		return nil
	}
	seconds := int64(tokenLifetime / time.Second)
	t, err := kubelet.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, pod.Spec.ServiceAccountName,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			ExpirationSeconds: &seconds,
			BoundObjectRef: &authenticationv1.BoundObjectReference{
				APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID,
			},
		}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	own := rest.AnonymousClientConfig(c)
	own.BearerToken = t.Status.Token
	p.api, err = kubernetes.NewForConfig(own)
	p.token, p.until = pod.UID, time.Now().Add(tokenLifetime/2)
	return err
}

// wanted are the NodePorts that are to be open, by number.
func (p *nodePorts) wanted(ctx context.Context) (map[int32]*nodePort, error) {
	// The API server answers from its cache.
	services, err := p.api.CoreV1().Services("").List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err == nil {
		var slices *discoveryv1.EndpointSliceList
		if slices, err = p.api.DiscoveryV1().EndpointSlices("").List(
			ctx, metav1.ListOptions{ResourceVersion: "0"},
		); err == nil {
			return match(services.Items, slices.Items), nil
		}
	}
	if apierrors.IsUnauthorized(err) {
		p.api = nil
	}
	return nil, err
}

// match finds the ready endpoints of each NodePort.
func match(services []corev1.Service, slices []discoveryv1.EndpointSlice) map[int32]*nodePort {
	ready := map[types.NamespacedName][]discoveryv1.Endpoint{}
	for _, s := range slices {
		of := types.NamespacedName{Namespace: s.Namespace, Name: s.Labels[discoveryv1.LabelServiceName]}
		for _, e := range s.Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				ready[of] = append(ready[of], e)
			}
		}
	}
	out := map[int32]*nodePort{}
	for _, s := range services {
		pods := ready[types.NamespacedName{Namespace: s.Namespace, Name: s.Name}]
		if len(pods) == 0 {
			continue
		}
		for _, port := range s.Spec.Ports {
			if port.NodePort != 0 && port.Protocol == corev1.ProtocolTCP {
				out[port.NodePort] = &nodePort{pods: pods, text: fmt.Sprintf(
					"Service %s/%s, port %d, NodePort %d", s.Namespace, s.Name, port.Port, port.NodePort,
				)}
			}
		}
	}
	return out
}

// open opens and closes ports until exactly the wanted ones are open.
func (p *nodePorts) open(ctx context.Context, want map[int32]*nodePort) {
	for number, old := range p.ports {
		if want[number] == nil {
			old.stop()
			delete(p.ports, number)
		}
	}
	for number, n := range want {
		if old := p.ports[number]; old != nil {
			old.mu.Lock()
			old.text, old.pods = n.text, n.pods
			old.mu.Unlock()
			continue
		}
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", ":"+strconv.Itoa(int(number)))
		if err != nil {
			p.log.Error("node port", "err", err)
			continue
		}
		server := &http.Server{Handler: n.page(p.node), ReadHeaderTimeout: 10 * time.Second}
		n.stop = func() { _ = server.Close() }
		go func() {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				p.log.Error("node port", "err", err)
			}
		}()
		p.ports[number] = n
	}
}

// page answers every request with the name of one of the pods, in turn.
func (n *nodePort) page(node string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n.mu.Lock()
		e := n.pods[n.next%len(n.pods)]
		n.next++
		text := n.text
		n.mu.Unlock()
		pod := "without a name"
		if e.TargetRef != nil {
			pod = e.TargetRef.Namespace + "/" + e.TargetRef.Name
		}
		_, _ = fmt.Fprintf(w, "%s\nPod %s (%s), asked through node %s\n", text, pod, e.Addresses[0], node)
	})
}
