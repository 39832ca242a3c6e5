// Package kubernetes talks to Kubernetes API servers: the nodes of a cluster that a mgmt driver builds, the credentials that
// are kept of it, and the kubeconfig its users get.
//
// It uses client-go's REST client with only the API groups it needs; the complete clientset would more than double what an idle
// node of Gybe keeps in memory. Errors are *lcm.Error with the class that decides about trying again.
package kubernetes
