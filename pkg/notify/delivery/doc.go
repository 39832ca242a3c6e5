// Package delivery sends notifications to subscribers.
//
// Each node runs a Runner. It fans messages of the outbox out to deliveries, claims subscribers that have some, and
// sends them: those of one resource in order, those of several resources at the same time. A claim is a lease on the
// whole subscriber, so order does not depend on how many nodes there are, and a subscriber that fails is asked by one
// node with one request. Subscribers that fail or are slow have places of their own on a node, so the others do not
// wait for them.
//
// A notification is stored as delivered after its answer. A node that dies in between leaves it pending, and the next
// node sends it again with the same id.
package delivery
