package main

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-base/version"
)

// register makes the Node, or takes the one that is there.
func (k *kubelet) register(ctx context.Context) (*corev1.Node, error) {
	n, err := k.client.CoreV1().Nodes().Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: k.name, Labels: map[string]string{
			corev1.LabelHostname: k.name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
		}},
		Spec: corev1.NodeSpec{
			Taints: []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}},
		},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return k.client.CoreV1().Nodes().Get(ctx, k.name, metav1.GetOptions{})
	}
	return n, err
}

// heartbeat says how the node is. It costs one small request, so it is sent with every tick.
func (k *kubelet) heartbeat(ctx context.Context) error {
	v := version.Get().GitVersion
	size := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"),
		corev1.ResourcePods: resource.MustParse("110"), corev1.ResourceEphemeralStorage: resource.MustParse("40Gi"),
	}
	ready := corev1.NodeCondition{
		Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady",
		Message: "container runtime network not ready: cni plugin not initialized", LastHeartbeatTime: now(),
	}
	if networked() {
		ready.Status, ready.Reason, ready.Message = corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready "+
			"status"
	}
	conditions := []corev1.NodeCondition{ready}
	for _, t := range []corev1.NodeConditionType{
		corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure,
	} {
		conditions = append(conditions, corev1.NodeCondition{
			Type: t, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficient", LastHeartbeatTime: now(),
		})
	}
	patch, err := json.Marshal(map[string]any{"status": corev1.NodeStatus{
		Capacity: size, Allocatable: size, Conditions: conditions,
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: k.ip}, {Type: corev1.NodeHostName, Address: k.name},
		},
		NodeInfo: corev1.NodeSystemInfo{
			KubeletVersion: v, KubeProxyVersion: v, OSImage: "Ubuntu 22.04 (stand-in)",
			ContainerRuntimeVersion: "containerd://2.1.0", OperatingSystem: "linux", Architecture: "amd64",
		},
	}})
	if err != nil {
		return err
	}
	_, err = k.client.CoreV1().Nodes().Patch(
		ctx, k.name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status",
	)
	return err
}
