package sol

import "encoding/json"

// ValueSize is what SizeOf counts for each value beside its text.
const ValueSize = 32

// SizeOf returns the size of a decoded JSON value: the bytes of its texts, names and numbers, and ValueSize for each
// value in it, because an empty object takes memory, too. It stops counting beyond limit.
func SizeOf(v any, limit int) int {
	n := ValueSize
	switch v := v.(type) {
	case string:
		n += len(v)
	case json.Number:
		n += len(v)
	case []any:
		for _, e := range v {
			if n += SizeOf(e, limit-n); n > limit {
				break
			}
		}
	case KeyValuePairs:
		return SizeOf(map[string]any(v), limit)
	case RawPairs:
		return max(n, sizeOfText(string(v), limit))
	case map[string]any:
		for name, e := range v {
			if n += len(name) + SizeOf(e, limit-n); n > limit {
				break
			}
		}
	}
	return n
}
