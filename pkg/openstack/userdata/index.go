package userdata

import (
	"regexp"
	"strconv"
)

var trailingIndex = regexp.MustCompile(`^(.+)-(\d+)$`)

// SplitIndex splits the name of a VNFC's resource, such as VDU1-0, into the name of the VDU and the VNFC's index; false
// when it has none.
func SplitIndex(name string) (node string, index int, ok bool) {
	m := trailingIndex.FindStringSubmatch(name)
	if m == nil {
		return name, -1, false
	}
	index, err := strconv.Atoi(m[2])
	if err != nil {
		return name, -1, false
	}
	return m[1], index, true
}
