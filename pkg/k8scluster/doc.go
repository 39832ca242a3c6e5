// Package k8scluster is the mgmt driver mgmt-drivers-kubernetes: it turns the machines of a VNF instance into a
// Kubernetes cluster.
//
// After the machines are there (instantiate_end) it runs the package's installation script on them, detached and
// followed over SSH: all nodes are prepared at the same time, the first master initialises the cluster as soon as it is
// prepared itself, the other masters join one after the other, the workers all at the same time. Then it waits until
// every node is Ready, labels the nodes with their compute hosts, and registers the cluster: it becomes a VIM and a
// vimConnectionInfo of the instance. terminate_end deletes that VIM.
//
// Later operations work on the cluster that is there, through whichever master answers: before the machines go, their
// nodes are drained and leave (scale_start, heal_start); after new ones have come, they join (scale_end, heal_end); the
// hooks of change_current_package upgrade the nodes one after the other, or workers in batches, on the machines that
// they have. A heal that leaves no master recreates the cluster.
//
// Each phase of each node is a durable step, and the work itself runs on the node. A Gybe node that takes the operation
// over continues where the previous one stopped.
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
