package openstack

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// note is what a tag of the stack says about the last update of a change of package. A rollback cannot see the steps of what it takes back; the
// stack itself tells it.
type note struct {
	way string
	// n is how many units are new after the update; one more than there are when nothing else is old either.
	n int
	// try is the operation's try that sent it.
	try int
}

// The ways.
const (
	wayOn   = "package"
	wayBack = "rollback"
	wayNone = "rollback-whole" // no unit was new
	wayTold = "rollback-told"  // the user knows that what cannot be made smaller is made anew
	wayAnew = "rollback-anew"  // and so it is
	wayDisk = "rollback-disk"  // servers are made anew that lose what is on their disk in any case
)

var noteText = regexp.MustCompile(`^(package|rollback|rollback-whole|rollback-told|rollback-anew|rollback-disk)-(\d+)-try-(\d+)$`)

// String is the tag.
func (n note) String() string { return fmt.Sprintf("%s-%d-try-%d", n.way, n.n, n.try) }

// noteOf reads the note of an operation; its zero value says that the operation has not updated the stack.
func noteOf(st *stack, op string) note {
	if !slices.Contains(st.Tags, op) {
		return note{}
	}
	for _, tag := range st.Tags {
		if m := noteText.FindStringSubmatch(tag); m != nil {
			n := note{way: m[1]}
			n.n, _ = strconv.Atoi(m[2])
			n.try, _ = strconv.Atoi(m[3])
			return n
		}
	}
	return note{}
}

// progress is how many units may be new, wholly or in part.
func (n note) progress(units int) int {
	switch n.way {
	case wayOn:
		return min(n.n, units)
	case wayBack, wayTold, wayAnew, wayDisk:
		return min(n.n+1, units)
	}
	return 0
}

// back is how a rollback goes on from there.
func (n note) back() string {
	if n.way == wayTold || n.way == wayAnew || n.way == wayDisk {
		return n.way
	}
	return wayBack
}
