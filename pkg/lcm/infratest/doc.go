// Package infratest is the contract of infra drivers as a test suite. A driver passes Contract with a Harness, which
// describes a package and gives each test a VIM of its own (docs/how-to/write-an-infra-driver.md).
//
// The suite calls the driver as the engine does: phase by phase, tick by tick, with records of steps that survive the
// death of a node. It does not need a database.
package infratest
