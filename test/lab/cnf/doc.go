// Package cnf tests the infra drivers for CNFs with the real API server, controllers and scheduler of Kubernetes;
// README.md says what is real there and what is not.
package cnf
