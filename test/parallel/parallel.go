// Package parallel lets the tests of a package run at the same time although they need no CPU: tests of whole nodes
// mostly wait for the start of processes, the end of leases, Heat and machines.
package parallel

import (
	"flag"
	"runtime"
	"strconv"
)

// Several is how many tests of whole nodes run at the same time on a small machine.
const Several = 4

// Allow lets at least a number of tests of this process run at the same time, also on fewer CPUs, unless the user has
// chosen a number. TestMain calls it before it runs the tests.
func Allow(several int) {
	flag.Parse()
	n := flag.Lookup("test.parallel")
	if n != nil && n.Value.String() == n.DefValue && runtime.GOMAXPROCS(0) < several {
		_ = n.Value.Set(strconv.Itoa(several)) // a number is never refused
	}
}
