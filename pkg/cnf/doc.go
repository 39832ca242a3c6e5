// Package cnf is the infra driver for VNFs whose VNFCs are pods of a Kubernetes cluster (vimType
// ETSINFV.KUBERNETES.V_1).
//
// A package has manifests, which the request names (lcm-kubernetes-def-files). A VDU is the workload whose
// metadata.name is the VDU's property name; its VNFCs are the pods of the workload. Every object of the manifests is
// applied on the server, carries the id of the VNF instance in a label, and is watched until it is ready (ADR 051).
package cnf
