package nodeport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// ownerLabel is the label by which the infra driver marks the objects of a VNF instance.
const ownerLabel = "gybe.io/vnf-instance"

// excludeLabel is on nodes that load balancers must not use.
const excludeLabel = "node.kubernetes.io/exclude-from-external-load-balancers"

// serviceName names a Service of Kubernetes.
type serviceName struct{ namespace, name string }

func (s serviceName) String() string { return s.namespace + "/" + s.name }

// frontend is the name that Tacker's configure_lb.sh gives to the frontend of the Service. A namespace has no
// underscore, so that no other Service has the same.
func (s serviceName) frontend() string { return s.namespace + "_" + s.name }

// service is a Service of the type NodePort with the TCP ports that it has on every node.
type service struct {
	serviceName

	ports []int
}

// node is a machine of the cluster that takes connections to NodePorts.
type node struct {
	name    string
	address netip.Addr
}

// cluster is the part of a kubernetes.Client that the driver uses.
type cluster interface {
	Services(ctx context.Context, selector string) ([]kubernetes.Service, error)
	Nodes(ctx context.Context) ([]kubernetes.Node, error)
}

// dnsName is a name of the API that may become part of HAProxy's configuration: labels of RFC 1123 with dots.
var dnsName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)

// maxName is the length that the API allows for the longest names.
const maxName = 253

func checkName(what, name string) error {
	if len(name) > maxName || !dnsName.MatchString(name) {
		return &lcm.Error{
			Code: lcm.CodeUpstream, Title: "Cluster failed",
			Detail: fmt.Sprintf("the Kubernetes API returned the %s %q, which is not a valid name; nothing was "+
				"written to the load balancer", what, name),
		}
	}
	return nil
}

// readServices reads the Services of a VNF instance that have NodePorts, in the order of their names. Ports of other
// protocols are returned as texts: HAProxy passes on TCP only.
func readServices(ctx context.Context, c cluster, instance string) (list []service, other []string, err error) {
	all, err := c.Services(ctx, ownerLabel+"="+instance)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range all {
		if s.Type != kubernetes.ServiceNodePort {
			continue
		}
		if err := errors.Join(checkName("namespace", s.Namespace), checkName("Service", s.Name)); err != nil {
			return nil, nil, err
		}
		found := service{serviceName: serviceName{s.Namespace, s.Name}}
		for _, p := range s.Ports {
			switch {
			case p.NodePort <= 0 || p.NodePort > 65535:
			case p.Protocol != "TCP":
				other = append(other, fmt.Sprintf("%d/%s of Service %s", p.NodePort, p.Protocol, found))
			default:
				found.ports = append(found.ports, p.NodePort)
			}
		}
		slices.Sort(found.ports)
		if len(found.ports) > 0 {
			list = append(list, found)
		}
	}
	slices.SortFunc(list, func(a, b service) int { return strings.Compare(a.String(), b.String()) })
	return list, other, nil
}

// readNodes reads the nodes that take connections: the workers, or all nodes of a cluster that has no workers. Nodes
// that are not Ready are among them: HAProxy checks its servers, and a node may come back.
func readNodes(ctx context.Context, c cluster) ([]node, error) {
	all, err := c.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	var workers, masters []node
	for _, n := range all {
		address, err := netip.ParseAddr(n.InternalIP)
		if err != nil {
			continue
		}
		if err := checkName("node", n.Name); err != nil {
			return nil, err
		}
		_, excluded := n.Labels[excludeLabel]
		switch {
		case n.ControlPlane: // kubeadm excludes all of these
			masters = append(masters, node{n.Name, address})
		case !excluded:
			workers = append(workers, node{n.Name, address})
		}
	}
	list := workers
	if len(list) == 0 {
		list = masters
	}
	if len(list) == 0 {
		return nil, &lcm.Error{
			Code: lcm.CodeUpstream, Class: lcm.Transient, Title: "Cluster failed",
			Detail: "the cluster has no node with an address, so that its NodePorts cannot be reached",
			Hint:   "kubectl get nodes -o wide shows the nodes",
		}
	}
	slices.SortFunc(list, func(a, b node) int { return strings.Compare(a.name, b.name) })
	return list, nil
}

// maxManifest bounds a manifest that is read, in bytes.
const maxManifest = 4 << 20

// manifestServices lists the Services in the manifests of the CNF. They tell which frontends of Tacker's
// configure_lb.sh are the CNF's. A manifest that cannot be read has none: the infra driver reports it.
func manifestServices(params sol.KeyValuePairs, pkg fs.FS) []serviceName {
	var out []serviceName
	namespace, _ := params[namespaceParam].(string)
	if namespace == "" {
		namespace = "default"
	}
	files, _ := params[defFiles].([]any)
	for _, f := range files {
		name, _ := f.(string)
		out = append(out, servicesIn(pkg, name, namespace)...)
	}
	return out
}

// servicesIn lists the Services of one manifest.
func servicesIn(pkg fs.FS, name, namespace string) []serviceName {
	file, err := pkg.Open(path.Clean(strings.TrimPrefix(name, "./")))
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxManifest))
	if err != nil {
		return nil
	}
	var out []serviceName
	documents := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var o struct {
			Kind     string `yaml:"kind"`
			Metadata struct {
				Name      string `yaml:"name"`
				Namespace string `yaml:"namespace"`
			} `yaml:"metadata"`
		}
		if documents.Decode(&o) != nil {
			return out
		}
		if o.Kind != "Service" {
			continue
		}
		if o.Metadata.Namespace == "" {
			o.Metadata.Namespace = namespace
		}
		out = append(out, serviceName{o.Metadata.Namespace, o.Metadata.Name})
	}
}
