// Package mgmttest runs operations with a mgmt driver in tests, in memory. The engine's own code plans and runs the
// phases, and decides on retry and rollback; only the database, the infra driver and the package are the harness's. A
// node can die at any write (Ledger.DieAt), and another one continues.
package mgmttest
