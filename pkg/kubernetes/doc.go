// Package kubernetes is a client of Kubernetes API servers: nodes of the clusters that a mgmt driver creates, stored
// credentials, and kubeconfig files for users.
//
// It uses client-go's REST client with only the API groups it needs; the complete clientset would more than double the
// memory of an idle node. Errors are *lcm.Error with a class for retries.
package kubernetes
