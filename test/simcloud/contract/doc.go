// Package contract holds one suite that runs against the simulated cloud and, when OS_AUTH_URL and its like name one,
// against a real OpenStack: a difference is a bug of the simulator. It needs a shared network net0 behind a router to
// an external network public, flavor m1.tiny and image cirros-0.5.2-x86_64-disk.
package contract
