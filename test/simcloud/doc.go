// Package simcloud is a simulated OpenStack cloud in memory: Keystone, Heat, Nova, Neutron, Glance and Cinder over HTTP
// on one port, with a control API at /sim/ that makes things slow or wrong. Servers get addresses in a loopback block
// of their own, where a fleet of machines can really listen.
//
// In a test:
//
//	cloud := simcloud.StartTest(t, simcloud.Options{Machines: fleet})
//	provider, err := openstack.AuthenticatedClient(ctx, cloud.AuthOptions())
//	before := cloud.State()
//	cloud.AddFault(simcloud.Fault{Kind: "drop_reply", Service: "heat", Method: "POST", Path: "/stacks$", Count: 1})
//	…
//	require.Empty(t, cloud.State().Since(before))
//
// Services lie under /identity/v3, /orchestration/v1/{project}, /compute/v2.1, /network/v2.0, /image/v2 and
// /volume/v3/{project}. The control API takes and gives JSON and needs no token:
//
//	GET    /sim/info                        where the cloud is and how to log in
//	GET    /sim/state                       every object of every service, and the machines
//	GET    /sim/calls                       how often each route was called; DELETE resets the counts
//	POST   /sim/reset                       everything gone but projects, networks and tokens
//	GET    /sim/faults                      the rules in force with counters; POST adds one, DELETE removes all
//	GET    /sim/faults/{id}                 one rule; DELETE removes it and lets go of what hangs on it
//	GET    /sim/timing                      how long things take; PUT replaces, PATCH adds
//	POST   /sim/tokens/expire               every token is invalid now
//	PUT    /sim/tokens                      {"ttl": "10s"} for tokens issued from now on
//	PUT    /sim/quotas/{nova|neutron|cinder} {"instances": 3}
//	GET    /sim/hosts                       compute hosts; PUT {"hosts": [{"name": "cmp1", "zone": "nova"}]}
//	GET    /sim/machines                    what the fleet says about its machines
//	POST   /sim/machines/{id or name}/{action}  kill, unreachable, reachable, power_off, power_on, reboot
//
// For example, the next token request fails as Keystone itself would fail, and servers take two seconds:
//
//	curl -d '{"kind":"status","service":"keystone","status":503,"count":1}' $URL/sim/faults
//	curl -X PATCH -d '{"create":{"OS::Nova::Server":"2s"},"machines":{"boot":"5s"}}' $URL/sim/timing
package simcloud
