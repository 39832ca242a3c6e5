package kube

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"

	"go.yaml.in/yaml/v4"
)

// settings are those of kubeadm init and join, from flags or a configuration file.
type settings struct {
	nodeName      string
	kubeletArgs   []string
	advertise     string
	bindPort      int
	endpoint      string // controlPlaneEndpoint
	version       string
	podSubnet     string
	serviceSubnet string
	sans          []string
	clusterName   string
	certKey       string
	uploadCerts   bool

	// join
	server       string // apiServerEndpoint
	token        string
	hashes       []string
	unsafe       bool
	controlPlane bool
}

// document is the union of the kubeadm kinds, as far as they are looked at.
type document struct {
	APIVersion       string `yaml:"apiVersion"`
	Kind             string `yaml:"kind"`
	LocalAPIEndpoint struct {
		AdvertiseAddress string `yaml:"advertiseAddress"`
		BindPort         int    `yaml:"bindPort"`
	} `yaml:"localAPIEndpoint"`
	NodeRegistration struct {
		Name             string `yaml:"name"`
		KubeletExtraArgs []struct {
			Name  string `yaml:"name"`
			Value string `yaml:"value"`
		} `yaml:"kubeletExtraArgs"`
	} `yaml:"nodeRegistration"`
	CertificateKey       string `yaml:"certificateKey"`
	KubernetesVersion    string `yaml:"kubernetesVersion"`
	ControlPlaneEndpoint string `yaml:"controlPlaneEndpoint"`
	ClusterName          string `yaml:"clusterName"`
	Networking           struct {
		PodSubnet     string `yaml:"podSubnet"`
		ServiceSubnet string `yaml:"serviceSubnet"`
	} `yaml:"networking"`
	APIServer struct {
		CertSANs []string `yaml:"certSANs"`
	} `yaml:"apiServer"`
	Discovery struct {
		BootstrapToken struct {
			Token                    string   `yaml:"token"`
			APIServerEndpoint        string   `yaml:"apiServerEndpoint"`
			CACertHashes             []string `yaml:"caCertHashes"`
			UnsafeSkipCAVerification bool     `yaml:"unsafeSkipCAVerification"`
		} `yaml:"bootstrapToken"`
	} `yaml:"discovery"`
	ControlPlane *struct {
		CertificateKey   string `yaml:"certificateKey"`
		LocalAPIEndpoint struct {
			AdvertiseAddress string `yaml:"advertiseAddress"`
			BindPort         int    `yaml:"bindPort"`
		} `yaml:"localAPIEndpoint"`
	} `yaml:"controlPlane"`
}

// load takes the settings of a configuration file over.
func (s *settings) load(data []byte) error {
	d := yaml.NewDecoder(bytes.NewReader(data))
	known := false
	for {
		var doc document
		if err := d.Decode(&doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("error unmarshaling JSON: %w", err)
		}
		if doc.Kind == "" {
			continue
		}
		switch doc.Kind {
		case "KubeletConfiguration", "KubeProxyConfiguration":
			continue
		case "InitConfiguration", "ClusterConfiguration", "JoinConfiguration", "ResetConfiguration",
			"UpgradeConfiguration":
		default:
			return fmt.Errorf("no kind %q is registered for version %q", doc.Kind, doc.APIVersion)
		}
		if doc.APIVersion != "kubeadm.k8s.io/v1beta4" && doc.APIVersion != "kubeadm.k8s.io/v1beta3" {
			return fmt.Errorf("your configuration file uses an old API spec: %q (kind: %q). Please use kubeadm v1.22 "+
				"instead and run 'kubeadm config migrate --old-config old.yaml --new-config new.yaml'",
				doc.APIVersion, doc.Kind)
		}
		known = true
		s.take(doc)
	}
	if !known {
		return errors.New("no InitConfiguration, ClusterConfiguration or JoinConfiguration was found in the YAML file")
	}
	return nil
}

func (s *settings) take(d document) {
	set := func(dst *string, v string) {
		if v != "" {
			*dst = v
		}
	}
	set(&s.nodeName, d.NodeRegistration.Name)
	set(&s.advertise, d.LocalAPIEndpoint.AdvertiseAddress)
	set(&s.certKey, d.CertificateKey)
	set(&s.version, d.KubernetesVersion)
	set(&s.endpoint, d.ControlPlaneEndpoint)
	set(&s.clusterName, d.ClusterName)
	set(&s.podSubnet, d.Networking.PodSubnet)
	set(&s.serviceSubnet, d.Networking.ServiceSubnet)
	if d.LocalAPIEndpoint.BindPort != 0 {
		s.bindPort = d.LocalAPIEndpoint.BindPort
	}
	s.sans = append(s.sans, d.APIServer.CertSANs...)
	for _, a := range d.NodeRegistration.KubeletExtraArgs {
		s.kubeletArgs = append(s.kubeletArgs, "--"+a.Name+"="+a.Value)
	}
	bt := d.Discovery.BootstrapToken
	set(&s.token, bt.Token)
	set(&s.server, bt.APIServerEndpoint)
	s.hashes = append(s.hashes, bt.CACertHashes...)
	s.unsafe = s.unsafe || bt.UnsafeSkipCAVerification
	if d.ControlPlane != nil {
		s.controlPlane = true
		set(&s.certKey, d.ControlPlane.CertificateKey)
		set(&s.advertise, d.ControlPlane.LocalAPIEndpoint.AdvertiseAddress)
	}
}

// validate reports what kubeadm finds wrong with the settings of an init.
func (s *settings) validate() error {
	var errs []string
	bad := func(field, value, why string) {
		errs = append(errs, fmt.Sprintf("%s: Invalid value: %q: %s", field, value, why))
	}
	if s.podSubnet != "" {
		if _, err := netip.ParsePrefix(s.podSubnet); err != nil {
			bad("networking.podSubnet", s.podSubnet, "couldn't parse subnet")
		}
	}
	if _, err := netip.ParsePrefix(s.serviceSubnet); err != nil {
		bad("networking.serviceSubnet", s.serviceSubnet, "couldn't parse subnet")
	}
	if s.advertise != "" {
		if _, err := netip.ParseAddr(s.advertise); err != nil {
			bad("localAPIEndpoint", s.advertise, "ip address is not valid")
		}
	}
	if s.endpoint != "" {
		host, _, err := net.SplitHostPort(s.endpoint)
		if err != nil {
			host = s.endpoint
		}
		if host == "" || strings.ContainsAny(host, " /") {
			bad("controlPlaneEndpoint", s.endpoint, "host must be a valid IP address or a valid RFC-1123 DNS subdomain")
		}
	}
	for _, san := range s.sans {
		if _, err := netip.ParseAddr(san); err != nil && strings.ContainsAny(san, " /:") {
			bad("apiServer.certSANs", san,
				"altname is not a valid IP address, DNS label or a DNS label with subdomain wildcards")
		}
	}
	if len(errs) > 0 {
		return errors.New(strings.Join(errs, ", "))
	}
	return nil
}
