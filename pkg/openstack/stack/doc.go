// Package stack brings the Heat stack of one VNF instance to a desired state: it creates, updates, repairs, deletes and
// stops it as durable steps, each of which can be left at any point and taken over by another node. What a step does
// next is decided by one pure function, next, from what it observes. The package explains failures, chooses other
// zones, and scales groups by signals.
package stack
