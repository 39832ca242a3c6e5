package kube

import (
	"go.yaml.in/yaml/v4"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

// configMap is where kubeadm keeps the ClusterConfiguration for those who join later.
const (
	configMap  = "kubeadm-config"
	configPath = "/api/v1/namespaces/kube-system/configmaps/kubeadm-config?timeout=10s"
)

// uploadConfig does kubeadm's phase upload-config: what further masters must know, above all the names in the
// API server's certificate.
func uploadConfig(cl *kubeapi.Cluster, s *settings, endpoint, version string) error {
	conf := map[string]any{
		"apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "ClusterConfiguration", "clusterName": s.clusterName,
		"controlPlaneEndpoint": endpoint, "kubernetesVersion": version, "certificatesDir": "/etc/kubernetes/pki",
		"imageRepository": "registry.k8s.io",
		"networking": map[string]any{
			"dnsDomain": "cluster.local", "podSubnet": s.podSubnet, "serviceSubnet": s.serviceSubnet,
		},
		"apiServer": map[string]any{"certSANs": s.sans},
		"etcd":      map[string]any{"local": map[string]any{"dataDir": etcdDir}},
	}
	text, err := yaml.Marshal(conf)
	if err != nil {
		return err
	}
	return setClusterConfig(cl, string(text))
}

// clusterConfig reads the ClusterConfiguration.
func clusterConfig(cl *kubeapi.Cluster) (string, error) {
	o, err := cl.Store().Get(kubeapi.Kind("ConfigMap"), "kube-system", configMap)
	return kubeapi.String(o, "data", "ClusterConfiguration"), err
}

func setClusterConfig(cl *kubeapi.Cluster, text string) error {
	change := func(o kubeapi.Object) (kubeapi.Object, error) {
		kubeapi.Set(o, text, "data", "ClusterConfiguration")
		return o, nil
	}
	_, err := cl.Store().Update(kubeapi.Kind("ConfigMap"), "kube-system", configMap, change)
	return err
}

// fetchConfig takes what uploadConfig left for the certificates of a further master.
func (s *settings) fetchConfig(cl *kubeapi.Cluster) error {
	conf, err := clusterConfig(cl)
	if err != nil {
		return err
	}
	var doc document
	if err := yaml.Unmarshal([]byte(conf), &doc); err != nil {
		return err
	}
	s.sans, s.endpoint = append(s.sans, doc.APIServer.CertSANs...), doc.ControlPlaneEndpoint
	if doc.Networking.ServiceSubnet != "" {
		s.serviceSubnet = doc.Networking.ServiceSubnet
	}
	return nil
}
