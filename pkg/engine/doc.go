// Package engine runs the work of all nodes on the shared database: it gives every operation under way to
// exactly one job, every job to one node, and the jobs of a node that died to the others within about a second.
//
// A job is a tick: it advances its operation for a while and comes back later until nothing is left to do. Which
// job may advance an operation is written in the operation's row (job_id), in the transaction that makes the
// operation run or finds its job gone. A job that is not the named one ends without doing anything, so a job can
// be replaced at any time, whatever its former owner still believes; two jobs of one operation never take turns.
// That two ticks can overlap all the same, when a node is cut off or frozen, is what the operation's epoch fences.
//
// A node lives as long as the session that holds its advisory lock. The others try that lock all the time: who
// gets it has proof that the node is gone. A node that loses its session cancels its ticks at once and registers again.
//
// Only river.go knows River.
package engine
