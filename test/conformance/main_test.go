// Package conformance_test runs the cases of ETSI NFV-TST 010 against a whole node with a simulated cloud, and cases
// that are generated from the list of routes: every method that a resource does not have, media types, versions,
// filters and selectors. Every response and notification is held to the published documents.
//
// testdata has a line for each case of the lists, and docs/conformance.md is made of them:
//
//	go test ./test/conformance -update
package conformance_test

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/gybe-nfv/gybe/test/parallel"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(300)
	parallel.Allow(parallel.Several)
	os.Exit(m.Run())
}
