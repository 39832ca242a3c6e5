// Package gybe serves what the standard's interfaces lack, under /gybe/v1: the kubeconfig of a cluster that
// was made, plans of operations, leftovers in the VIM, the progress of operations, the event feed and the nodes.
// No Version header is needed.
//
// It also serves /healthz and /readyz.
package gybe
