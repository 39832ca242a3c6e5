// Package contract holds one suite of cloud behaviour that gybe relies on. It runs against the simulated cloud and,
// when OS_AUTH_URL and its like name one, against a real OpenStack; a difference is a bug of the simulator.
//
// A test is a topic, and what it checks are facts: short sentences that hold on every cloud. With CONTRACT_REPORT=file
// the run writes one line for each fact: pass or fail, the cloud, the topic, the fact.
//
// A real cloud needs a shared network net0 behind a router to an external network public, flavors
// m1.tiny and m1.small, image cirros-0.5.2-x86_64-disk, volume type standard, three compute hosts, a user with the role
// admin and, for the quotas, a second project and user (CONTRACT_OTHER_PROJECT, CONTRACT_OTHER_USERNAME; nfv2 and
// nfv2_user without) with the same password. Names of what is made begin with "ct-" or "contract".
package contract
