package kubeapi

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// Options of a new cluster. Everything has a default.
type Options struct {
	Name     string           // of the cluster in kubeconfig files; default kubernetes
	Version  string           // gitVersion of the API server; default v1.36.2
	Endpoint string           // controlPlaneEndpoint host:port, for the kube-public/cluster-info config map
	Now      func() time.Time // default time.Now
}

// User is who makes a request: a user name and its groups, as the API server's authenticators find them out.
type User struct {
	Name   string
	Groups []string
}

// Admin may do everything: the user of admin.conf.
var Admin = User{
	Name: "kubernetes-admin", Groups: []string{"kubeadm:cluster-admins", "system:masters", "system:authenticated"},
}

// NodeUser is the kubelet's user on a node: it may read, and write its own node.
func NodeUser(node string) User {
	return User{Name: "system:node:" + node, Groups: []string{"system:nodes", "system:authenticated"}}
}

// Credential is a client certificate with its key, both PEM.
type Credential struct {
	Certificate []byte
	Key         []byte
}

// NodeSpec describes a node that joins.
type NodeSpec struct {
	Name             string
	ControlPlane     bool   // gets the label and the taint that kubeadm gives masters, and the static pods of a master
	IP               string // InternalIP
	Version          string // of the kubelet; default the cluster's
	OSImage          string // default Ubuntu 24.04.3 LTS
	KernelVersion    string
	ContainerRuntime string // default containerd://1.7.28
	Labels           map[string]string
	CPUs             int   // default 2
	MemoryBytes      int64 // default 4 GiB
}

// Member is one etcd member.
type Member struct {
	Name string
	ID   string // 16 hexadecimal digits
	Up   bool
}

// NewCluster makes a cluster as kubeadm init leaves it, without nodes and without etcd members: as long as no member
// was added, quorum is not asked for.
func NewCluster(o Options) (*Cluster, error) { return newCluster(o) }

// Close ends all watches and refuses further ones. Servers are closed by who started them.
func (c *Cluster) Close() { c.shut() }

// Do makes one request in process, without TCP and TLS: the same routes, authorisation, quorum and answers as over
// HTTP. path may have a query; body may be JSON or YAML (contentType application/yaml). A watch ends with ctx or
// timeoutSeconds.
func (c *Cluster) Do(
	ctx context.Context, u User, method, path, contentType string, body []byte,
) (status int, answer []byte) {
	return c.do(ctx, u, method, path, contentType, body)
}

// Apply does what kubectl apply does with one manifest in JSON or YAML: it creates the object or merges the manifest
// into it. namespace is used when the manifest names none. What says what was done in kubectl's words, for example
// "namespace/demo created" or "deployment.apps/x unchanged". The error is a *StatusError.
func (c *Cluster) Apply(ctx context.Context, u User, namespace string, manifest []byte) (what string, err error) {
	return c.apply(ctx, u, namespace, manifest)
}

// CAPEM returns the cluster's CA certificate.
func (c *Cluster) CAPEM() []byte { return c.pki.caPEM }

// CAKeyPEM returns the key of the CA, for /etc/kubernetes/pki/ca.key.
func (c *Cluster) CAKeyPEM() []byte { return c.pki.caKeyPEM }

// CAHash returns what kubeadm join wants as --discovery-token-ca-cert-hash: sha256:<hex of the SHA-256 of the CA's
// SPKI>.
func (c *Cluster) CAHash() string { return c.pki.hash }

// IssueServing issues a serving certificate for host names and IP addresses.
func (c *Cluster) IssueServing(sans ...string) (tls.Certificate, error) {
	return c.pki.serving(c.now(), sans)
}

// IssueClient issues a client certificate: cn is the user name, orgs are the groups.
func (c *Cluster) IssueClient(cn string, orgs ...string) (Credential, error) {
	return c.pki.client(c.now(), cn, orgs)
}

// Kubeconfig returns a kubeconfig file for one user, in YAML as kubeadm writes it.
func (c *Cluster) Kubeconfig(serverURL, user string, cred Credential) []byte {
	return c.kubeconfig(serverURL, user, cred)
}

// AdminKubeconfig returns admin.conf: a kubeconfig with a fresh certificate of Admin. serverURL is https://host:port.
func (c *Cluster) AdminKubeconfig(serverURL string) ([]byte, error) {
	return c.adminKubeconfig(serverURL)
}

// UserOfKubeconfig says whose certificate or token a kubeconfig file holds, and which server it names. False when this
// cluster does not know the credential, for example because the file is of a cluster that was before.
func (c *Cluster) UserOfKubeconfig(kubeconfig []byte) (u User, serverURL string, ok bool) {
	return c.userOfKubeconfig(kubeconfig)
}

// CreateToken makes a bootstrap token, [a-z0-9]{6}.[a-z0-9]{16}, valid for ttl (0: for ever).
func (c *Cluster) CreateToken(ttl time.Duration) string { return c.createToken(ttl) }

// AddToken adds a given bootstrap token, as kubeadm init does with the one in its configuration. False when it is
// malformed.
func (c *Cluster) AddToken(token string, ttl time.Duration) bool { return c.addToken(token, ttl) }

// ValidToken says whether a bootstrap token exists and has not run out.
func (c *Cluster) ValidToken(token string) bool { return c.validToken(token) }

// DeleteToken removes a bootstrap token, given whole or by its id. False when there was none.
func (c *Cluster) DeleteToken(token string) bool { return c.deleteToken(token) }

// UploadCerts does kubeadm init phase upload-certs: the secret kube-system/kubeadm-certs for two hours. key is 64
// hexadecimal digits; when empty a new one is made. It returns the key.
func (c *Cluster) UploadCerts(key string) string { return c.uploadCerts(key) }

// ValidCertificateKey says whether the uploaded certificates can be decrypted with key: nil, or an error in kubeadm's
// words.
func (c *Cluster) ValidCertificateKey(key string) error { return c.validCertificateKey(key) }

// AddMember adds an etcd member that is up. Adding one that exists brings it up.
func (c *Cluster) AddMember(name string) { c.addMember(name) }

// RemoveMember removes an etcd member. False when there is none of that name.
func (c *Cluster) RemoveMember(name string) bool { return c.removeMember(name) }

// SetMemberUp says whether an etcd member runs.
func (c *Cluster) SetMemberUp(name string, up bool) { c.setMemberUp(name, up) }

// Members lists the etcd members by name.
func (c *Cluster) Members() []Member { return c.members() }

// Quorum says whether a majority of the etcd members is up.
func (c *Cluster) Quorum() bool { return c.quorum() }

// AddNode registers a node, as its kubelet does. It is NotReady until the CNI is there and SetNodeReady said true
// (which AddNode implies). A node that exists is registered again, with its old uid.
func (c *Cluster) AddNode(n NodeSpec) { c.addNode(n) }

// SetStaticPods gives the control plane on a master the images of another version, as kubeadm upgrade does.
func (c *Cluster) SetStaticPods(node, version string) { c.setStaticPods(node, version) }

// SetNodeReady says whether the kubelet of a node answers. When it does not, the Ready condition becomes Unknown with
// reason NodeStatusUnknown, "Kubelet stopped posting node status." when reason is empty; otherwise False with reason as
// message. False when there is no such node.
func (c *Cluster) SetNodeReady(name string, ready bool, reason string) bool {
	return c.setNodeReady(name, ready, reason)
}

// RemoveNode deletes a node with its pods. False when there is no such node.
func (c *Cluster) RemoveNode(name string) bool { return c.removeNode(name) }

// Nodes lists the names of the nodes.
func (c *Cluster) Nodes() []string { return c.nodeNames() }

// NodeReady says whether a node is there and Ready.
func (c *Cluster) NodeReady(name string) bool { return c.nodeReady(name) }

// CNIInstalled says whether there is a pod network. Without one no node is Ready ("container runtime network not
// ready").
func (c *Cluster) CNIInstalled(yes bool) { c.setCNI(yes) }

// Handler returns the HTTP surface of one API server, authenticating by client certificate (r.TLS) and bearer token.
func (c *Cluster) Handler() http.Handler { return &handler{c: c} }

// Serve serves the cluster over TLS on listeners, which the server then owns.
func (c *Cluster) Serve(cert tls.Certificate, listeners ...net.Listener) *Server {
	return c.serve(cert, listeners)
}

// SetHealthy switches what /healthz, /livez and /readyz answer, and only that.
func (s *Server) SetHealthy(yes bool) { s.sick.Store(!yes) }

// Close closes the listeners and kills all connections at once, and waits until nothing of the server runs.
func (s *Server) Close() { s.shut() }

// Find finds a resource by what people write on kubectl's command line: plural, singular, short name or kind, with or
// without the group (deployments.apps).
func (c *Cluster) Find(name string) (Resource, bool) { return c.store.Find(name) }

// Store returns the objects themselves, without authorisation and quorum.
func (c *Cluster) Store() *Store { return c.store }

// Path returns the API path of a collection (name empty) or an object. namespace is ignored when the resource has none;
// an empty one means all namespaces.
func (r Resource) Path(namespace, name string) string { return r.path(namespace, name) }

// StatusError is what the API server answered instead of an object. Its message is that of kubectl:
// `Error from server (NotFound): nodes "x" not found`.
type StatusError struct {
	Code    int    // HTTP status
	Reason  string // NotFound, AlreadyExists …
	Message string
}

// Error implements error.
func (e *StatusError) Error() string { return "Error from server (" + e.Reason + "): " + e.Message }
