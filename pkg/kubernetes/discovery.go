package kubernetes

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// discoveryPath is the object from which machines that join with a token learn where the API server is.
const discoveryPath = "/api/v1/namespaces/kube-public/configmaps/cluster-info"

// SetDiscovery names the API server, a URL, that machines that join are sent to. It does nothing when the cluster has
// no such object.
func (c *Client) SetDiscovery(ctx context.Context, server string) error {
	const doing = "correct the object cluster-info"
	var m corev1.ConfigMap
	err := c.rest.Get().AbsPath(discoveryPath).Do(ctx).Into(&m)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return c.requestError(doing, err)
	}
	raw, err := Redirected([]byte(m.Data["kubeconfig"]), server)
	if err != nil {
		return err
	}
	m.Data["kubeconfig"] = string(raw)
	return c.requestError(doing, c.rest.Put().AbsPath(discoveryPath).Body(&m).Do(ctx).Error())
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
