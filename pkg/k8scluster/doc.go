// Package k8scluster is the mgmt driver mgmt-drivers-kubernetes: it turns the machines of a VNF instance into a Kubernetes cluster.
//
// After the machines are there (instantiate_end) it runs the package's installation script on them, detached and followed over
// SSH: all nodes are prepared at the same time, the first master initialises the cluster as soon as it is prepared itself, the
// other masters join one after the other, the workers all at once. Then it waits until every node is Ready, labels the nodes with
// their compute hosts, and keeps what it has built: the cluster becomes a registered VIM and a vimConnectionInfo of the instance.
// terminate_end forgets that VIM.
//
// Later operations work on the cluster that is there, through whichever master answers: before the machines go, their nodes are drained
// and leave (scale_start, heal_start); after new ones have come, they join (scale_end, heal_end); the hooks of change_current_package upgrade
// the nodes one after the other, or workers in batches, on the machines that they have. A heal that leaves no master builds the cluster anew.
//
// Every node's every phase is a durable step, and the work itself lives on the node. Whoever takes the operation over reads on
// where its predecessor stopped.
//
//	            ┌ prepare master ─ initialise ┬ join master 2 ─ join master 3 ┐
//	instantiate ┼ prepare masters 2, 3 ───────┤                               ├ account ─ wait for nodes ─ label ─ register VIM
//	            └ prepare workers ────────────┴ join workers ─────────────────┘
//
//	scale in,   ┌ cordon ─ drain ─ remove workers ┐                  ┌ refresh the other nodes ───────────┐
//	scale out,  ┤                                 ├─ (the machines) ─┼ prepare ─ join, masters one by one ┼ wait for nodes ─ label
//	heal        └ forget etcd member ─ remove     ┘                  └ prepare ─ join, workers at once ───┘
//
//	upgrade       check cluster ─ (the package) ─ every node: drain ─ upgrade ─ check ─ uncordon ─ label
package k8scluster
