package kube

import (
	"errors"

	"go.yaml.in/yaml/v4"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

// configMap is where kubeadm keeps the ClusterConfiguration for those who join later.
const configMap = "kubeadm-config"

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
	r, ok := cl.Find("configmaps")
	if !ok {
		return errors.New("no configmaps in the cluster")
	}
	_, err = cl.Store().Update(r, "kube-system", configMap, false, false,
		func(o kubeapi.Object) (kubeapi.Object, error) {
			kubeapi.Set(o, string(text), "data", "ClusterConfiguration")
			return o, nil
		})
	return err
}

// fetchConfig takes what uploadConfig left for the certificates of a further master.
func (s *settings) fetchConfig(cl *kubeapi.Cluster) error {
	r, ok := cl.Find("configmaps")
	if !ok {
		return errors.New("no configmaps in the cluster")
	}
	o, err := cl.Store().Get(r, "kube-system", configMap)
	if err != nil {
		return err
	}
	var doc document
	if err := yaml.Unmarshal([]byte(kubeapi.String(o, "data", "ClusterConfiguration")), &doc); err != nil {
		return err
	}
	s.sans = append(s.sans, doc.APIServer.CertSANs...)
	if doc.Networking.ServiceSubnet != "" {
		s.serviceSubnet = doc.Networking.ServiceSubnet
	}
	return nil
}
