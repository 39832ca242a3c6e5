// Package cloud is the client of an OpenStack: login and tokens, TLS, one request and its errors with hints, and the
// reads and writes of Heat, Nova, Neutron, Cinder and Glance that Gybe needs. It knows nothing of VNF instances and
// operations.
//
// Requests use gophercloud's typed packages where these are sufficient (Client.typed), and Client.Do where they are
// not; ADR 022 has the reasons.
package cloud
