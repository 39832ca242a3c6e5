// Package helm is the infra driver for CNFs whose objects come from Helm charts (vimType ETSINFV.HELM.V_3). It uses the
// Helm SDK and the Kubernetes API; no helm program and no login to a machine is needed.
//
// The release is the primary resource of an instance and named after it. A tick looks at the release's record in the
// cluster and acts on it: a record that a dead node has left pending is removed and its work is done again, which
// adopts the objects that exist. Readiness is observed from the objects and not by Helm, so that no tick waits for pods
// (ADR 052).
package helm
