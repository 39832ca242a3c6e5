// Package execution is the engine side of VNF lifecycle management: it advances admitted operations, tick by tick,
// through their phases. Any number of nodes may do so at the same time; only the newest claim can write.
package execution
