// Package k8scluster is the mgmt driver mgmt-drivers-kubernetes: it turns the machines of a VNF instance into a Kubernetes cluster.
//
// After the machines are there (instantiate_end) it runs the package's installation script on them, detached and followed over
// SSH: all nodes are prepared at the same time, the first master initialises the cluster as soon as it is prepared itself, the
// other masters join one after the other, the workers all at once. Then it waits until every node is Ready, labels the nodes with
// their compute hosts, and keeps what it has built: the cluster becomes a registered VIM and a vimConnectionInfo of the instance.
// terminate_end forgets that VIM.
//
// Every node's every phase is a durable step, and the work itself lives on the node. Whoever takes the operation over reads on
// where its predecessor stopped.
//
//	          ┌ prepare master ─ initialise ┬ join master 2 ─ join master 3 ┐
//	operation ┼ prepare masters 2, 3 ───────┤                              ├ account ─ wait for nodes ─ label ─ register VIM
//	          └ prepare workers ────────────┴ join workers ────────────────┘
package k8scluster
