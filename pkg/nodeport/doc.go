// Package nodeport is the mgmt driver mgmt-drivers-cnf-nodeport: it makes the NodePorts of a CNF reachable at an
// external load balancer, a machine with HAProxy in front of the cluster.
//
// After each operation that can change the CNF's Services, the driver reads them from the Kubernetes API, and writes
// sections of the VNF instance into the configuration of HAProxy over SSH. The rest of the file belongs to others.
package nodeport
