package kubespray

import (
	"fmt"

	"go.yaml.in/yaml/v4"
)

// Overhead is how many bytes of a packet Calico needs for itself with IP in IP, which Kubespray 2.16 uses.
const Overhead = 20

// Settings are the variables that replace those of Kubespray's sample inventory.
type Settings struct {
	PodCIDR, ServiceCIDR string
	// MTU is that of the nodes' interface, in bytes; 0 if it is not known.
	MTU                            int
	HTTPProxy, HTTPSProxy, NoProxy string // the proxies are URLs, and may contain credentials
	// CertificateNames are further addresses in the certificate of the API server.
	CertificateNames []string
}

// All is the file of variables for all hosts (group_vars/all).
func (s Settings) All() ([]byte, error) {
	v := map[string]any{}
	for name, value := range map[string]string{
		"http_proxy": s.HTTPProxy, "https_proxy": s.HTTPSProxy, "additional_no_proxy": s.NoProxy,
	} {
		if value != "" {
			v[name] = literal(value)
		}
	}
	return encode(v)
}

// Cluster is the file of variables for the nodes (group_vars/k8s_cluster).
func (s Settings) Cluster() ([]byte, error) {
	v := map[string]any{}
	if s.PodCIDR != "" {
		v["kube_pods_subnet"] = s.PodCIDR
	}
	if s.ServiceCIDR != "" {
		v["kube_service_addresses"] = s.ServiceCIDR
	}
	if s.MTU > Overhead {
		v["calico_mtu"], v["calico_veth_mtu"] = s.MTU, s.MTU-Overhead
	}
	if len(s.CertificateNames) > 0 {
		v["supplementary_addresses_in_ssl_keys"] = s.CertificateNames
	}
	return encode(v)
}

func encode(v map[string]any) ([]byte, error) {
	raw, err := yaml.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode variables: %w", err)
	}
	return raw, nil
}
