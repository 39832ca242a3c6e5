package gybeapi

import "encoding/json"

// SystemTacker is the value of AdoptionSource.System for OpenStack Tacker, the only VNFM from which instances can be
// adopted.
const SystemTacker = "tacker"

// MaxAdoptionOperations is the largest number of operation occurrences in an AdoptionRequest.
const MaxAdoptionOperations = 200

// AdoptionSource is the VNFM that has managed an instance.
type AdoptionSource struct {
	System string `json:"system"` // SystemTacker
	// Address is the root of the VNFM's API, such as http://192.0.2.1:9890, for the records only: the server sends
	// nothing to it.
	Address string `json:"address"`
	// APIVersion is the major version of the interface that VnfInstance and Operations were read through: 1 (SOL003
	// v2.6.1 shapes) or 2 (v3.3.1 shapes).
	APIVersion int `json:"apiVersion"`
}

// AdoptionRequest asks for the adoption of a VNF instance that another VNFM has managed. All documents are as the other
// VNFM shows them; the server ignores members that it does not know.
type AdoptionRequest struct {
	Source AdoptionSource `json:"source"`
	// VnfInstance is the answer to GET /vnflcm/v1|v2/vnf_instances/{id}.
	VnfInstance json.RawMessage `json:"vnfInstance"`
	// Operations are the operation occurrences of the instance, the newest first, at most MaxAdoptionOperations. id,
	// operation, operationState and operationParams are read. A request is bounded, so others are better left out.
	Operations []json.RawMessage `json:"operations"`
	// Vims are the entries of Tacker's /v1.0/vims that the instance uses, without the envelope {"vim": …}: those that
	// its vimConnectionInfo names by vimId, and the Kubernetes VIM that a mgmt driver has registered for it.
	Vims []json.RawMessage `json:"vims,omitempty"`
	// VnfPkgID is the id of the package in Gybe that has the instance's vnfdId.
	VnfPkgID string `json:"vnfPkgId"`
	// VimConnections names, for each key of the instance's vimConnectionInfo (version 1: each id in the list) that is
	// an OpenStack, the id of a VIM that is registered in Gybe. A key that is absent uses Gybe's default VIM.
	VimConnections map[string]string `json:"vimConnections,omitempty"`
	// AdditionalParams are merged over those that the other VNFM shows (JSON merge patch): such as logins of nodes that
	// it hides.
	AdditionalParams json.RawMessage `json:"additionalParams,omitempty"`
	// VnfInstanceName replaces the name; "" keeps that of the other VNFM.
	VnfInstanceName string `json:"vnfInstanceName,omitempty"`
	// DryRun asks for the plan only; nothing is stored.
	DryRun bool `json:"dryRun,omitempty"`
}

// AdoptionPlan is an instance as it would be, or has been, adopted.
type AdoptionPlan struct {
	Package  AdoptedPackage  `json:"package"`
	Instance AdoptedInstance `json:"instance"`
	Stack    AdoptedStack    `json:"stack"`
	Vnfcs    []AdoptedVNFC   `json:"vnfcs"`
	Links    int             `json:"links"`    // virtual links: external, externally managed and internal ones
	Storages int             `json:"storages"` // volumes
	// Cluster is absent for an instance that is no Kubernetes cluster.
	Cluster *AdoptedCluster `json:"cluster,omitempty"`
	// Update is the difference between the stack and what the first operation would send for the same state.
	Update AdoptionUpdate `json:"update"`
	// Warnings do not prevent the adoption; Refusals do. Both are empty lists rather than absent.
	Warnings []string          `json:"warnings"`
	Refusals []AdoptionRefusal `json:"refusals"`
	// Adopted says that the instance has been stored, now or by an earlier request (AlreadyAdopted).
	Adopted        bool `json:"adopted"`
	AlreadyAdopted bool `json:"alreadyAdopted,omitempty"`
}

// AdoptedPackage is the package of an adopted instance.
type AdoptedPackage struct {
	ID          string `json:"id"`
	VnfdID      string `json:"vnfdId"`
	ProductName string `json:"vnfProductName"`
}

// AdoptedInstance is the VNF instance of an AdoptionPlan.
type AdoptedInstance struct {
	ID        string `json:"id"`
	Name      string `json:"vnfInstanceName"`
	VnfdID    string `json:"vnfdId"`
	FlavourID string `json:"flavourId"`
	// Levels are the scale levels by scaling aspect, as the number of VNFCs in the VIM gives them.
	Levels map[string]int `json:"levels,omitempty"`
}

// AdoptedStack is the Heat stack of an adopted instance.
type AdoptedStack struct {
	Name   string `json:"name"`
	ID     string `json:"id"`
	Status string `json:"status"` // Heat's word, such as UPDATE_COMPLETE
}

// The values of AdoptedVNFC.State.
const (
	VNFCFound   = "FOUND"   // both VNFMs and the VIM have it
	VNFCMissing = "MISSING" // the other VNFM names a server that the stack does not have
	VNFCExtra   = "EXTRA"   // the stack has a server that the other VNFM does not name
)

// AdoptedVNFC is a VNFC of an adopted instance.
type AdoptedVNFC struct {
	ID       string `json:"id"` // of the vnfcInfo
	VduID    string `json:"vduId"`
	ServerID string `json:"serverId"`
	Name     string `json:"name"`  // of the server
	State    string `json:"state"` // VNFCFound, VNFCMissing or VNFCExtra
	Status   string `json:"status,omitempty"`
}

// The values of AdoptedCluster.Access.
const (
	ClusterVerified   = "VERIFIED"   // the API server has accepted the credentials
	ClusterUnverified = "UNVERIFIED" // it has not, or could not be asked; Warnings say why
)

// AdoptedCluster is the Kubernetes cluster that an adopted instance is.
type AdoptedCluster struct {
	Name     string `json:"name"` // of the VIM under which it is registered
	Endpoint string `json:"endpoint"`
	Nodes    int    `json:"nodes"`  // as the cluster's API shows them
	Access   string `json:"access"` // ClusterVerified or ClusterUnverified
}

// AdoptionUpdate is the difference between a stack and what Gybe would send for the same state, by Heat's preview.
type AdoptionUpdate struct {
	Add     []PlannedResource `json:"add"`
	Remove  []PlannedResource `json:"remove"`
	Replace []PlannedResource `json:"replace"`
	Change  []PlannedResource `json:"change"`
}

// AdoptionRefusal is a reason why an instance cannot be adopted.
type AdoptionRefusal struct {
	// Pointer is a JSON pointer to the member of the AdoptionRequest that the reason is about.
	Pointer string `json:"pointer"`
	Detail  string `json:"detail"`
	Hint    string `json:"hint,omitempty"`
}
