package openstack

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
)

// marker is what a tag of the stack says about the last update of a change of package. A rollback cannot see the steps
// of what it takes back; the stack itself tells it.
type marker struct {
	mode string
	// n is how many units are new after the update; one more than there are when nothing else is old either.
	units int
	// try is the operation's try that sent it.
	try int
}

// The ways.
const (
	modeChange       = "package"
	modeRollback     = "rollback"
	modeUndo         = "rollback-whole" // no unit was new
	modeAnnounced    = "rollback-told"  // the user knows that resources which cannot shrink are recreated
	modeRecreate     = "rollback-anew"  // and they are
	modeRecreateDisk = "rollback-disk"  // servers are recreated that lose their disk in any case
)

var markerText = regexp.MustCompile(
	`^(package|rollback|rollback-whole|rollback-told|rollback-anew|rollback-disk)-(\d+)-try-(\d+)$`,
)

// String is the tag.
func (n marker) String() string { return fmt.Sprintf("%s-%d-try-%d", n.mode, n.units, n.try) }

// markerOf reads the note of an operation; its zero value says that the operation has not updated the stack.
func markerOf(st *cloud.Stack, op string) marker {
	if !slices.Contains(st.Tags, op) {
		return marker{}
	}
	for _, tag := range st.Tags {
		if m := markerText.FindStringSubmatch(tag); m != nil {
			n := marker{mode: m[1]}
			n.units, _ = strconv.Atoi(m[2])
			n.try, _ = strconv.Atoi(m[3])
			return n
		}
	}
	return marker{}
}

// progress is how many units may be new, wholly or in part.
func (n marker) progress(units int) int {
	switch n.mode {
	case modeChange:
		return min(n.units, units)
	case modeRollback, modeAnnounced, modeRecreate, modeRecreateDisk:
		return min(n.units+1, units)
	}
	return 0
}

// back is how a rollback goes on from there.
func (n marker) back() string {
	if n.mode == modeAnnounced || n.mode == modeRecreate || n.mode == modeRecreateDisk {
		return n.mode
	}
	return modeRollback
}
