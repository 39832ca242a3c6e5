// Package keystone tests a node of Gybe with users of a Keystone: the simulated one, or the real one that OS_AUTH_URL
// and the other OS_ variables name (test/lab/openstack/smoke.sh sets them).
package keystone
