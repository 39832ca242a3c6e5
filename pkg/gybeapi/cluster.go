package gybeapi

// Cluster is the Kubernetes cluster that a VNF instance is, with every machine of the instance and every node that the
// cluster has.
type Cluster struct {
	Endpoint string `json:"endpoint,omitempty"` // of the API server
	// Problem says why the cluster did not tell about its nodes; the State of all of them is UNKNOWN then.
	Problem string        `json:"problem,omitempty"`
	Nodes   []ClusterNode `json:"nodes"`
}

// The values of ClusterNode.State.
const (
	NodeReady    = "READY"
	NodeNotReady = "NOT_READY"
	NodeAbsent   = "ABSENT"  // the machine is there, and the cluster has no node of its name
	NodeUnknown  = "UNKNOWN" // the cluster did not tell
	NodeNone     = "NONE"    // the machine is not to be a node: a storage server
)

// ClusterNode is a machine of a cluster, a node of it, or both.
type ClusterNode struct {
	VnfcInstanceID string `json:"vnfcInstanceId,omitempty"` // of its VNFC; absent for a node that no VNFC is
	VduID          string `json:"vduId,omitempty"`
	Name           string `json:"name"`
	Role           string `json:"role"`              // master, worker or storage
	Address        string `json:"address,omitempty"` // by which the nodes reach each other
	State          string `json:"state"`
	Reason         string `json:"reason,omitempty"`      // why it is not READY: the kubelet's words, or its machine is STOPPED
	Version        string `json:"version,omitempty"`     // of the kubelet
	ComputeHost    string `json:"computeHost,omitempty"` // where the VIM tells it
	Zone           string `json:"zone,omitempty"`
}

// SSHHost is a machine of a VNF instance as an SSH client has to know it.
type SSHHost struct {
	VnfcInstanceID string `json:"vnfcInstanceId"`
	VduID          string `json:"vduId"`
	Name           string `json:"name"` // of the host
	Role           string `json:"role"`
	Address        string `json:"address"` // by which Gybe reaches it
	Port           int    `json:"port"`
	User           string `json:"user"`
	// HostKey is the pinned key of the machine; absent before the first login.
	HostKey *HostKey `json:"hostKey,omitempty"`
}

// HostKey is the public key of a machine.
type HostKey struct {
	Type        string `json:"type"`        // such as ssh-ed25519
	Key         string `json:"key"`         // in Base64, as in known_hosts
	Fingerprint string `json:"fingerprint"` // as ssh-keygen -l shows it
}
