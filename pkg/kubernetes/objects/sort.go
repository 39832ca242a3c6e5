package objects

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// order has the kinds in the order in which they can be created: a kind does not need those that follow it. Kinds that
// are not in it, such as custom resources, come at the position of the empty name.
var order = []string{
	"CustomResourceDefinition", "Namespace", "PriorityClass", "RuntimeClass", "StorageClass", "IngressClass",
	"ResourceQuota", "LimitRange", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding",
	"NetworkPolicy", "PodDisruptionBudget", "Secret", "ConfigMap", "PersistentVolume", "PersistentVolumeClaim",
	"Service", "Endpoints", "EndpointSlice", "Pod", "ReplicationController", "ReplicaSet", "DaemonSet", "Deployment",
	"StatefulSet", "Job", "CronJob", "HorizontalPodAutoscaler", "Ingress", "", "APIService",
	"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
}

func rank(o *unstructured.Unstructured) int {
	if n := slices.Index(order, o.GetKind()); n >= 0 {
		return n
	}
	return slices.Index(order, "")
}

// Sort brings objects into the order in which they are applied: definitions of resources and namespaces first, services
// before the workloads that use them, custom resources and webhooks last. Objects of one kind keep their order.
func Sort(list []*unstructured.Unstructured) {
	slices.SortStableFunc(list, func(a, b *unstructured.Unstructured) int { return cmp.Compare(rank(a), rank(b)) })
}

// SortForDeletion is the reverse of Sort.
func SortForDeletion(list []*unstructured.Unstructured) {
	slices.SortStableFunc(list, func(a, b *unstructured.Unstructured) int { return cmp.Compare(rank(b), rank(a)) })
}
