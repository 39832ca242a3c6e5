package notify

import (
	"crypto/sha256"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// A message finds subscriptions by keys. A key of a subscription has one value of the most selective attribute that the
// clause names, and one value of each attribute that narrows it. A message makes the keys of all subscriptions that may
// match: few, whatever the number of subscriptions. Keys do not cover all attributes, so the filter is evaluated on the
// subscriptions that were found.
//
// A key leaves out what the clause does not name, so that further names in these lists do not change stored keys.
var (
	// selective are in order: a clause is found by the first one that it names.
	selective = []string{AttrInstance, AttrPackage, AttrName, AttrVnfd, AttrProduct}
	// narrowing are in the order in which they are given up when a clause has too many keys. Not AttrType.
	narrowing = []string{AttrState, AttrOperation}
)

// MaxKeys bounds the keys of a subscription, and so the values of its filter.
const MaxKeys = 1000

// Keys are the keys of a filter for messages of an API. many names the attribute that has too many values; "" = none.
func (f Filter) Keys(api string) (keys []uuid.UUID, many string) {
	found := map[uuid.UUID]bool{}
	for _, c := range f {
		at := slices.IndexFunc(selective, func(name string) bool { return len(c[name]) > 0 })
		by := ""
		if at >= 0 {
			by = selective[at]
		}
		used := slices.DeleteFunc(slices.Clone(narrowing), func(name string) bool { return len(c[name]) == 0 })
		for len(used) > 0 && c.combinations(by, used) > MaxKeys/len(f) {
			used = used[1:]
		}
		if c.combinations(by, used) > MaxKeys/len(f) {
			return nil, by
		}
		for _, typ := range c[AttrType] {
			for _, value := range orNone(c[by]) {
				each(c, used, func(narrow map[string]string) { found[key(api, typ, by, value, narrow)] = true })
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }), ""
}

// combinations is how many keys a clause has.
func (c Clause) combinations(by string, narrow []string) int {
	n := len(c[AttrType]) * len(orNone(c[by]))
	for _, name := range narrow {
		n *= len(c[name])
	}
	return n
}

// Keys are those of all subscriptions that may match a message with the attributes.
func (a Attributes) Keys(api string) []uuid.UUID {
	has := slices.DeleteFunc(slices.Clone(narrowing), func(name string) bool { return len(a[name]) == 0 })
	var out []uuid.UUID
	for _, typ := range a[AttrType] {
		for _, by := range append([]string{""}, selective...) {
			values := a[by]
			if by == "" {
				values = orNone(nil)
			}
			for _, value := range values {
				for subset := range 1 << len(has) {
					var narrow []string
					for bit, name := range has {
						if subset&(1<<bit) != 0 {
							narrow = append(narrow, name)
						}
					}
					each(a, narrow, func(n map[string]string) { out = append(out, key(api, typ, by, value, n)) })
				}
			}
		}
	}
	return out
}

// orNone is a list of one empty value instead of an empty list.
func orNone(values []string) []string {
	if len(values) == 0 {
		return []string{""}
	}
	return values
}

// each calls use with every combination of values of the attributes.
func each(of map[string][]string, names []string, use func(map[string]string)) {
	chosen := map[string]string{}
	var choose func(rest []string)
	choose = func(rest []string) {
		if len(rest) == 0 {
			use(chosen)
			return
		}
		for _, v := range of[rest[0]] {
			chosen[rest[0]] = v
			choose(rest[1:])
		}
	}
	choose(names)
}

// key is the hash of a combination of values.
func key(api, typ, by, value string, narrow map[string]string) uuid.UUID {
	var text strings.Builder
	add := func(part string) { text.WriteString(strconv.Itoa(len(part)) + ":" + part) }
	for _, part := range []string{api, typ, by, value} {
		add(part)
	}
	for _, name := range slices.Sorted(maps.Keys(narrow)) {
		add(name)
		add(narrow[name])
	}
	sum := sha256.Sum256([]byte(text.String()))
	return uuid.UUID(sum[:16])
}
