package kubernetes

import (
	"context"
	"net"
	"net/url"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

const (
	// discoveryPath is the object from which machines that join with a token learn where the API server is.
	discoveryPath = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
	// settingsPath is the object with kubeadm's settings. A master that joins takes its endpoint from there.
	settingsPath = "/api/v1/namespaces/kube-system/configmaps/kubeadm-config"
)

// ReplaceEndpoint makes machines that join use the API server at a host and port in place of the hosts in gone, which
// the cluster does not have any more. Another endpoint, such as a load balancer's, stays. It may be repeated.
func (c *Client) ReplaceEndpoint(ctx context.Context, gone []string, endpoint string) error {
	err := c.changeMap(ctx, "correct the object cluster-info", discoveryPath, func(m *corev1.ConfigMap) (bool, error) {
		cfg, err := clientcmd.Load([]byte(m.Data["kubeconfig"]))
		if err != nil {
			return false, lcm.Errorf(lcm.CodeUpstream, "the cluster's object cluster-info cannot be read: %w", err)
		}
		changed := false
		for _, cluster := range cfg.Clusters {
			if u, err := url.Parse(cluster.Server); err == nil && slices.Contains(gone, u.Hostname()) {
				cluster.Server, changed = "https://"+endpoint, true
			}
		}
		raw, err := clientcmd.Write(*cfg)
		m.Data["kubeconfig"] = string(raw)
		return changed, err
	})
	if err != nil {
		return err
	}
	return c.changeMap(ctx, "correct the object kubeadm-config", settingsPath, func(m *corev1.ConfigMap) (bool, error) {
		const name = "ClusterConfiguration"
		changed := false
		m.Data[name] = endpointLine.ReplaceAllStringFunc(m.Data[name], func(line string) string {
			host, _, err := net.SplitHostPort(endpointLine.FindStringSubmatch(line)[1])
			if err != nil || !slices.Contains(gone, host) {
				return line
			}
			changed = true
			return "controlPlaneEndpoint: " + endpoint
		})
		return changed, nil
	})
}

// endpointLine is the line of kubeadm's settings with the endpoint, a host and a port.
var endpointLine = regexp.MustCompile(`(?m)^controlPlaneEndpoint: *"?([^"\s]+)"? *$`)

// changeMap changes a ConfigMap, if the cluster has it. change says whether it has changed anything.
func (c *Client) changeMap(
	ctx context.Context, doing, path string, change func(*corev1.ConfigMap) (bool, error),
) error {
	var m corev1.ConfigMap
	err := c.rest.Get().AbsPath(path).Do(ctx).Into(&m)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return c.requestError(doing, err)
	}
	if m.Data == nil {
		return nil
	}
	changed, err := change(&m)
	if err != nil || !changed {
		return err
	}
	return c.requestError(doing, c.rest.Put().AbsPath(path).Body(&m).Do(ctx).Error())
}

// Redirected is a kubeconfig whose clusters are all at the same URL; everything else stays. CodeUpstream if it cannot
// be read.
func Redirected(kubeconfig []byte, server string) ([]byte, error) {
	cfg, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil, lcm.Errorf(lcm.CodeUpstream, "the cluster's kubeconfig cannot be read: %w", err)
	}
	for _, cluster := range cfg.Clusters {
		cluster.Server = server
	}
	return clientcmd.Write(*cfg)
}
