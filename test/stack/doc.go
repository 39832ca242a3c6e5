// Package stack runs the whole of Gybe as its users run it: the compiled binaries as processes of their
// own, a private PostgreSQL and the simulated cloud. The demo, the benchmarks and the tests that kill nodes
// stand on it.
package stack
