package kubernetes

import (
	"context"

	corev1 "k8s.io/api/core/v1"
)

// ServiceNodePort is the type of a Service that has a port on every node.
const ServiceNodePort = string(corev1.ServiceTypeNodePort)

// Service is a Service of a cluster.
type Service struct {
	Namespace string
	Name      string
	Labels    map[string]string
	Type      string // ClusterIP, NodePort, …
	Ports     []ServicePort
}

// ServicePort is a port of a Service.
type ServicePort struct {
	Protocol string // TCP, UDP or SCTP
	NodePort int    // 0 for a port that nodes do not have
}

// Services lists the Services in all namespaces that a label selector selects.
func (c *Client) Services(ctx context.Context, selector string) ([]Service, error) {
	var list corev1.ServiceList
	err := c.rest.Get().AbsPath("/api/v1/services").Param("labelSelector", selector).Do(ctx).Into(&list)
	if err != nil {
		return nil, c.requestError("list the Services", err)
	}
	out := make([]Service, 0, len(list.Items))
	for i := range list.Items {
		s := &list.Items[i]
		found := Service{Namespace: s.Namespace, Name: s.Name, Labels: s.Labels, Type: string(s.Spec.Type)}
		for _, p := range s.Spec.Ports {
			protocol := string(p.Protocol)
			if protocol == "" {
				protocol = string(corev1.ProtocolTCP) // the API's default
			}
			found.Ports = append(found.Ports, ServicePort{Protocol: protocol, NodePort: int(p.NodePort)})
		}
		out = append(out, found)
	}
	return out, nil
}
