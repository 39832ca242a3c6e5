package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// syncPods brings the mirror Pods up to date and says of all others that they run, or lets them go when they are being
// deleted.
func (k *kubelet) syncPods(ctx context.Context, node *corev1.Node) error {
	list, err := k.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + k.name})
	if err != nil {
		return err
	}
	mirrors := map[types.NamespacedName]*corev1.Pod{}
	for _, p := range k.pods.running {
		m := p.mirror(node)
		mirrors[types.NamespacedName{Namespace: m.Namespace, Name: m.Name}] = m
	}
	var errs []error
	var proxy *corev1.Pod
	for i := range list.Items {
		p := &list.Items[i]
		if p.Labels["k8s-app"] == proxyLabel && p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning {
			proxy = p
		}
		id := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
		want := mirrors[id]
		switch hash := p.Annotations[corev1.MirrorPodAnnotationKey]; {
		case p.DeletionTimestamp != nil, hash != "" && (want == nil ||
			want.Annotations[corev1.MirrorPodAnnotationKey] != hash):
			err = k.client.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, *metav1.NewDeleteOptions(0))
		default:
			delete(mirrors, id)
			err = k.settle(ctx, p)
		}
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	k.proxy.pod.Store(proxy)
	for id, m := range mirrors {
		if _, err := k.client.CoreV1().Pods(id.Namespace).Create(ctx, m, metav1.CreateOptions{}); err != nil &&
			!apierrors.IsAlreadyExists(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// settle gives a pod the status of one that runs.
func (k *kubelet) settle(ctx context.Context, p *corev1.Pod) error {
	// a pod of the node that had this name before may be said to run
	if plugin := networkAgents[p.Labels["k8s-app"]]; plugin != "" && !networked() {
		if err := configureNetwork(plugin); err != nil {
			return err
		}
	}
	if p.Status.Phase != corev1.PodPending && p.Status.Phase != "" {
		return nil
	}
	if !p.Spec.HostNetwork && !networked() {
		return nil // no sandbox without a network
	}
	// Work that ends has ended at once: kubeadm starts a Job to see whether the cluster is well.
	phase := corev1.PodRunning
	if p.Spec.RestartPolicy != corev1.RestartPolicyAlways {
		phase = corev1.PodSucceeded
	}
	p.Status.Phase, p.Status.HostIP, p.Status.PodIP = phase, k.ip, k.ip
	if !p.Spec.HostNetwork {
		p.Status.PodIP = podAddress(p)
	}
	p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
	started := now()
	p.Status.StartTime = &started
	p.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: started},
		{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: started},
		{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: started},
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: started},
	}
	p.Status.ContainerStatuses = nil
	yes := true
	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}}
	if phase == corev1.PodSucceeded {
		state = corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: started, FinishedAt: started},
		}
	}
	for _, c := range p.Spec.Containers {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: c.Image, ContainerID: "containerd://" + string(p.UID), Ready: true,
			Started: &yes, State: state,
		})
	}
	_, err := k.client.CoreV1().Pods(p.Namespace).UpdateStatus(ctx, p, metav1.UpdateOptions{})
	return err
}

// networkAgents are the pods that configure a node's network, by their label k8s-app, with their plugins.
var networkAgents = map[string]string{"calico-node": "calico", "cilium": "cilium-cni"}

// configureNetwork is what such an agent does to a node, as far as others see it.
func configureNetwork(plugin string) error {
	if err := os.MkdirAll(cniDir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(cniDir, "05-"+plugin+".conflist"), fmt.Appendf(nil,
		`{"cniVersion": "0.3.1", "name": %q, "plugins": [{"type": %q}]}`+"\n", plugin, plugin), 0o600)
}

// podAddress returns an invented address; no server listens there.
func podAddress(p *corev1.Pod) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(strings.Join([]string{p.Namespace, p.Name, string(p.UID)}, "/")))
	n := h.Sum32()
	return fmt.Sprintf("10.200.%d.%d", n>>8%256, n%254+1)
}
