package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes, written with an optional unit: 512, 64KiB, 4MiB, 1GB.
type Size int64

// Binary units of a Size.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
	TiB Size = 1 << 40
)

// units in the order in which String looks for one that divides the size.
var units = []struct {
	name string
	size Size
}{{"TiB", TiB}, {"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB}, {"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}}

// String writes the size with the largest binary unit that divides it.
func (s Size) String() string {
	for _, u := range units[:4] {
		if s != 0 && s%u.size == 0 {
			return strconv.FormatInt(int64(s/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// MarshalText implements encoding.TextMarshaler.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Size) UnmarshalText(text []byte) error {
	in := strings.TrimSpace(string(text))
	number, unit := in, Size(1)
	for _, u := range units {
		if rest, ok := cutUnit(in, u.name); ok {
			number, unit = rest, u.size
			break
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/int64(unit) {
		return fmt.Errorf("%q is not a size such as 512, 64KiB, 4MiB or 1GB", in)
	}
	*s = Size(n) * unit
	return nil
}

func cutUnit(s, unit string) (string, bool) {
	if len(s) < len(unit) || !strings.EqualFold(s[len(s)-len(unit):], unit) {
		return s, false
	}
	return s[:len(s)-len(unit)], true
}
